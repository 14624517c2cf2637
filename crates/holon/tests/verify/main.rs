//! Is what a manifest says true? Real runs, then lies about them,
//! planted one by one in everything a run leaves behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attest;
mod command;
mod controls;
mod kinds;
mod leaves;
mod lies;
mod rerun;
mod runs;
mod sealed;
