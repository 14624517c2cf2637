//! How a run ended, and the exit code that says so to scripts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exit code of a usage error: nothing was started, so it must not look like a failed run.
pub const USAGE: u8 = 64;

/// What happened to the execution itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every phase ran to its end.
    Completed,
    /// A phase could not do its work.
    Failed,
    /// A wall, idle or step limit ended it.
    Timeout,
    /// A person or program asked it to stop.
    Cancelled,
    /// The host died or was killed; found and marked afterwards.
    Interrupted,
}

/// What the result is worth, as verified by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// All required artifacts are there and valid, all checks passed.
    Success,
    /// Something promised is missing, invalid or was broken.
    Failure,
    /// Usable only after a person has looked.
    NeedsHuman,
}

impl RunOutcome {
    /// The process exit code, the same for every agent: 0, 1 or 2.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::NeedsHuman => 2,
        }
    }

    /// The worse of two outcomes: failure beats needs_human beats success.
    pub fn worse(self, other: Self) -> Self {
        const fn rank(o: RunOutcome) -> u8 {
            match o {
                RunOutcome::Success => 0,
                RunOutcome::NeedsHuman => 1,
                RunOutcome::Failure => 2,
            }
        }
        if rank(other) > rank(self) { other } else { self }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        })
    }
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::NeedsHuman => "needs_human",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_07_exit_codes_are_fixed() {
        assert_eq!(RunOutcome::Success.exit_code(), 0);
        assert_eq!(RunOutcome::Failure.exit_code(), 1);
        assert_eq!(RunOutcome::NeedsHuman.exit_code(), 2);
        assert_eq!(USAGE, 64);
    }

    #[test]
    fn worse_never_improves() {
        use RunOutcome::{Failure, NeedsHuman, Success};
        assert_eq!(Success.worse(NeedsHuman), NeedsHuman);
        assert_eq!(NeedsHuman.worse(Success), NeedsHuman);
        assert_eq!(NeedsHuman.worse(Failure), Failure);
        assert_eq!(Failure.worse(NeedsHuman), Failure);
    }

    #[test]
    fn text_and_json_agree() {
        for s in [
            RunStatus::Completed,
            RunStatus::Failed,
            RunStatus::Timeout,
            RunStatus::Cancelled,
            RunStatus::Interrupted,
        ] {
            assert_eq!(serde_json::to_value(s).ok(), Some(s.to_string().into()));
        }
        for o in [RunOutcome::Success, RunOutcome::Failure, RunOutcome::NeedsHuman] {
            assert_eq!(serde_json::to_value(o).ok(), Some(o.to_string().into()));
        }
    }
}
