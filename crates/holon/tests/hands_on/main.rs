//! A person at an agent's own screen: everything passes, the mode holds, and the terminal is whole afterwards.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod afterwards;
mod away;
mod ends;
mod passes;
mod seat;

const BIN: &str = env!("CARGO_BIN_EXE_holon");
