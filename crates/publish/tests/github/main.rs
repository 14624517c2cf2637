//! Publishing to a GitHub on loopback that is as strict as the real one, with real git behind it.
//!
//! Every request of every test is held against GitHub's own OpenAPI description; the server demands that when it is dropped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod auth;
mod comments;
mod context;
mod crash;
mod forms;
mod patches;
mod reviews;
mod stage;
mod waiting;
