//! Whole turns: a cassette thinks, hands in memory act.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod budgets;
mod commands;
mod context;
mod delegation;
mod edits;
mod endings;
mod local;
mod looking;
mod memory;
mod people;
mod policy;
mod prompts;
mod random;
mod replay;
mod reports;
mod servers;
mod stage;
mod supervisor_hooks;
