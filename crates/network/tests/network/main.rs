//! The network by permit from end to end: a client inside, scripted names and hosts outside, all on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod credentials;
mod limits;
mod passing;
mod reading;
mod upstream;
mod ways_out;
mod world;
