//! The supervisor in real runs, with the real walls: every signal, gate, tier, phase and stop, and what people see of it.
//!
//! Each test says in a comment `shows:` which rules it shows; `docs/supervisor.md` lists them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod scene;

mod checkpoints;
mod commands;
mod gates;
mod levels;
mod modes;
mod phases;
mod shown;
mod signals;
mod table;
