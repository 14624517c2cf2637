//! `holon chat` as people and scripts use it: the real binary on a terminal of its own, a scripted model, real threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod company;
mod jobs;
mod keys;
mod many;
mod script;
mod stage;
mod threads;
mod turns;
