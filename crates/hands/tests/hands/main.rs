//! The hands as others use them: deeds in, answers out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod finding;
mod running;
mod serving;
mod support;
