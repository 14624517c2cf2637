//! `ethics.json`: purpose and risks weighed, and whether the change may go out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ArtifactProblem, need_text, read};

/// An assessment of a goal and its artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EthicsReport {
    /// The request assessed; set by the host.
    #[serde(default)]
    pub request_id: Option<String>,
    /// The goal assessed; set by the host.
    #[serde(default)]
    pub goal_id: Option<String>,
    /// The overall risk.
    pub risk_level: RiskLevel,
    /// Whether it may go out.
    pub is_approved: bool,
    /// Why.
    pub approval_justification: String,
    /// What it means for each principle: safety, privacy, intellectual property, misuse, data handling, guidelines.
    pub principle_impacts: Vec<PrincipleImpact>,
    /// What would lower the risk.
    #[serde(default)]
    pub mitigations: Vec<String>,
    /// What the judgement rests on.
    #[serde(default)]
    pub evidence: Vec<EthicsEvidence>,
    /// Single checks and their results.
    #[serde(default)]
    pub checks: Vec<EthicsCheck>,
    /// What earlier assessments of this repository said, the latest first; set by the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<String>,
}

/// How risky something is, least first; unknown counts as high.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// Not assessed, or it could not be told.
    Unknown,
    /// Nothing worth mentioning.
    Low,
    /// Acceptable with care.
    Medium,
    /// Not without a person's decision.
    High,
    /// Not at all.
    Critical,
}

impl RiskLevel {
    /// The worse of two; unknown counts as high.
    pub fn worse(self, other: Self) -> Self {
        let weight = |level: Self| match level {
            Self::Low => 0,
            Self::Medium => 1,
            Self::Unknown => 2,
            Self::High => 3,
            Self::Critical => 4,
        };
        if weight(other) > weight(self) { other } else { self }
    }

    /// As it is written in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Whether this risk alone blocks.
    pub fn blocks(self) -> bool {
        matches!(self, Self::Unknown | Self::High | Self::Critical)
    }
}

/// What a change means for one principle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipleImpact {
    /// The principle.
    pub principle: String,
    /// The effect, e.g. `none`, `positive`, `negative`.
    pub impact: String,
    /// Why.
    pub rationale: String,
}

/// Something the judgement rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EthicsEvidence {
    /// What it is, e.g. `file` or `patch`.
    pub kind: String,
    /// Where it is.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its digest, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// A redacted piece of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// One check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EthicsCheck {
    /// Its name.
    pub id: String,
    /// Its result.
    pub status: CheckStatus,
    /// What was seen.
    #[serde(default)]
    pub detail: String,
    /// How bad it is, when something was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<RiskLevel>,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Nothing to object to.
    Pass,
    /// Something to look at.
    Warn,
    /// It must not go out like this.
    Fail,
    /// It could not be decided.
    Unverified,
    /// It does not apply.
    Skipped,
}

impl CheckStatus {
    /// As it is written in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Unverified => "unverified",
            Self::Skipped => "skipped",
        }
    }
}

impl EthicsReport {
    /// Problems that the types alone do not show.
    pub fn check(&self) -> Vec<ArtifactProblem> {
        let mut problems = Vec::new();
        need_text(&self.approval_justification, "approval_justification", &mut problems);
        if self.principle_impacts.is_empty() {
            problems
                .push(ArtifactProblem::new("principle_impacts", "is empty; assess at least one principle"));
        }
        for (i, impact) in self.principle_impacts.iter().enumerate() {
            need_text(&impact.principle, format!("principle_impacts[{i}].principle"), &mut problems);
            need_text(&impact.rationale, format!("principle_impacts[{i}].rationale"), &mut problems);
        }
        if self.is_approved && self.risk_level.blocks() {
            let message =
                "approves although the risk is high, critical or unknown; lower the risk or do not approve";
            problems.push(ArtifactProblem::new("is_approved", message));
        }
        problems
    }

    /// Whether the change must not go out.
    pub fn blocks(&self) -> bool {
        !self.is_approved || self.risk_level.blocks()
    }
}

/// Whether a report, which may be missing or unreadable, blocks: anything but a clear approval does.
pub fn blocks(report: Option<&[u8]>) -> bool {
    let Some(bytes) = report else { return true };
    match read::<EthicsReport>(bytes) {
        Ok(ethics) => ethics.blocks() || !ethics.check().is_empty(),
        Err(_) => true,
    }
}
