//! `findings.json`: what became of each finding of a review, as the host could tell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::review::Severity;

/// Every finding of a review with its fate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingsReport {
    /// Version of this form.
    pub version: u32,
    /// Digest of the review.json they come from.
    pub review_sha256: String,
    /// How many are fixed.
    pub fixed: u64,
    /// How many are open.
    pub open: u64,
    /// How many the host could not decide.
    pub unclear: u64,
    /// Each finding, in the review's order.
    pub findings: Vec<TrackedFinding>,
}

/// One finding and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedFinding {
    /// The review's fingerprint of it.
    pub fingerprint: String,
    /// Workspace-relative path.
    pub path: String,
    /// The line it was found at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence.
    pub title: String,
    /// What became of it.
    pub state: FindingFate,
    /// How the host can tell.
    pub reason: String,
    /// Where its text stands in the result, if it still does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_after: Option<u64>,
}

/// What became of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingFate {
    /// The text it points to is gone.
    Fixed,
    /// The text stands, and nothing around it changed.
    Open,
    /// Something changed, but not so that a program could tell.
    Unclear,
}

impl FindingFate {
    /// The word used in JSON and in front of people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Open => "open",
            Self::Unclear => "unclear",
        }
    }
}

impl FindingsReport {
    /// The list with its counts.
    pub fn new(review_sha256: String, findings: Vec<TrackedFinding>) -> Self {
        let count = |fate| findings.iter().filter(|f| f.state == fate).count() as u64;
        let (fixed, open, unclear) =
            (count(FindingFate::Fixed), count(FindingFate::Open), count(FindingFate::Unclear));
        Self { version: 1, review_sha256, fixed, open, unclear, findings }
    }
}
