//! The native agent end to end: the real binary, real walls, real git, and a scripted model server or a cassette.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod budgets;
mod canary;
mod denials;
mod endings;
mod evidence;
mod failures;
mod ills;
mod modes;
mod observed;
mod people;
mod real_endpoint;
mod replays;
mod reviews;
mod servers;
mod stage;
mod verification;
mod windows;
mod wires;
mod words;
