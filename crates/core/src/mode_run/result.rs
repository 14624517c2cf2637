//! What comes out of a mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::Usage;
use crate::outcome::Outcome;

/// What work in a mode came to, as the host verified it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModeResult {
    /// Whether it did what its mode promises.
    pub success: bool,
    /// What the result is worth.
    pub outcome: Outcome,
    /// What it handed over.
    pub artifacts: Vec<ModeArtifact>,
    /// What happened, step by step.
    pub logs: Vec<Log>,
    /// What follows from it.
    pub decision: Decision,
    /// What it took.
    pub metrics: Metrics,
}

/// One artifact, by its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeArtifact {
    /// What it is.
    pub kind: Kind,
    /// Path in the output folder.
    pub path: String,
    /// Digest of its bytes.
    pub sha256: String,
}

/// What an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A patch.
    CodeDiff,
    /// Findings of a review.
    ReviewFindings,
    /// An assessment of purpose and risks.
    EthicalReport,
    /// A plan.
    PlanDoc,
    /// A cause and the experiments that show it.
    DebugLog,
    /// A goal split into tasks.
    Orchestration,
    /// Words about what was done.
    Summary,
    /// Anything else that was asked for.
    Other,
}

impl Kind {
    /// The kind an artifact has by its name.
    pub fn of(name: &str) -> Self {
        match name {
            "diff.patch" => Self::CodeDiff,
            "review.json" => Self::ReviewFindings,
            "ethics.json" | "ethics.md" => Self::EthicalReport,
            "plan.md" | "plan.json" => Self::PlanDoc,
            "debug.json" => Self::DebugLog,
            "orchestration.json" => Self::Orchestration,
            "summary.md" => Self::Summary,
            _ => Self::Other,
        }
    }
}

/// One thing that happened in a mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// What it was about, e.g. `permissions` or `contract`.
    pub step: String,
    /// What was seen or decided.
    pub detail: serde_json::Value,
}

/// What follows from a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Decision {
    /// It may go on.
    Approve,
    /// It must not go on like this.
    Block {
        /// Why.
        reason: String,
    },
    /// Somebody else has to decide.
    Escalate {
        /// Why.
        reason: String,
    },
    /// What could be done next.
    Next {
        /// Proposals, best first.
        proposals: Vec<Proposal>,
    },
}

impl Decision {
    /// Its name in logs and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Block { .. } => "block",
            Self::Escalate { .. } => "escalate",
            Self::Next { .. } => "next",
        }
    }

    /// Why it blocks or escalates.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Block { reason } | Self::Escalate { reason } => Some(reason),
            Self::Approve | Self::Next { .. } => None,
        }
    }
}

/// Something that could be done next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// The mode for it.
    pub mode: String,
    /// What it would be about.
    pub goal: String,
}

/// What work in a mode took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Its wall time.
    pub duration_ms: u64,
    /// Which start this was, from 1.
    pub attempt: u32,
    /// Tokens and money.
    pub usage: Usage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_typed_by_their_names() {
        for (name, kind) in [
            ("diff.patch", Kind::CodeDiff),
            ("review.json", Kind::ReviewFindings),
            ("ethics.json", Kind::EthicalReport),
            ("plan.md", Kind::PlanDoc),
            ("debug.json", Kind::DebugLog),
            ("orchestration.json", Kind::Orchestration),
            ("notes.txt", Kind::Other),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
