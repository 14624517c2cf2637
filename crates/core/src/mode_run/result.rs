//! What comes out of a mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::UsageTotals;
use crate::outcome::RunOutcome;

/// What work in a mode came to, as the host verified it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModeResult {
    /// Whether it did what its mode promises.
    pub success: bool,
    /// What the result is worth.
    pub outcome: RunOutcome,
    /// What it handed over.
    pub artifacts: Vec<ModeArtifact>,
    /// What happened, step by step.
    pub logs: Vec<ModeLogEntry>,
    /// What follows from it.
    pub decision: ModeDecision,
    /// What it took.
    pub metrics: ModeMetrics,
}

/// One artifact, by its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeArtifact {
    /// What it is.
    pub kind: ModeArtifactKind,
    /// Path in the output folder.
    pub path: String,
    /// Digest of its bytes.
    pub sha256: String,
}

/// What an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeArtifactKind {
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

impl ModeArtifactKind {
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
pub struct ModeLogEntry {
    /// What it was about, e.g. `permissions` or `contract`.
    pub step: String,
    /// What was seen or decided.
    pub detail: serde_json::Value,
}

/// What follows from a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ModeDecision {
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
        proposals: Vec<ModeProposal>,
    },
}

impl ModeDecision {
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
pub struct ModeProposal {
    /// The mode for it.
    pub mode: String,
    /// What it would be about.
    pub goal: String,
}

/// What work in a mode took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModeMetrics {
    /// Its wall time.
    pub duration_ms: u64,
    /// Which start this was, from 1.
    pub attempt: u32,
    /// Tokens and money.
    pub usage: UsageTotals,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_typed_by_their_names() {
        for (name, kind) in [
            ("diff.patch", ModeArtifactKind::CodeDiff),
            ("review.json", ModeArtifactKind::ReviewFindings),
            ("ethics.json", ModeArtifactKind::EthicalReport),
            ("plan.md", ModeArtifactKind::PlanDoc),
            ("debug.json", ModeArtifactKind::DebugLog),
            ("orchestration.json", ModeArtifactKind::Orchestration),
            ("notes.txt", ModeArtifactKind::Other),
        ] {
            assert_eq!(ModeArtifactKind::of(name), kind, "{name}");
        }
    }
}
