//! The only door from a sandbox to a model: per-run token, key injection, budgets, recording.
#![allow(dead_code)]

mod refusal;
mod serve;
