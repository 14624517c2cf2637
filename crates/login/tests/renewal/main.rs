//! Renewals against a scripted OAuth server on loopback, with processes that are killed on the way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod at_once;
mod killed;
mod login_world;
mod oauth_server;
mod process;
mod refused;
