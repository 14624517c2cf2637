//! A goal split into tasks, end to end: real walls, real git, scripts as agents, and processes that are killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod budgets;
mod canary;
mod checks;
mod commands;
mod edges;
mod ends;
mod interrupted;
mod matrix;
mod observed;
mod release;
mod replan;
mod rights;
mod settings;
mod stage;
mod story;
mod words;
