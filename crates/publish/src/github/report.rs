//! What came of publishing.

use serde::Serialize;
use serde_json::Value;

use crate::api::ApiRequest;
use crate::error::PublishError;
use crate::review::FindingCounts;

/// The whole of it.
#[derive(Debug, Clone, Serialize)]
pub struct PublishReport {
    /// The run.
    pub run: String,
    /// Where it went.
    pub target: String,
    /// The task, which names the branch.
    pub task: String,
    /// True when nothing was changed because nothing should be.
    pub dry_run: bool,
    /// Part by part.
    pub parts: Vec<PartReport>,
}

/// One part.
#[derive(Debug, Clone, Serialize)]
pub struct PartReport {
    /// Its name.
    pub part: &'static str,
    /// How it ended.
    pub result: PublishOutcome,
    /// What was done, or would be.
    pub steps: Vec<PublishStep>,
    /// Where it can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What became of the findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<FindingCounts>,
    /// Things worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How a part ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishOutcome {
    /// It was published now.
    Published,
    /// Everything was there already.
    Unchanged,
    /// It would be published.
    Planned,
    /// It does not apply.
    Skipped,
    /// It failed; what `steps` lists was done.
    Failed,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishStep {
    /// In words.
    pub what: String,
    /// The exact call; a push has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<PublishCall>,
}

/// An exact call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishCall {
    /// The method.
    pub method: &'static str,
    /// The path below the API's address.
    pub path: String,
    /// The body.
    pub body: Value,
}

impl From<&ApiRequest> for PublishCall {
    fn from(request: &ApiRequest) -> Self {
        Self {
            method: request.method.name(),
            path: request.path.clone(),
            body: request.body.clone().unwrap_or_default(),
        }
    }
}

impl PublishReport {
    /// Whether a part failed.
    pub fn failed(&self) -> bool {
        self.parts.iter().any(|part| part.result == PublishOutcome::Failed)
    }
}

impl PartReport {
    pub(super) fn new(part: &'static str) -> Self {
        Self {
            part,
            result: PublishOutcome::Skipped,
            steps: Vec::new(),
            url: None,
            counts: None,
            notes: Vec::new(),
            error: None,
            hint: None,
        }
    }

    pub(super) fn skipped(part: &'static str, why: &str) -> Self {
        Self { notes: vec![why.to_owned()], ..Self::new(part) }
    }

    pub(super) fn fail(mut self, error: &PublishError) -> Self {
        self.result = PublishOutcome::Failed;
        self.error = Some(error.to_string());
        self.hint = error.hint();
        self
    }
}
