//! What a round, or a single fact, brought.

use serde::{Deserialize, Serialize};

/// Reading new files is new evidence for so many rounds of a run.
const READING_ROUNDS: u32 = 8;

/// What one round brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEvidence {
    /// A file not read before.
    pub read: bool,
    /// A named file got a content it never had.
    pub named_change: bool,
    /// A failing set or the diagnostics shrank.
    pub greener: bool,
    /// A check passed on a version no check had passed on.
    pub verified: bool,
    /// Files inside and outside of the named area were changed.
    pub inside: bool,
    /// See `inside`.
    pub outside: bool,
    /// A call succeeded.
    pub succeeded: bool,
    /// The distinct files written.
    pub written: Vec<u64>,
    /// No check turned greener for very long, so that changes alone are nothing new.
    pub drought: bool,
}

impl RoundEvidence {
    /// Whether anything new is known.
    pub fn is_new(&self, round: u32) -> bool {
        (self.named_change && !self.drought)
            || self.greener
            || self.verified
            || (self.read && round <= READING_ROUNDS)
    }
}

/// What a single fact brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Brought {
    pub mutations: u32,
    pub greener: bool,
    pub verified: bool,
}
