//! `debug.json`: what was suspected, what was tried, and what the cause is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ArtifactProblem, need_text};

/// The record of a search for a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DebugReport {
    /// What was suspected.
    #[schemars(length(min = 1))]
    pub hypotheses: Vec<Hypothesis>,
    /// What was tried.
    pub experiments: Vec<Experiment>,
    /// The cause, or what is known about it and what is not.
    pub root_cause: String,
    /// How to mend it.
    pub fix_proposal: String,
}

/// One suspicion and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hypothesis {
    /// What is suspected.
    pub statement: String,
    /// Facts for or against it: output, lines, measurements.
    pub evidence: Vec<String>,
    /// What became of it.
    pub status: HypothesisStatus,
}

/// What became of a suspicion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HypothesisStatus {
    /// Not decided.
    #[serde(alias = "inconclusive", alias = "unknown")]
    Open,
    /// The evidence shows it.
    #[serde(alias = "supported")]
    Confirmed,
    /// The evidence speaks against it.
    #[serde(alias = "refuted")]
    Rejected,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// What was changed for it; empty when nothing was.
    pub change: String,
    /// The command that was run.
    pub command: String,
    /// What came out.
    pub result: String,
}

impl DebugReport {
    /// Problems that the types alone do not show.
    pub fn check(&self) -> Vec<ArtifactProblem> {
        let mut problems = Vec::new();
        if self.hypotheses.is_empty() {
            problems.push(ArtifactProblem::new("hypotheses", "is empty; name at least one suspicion"));
        }
        for (i, hypothesis) in self.hypotheses.iter().enumerate() {
            need_text(&hypothesis.statement, format!("hypotheses[{i}].statement"), &mut problems);
            if hypothesis.status == HypothesisStatus::Confirmed && hypothesis.evidence.is_empty() {
                problems.push(ArtifactProblem::new(
                    format!("hypotheses[{i}].evidence"),
                    "a confirmed hypothesis needs evidence",
                ));
            }
        }
        for (i, experiment) in self.experiments.iter().enumerate() {
            need_text(&experiment.result, format!("experiments[{i}].result"), &mut problems);
        }
        need_text(&self.root_cause, "root_cause", &mut problems);
        need_text(&self.fix_proposal, "fix_proposal", &mut problems);
        problems
    }
}
