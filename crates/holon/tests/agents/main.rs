//! Agents that are not Holon's own: how they are described and found, and those that speak the Agent Client Protocol.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod acp;
mod added;
mod described;
mod printed;
mod silence;
mod starts;

/// The binary under test.
pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");
