//! What is known about the result because the host looked, beside what the agent says about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::weakened::Weakening;

/// What the host checked, and what it was only told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verification {
    /// The sum of it.
    pub state: Verified,
    /// Every check the host ran on the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckRun>,
    /// Sentences of the summary that claim a verification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// Tests the change takes away or makes weaker.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<Weakening>,
}

/// How much of a result is known to be right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verified {
    /// Nothing was changed, or nothing was claimed and nothing could be run.
    #[default]
    NotChecked,
    /// Every check the host ran on the result passed.
    Verified,
    /// The agent claims it, and no check of the host's supports it.
    Unverified,
    /// A check failed.
    Failed,
}

/// One check on the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRun {
    /// The command.
    pub command: String,
    /// Who wanted it: `asked` (flag or spec) or `found` (the repository's shape).
    pub origin: CheckOrigin,
    /// Its exit code; absent when it was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Its wall time.
    pub duration_ms: u64,
}

/// Who wanted a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOrigin {
    /// A flag or the spec: its failure fails the run.
    Asked,
    /// The repository's shape: its failure is told.
    Found,
}

impl Verification {
    /// Sums up what is there; a claim without a passing check is no more than a claim.
    pub fn settle(&mut self) {
        let failed = self.checks.iter().any(|check| check.exit_code != Some(0));
        self.state = match (self.checks.is_empty(), failed, self.claims.is_empty()) {
            (false, true, _) => Verified::Failed,
            (false, false, _) => Verified::Verified,
            (true, _, false) => Verified::Unverified,
            (true, _, true) => Verified::NotChecked,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_worth_what_a_check_says() {
        let run = |exit_code| CheckRun {
            command: "true".into(),
            origin: CheckOrigin::Found,
            exit_code,
            duration_ms: 0,
        };
        for (checks, claims, expect) in [
            (vec![], vec![], Verified::NotChecked),
            (vec![], vec!["all tests pass".to_owned()], Verified::Unverified),
            (vec![run(Some(0))], vec!["all tests pass".to_owned()], Verified::Verified),
            (vec![run(Some(0)), run(Some(1))], vec![], Verified::Failed),
            (vec![run(None)], vec![], Verified::Failed),
        ] {
            let mut found = Verification { checks, claims, ..Verification::default() };
            found.settle();
            assert_eq!(found.state, expect, "{found:?}");
        }
    }
}
