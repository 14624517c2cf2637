//! What came of publishing.

use serde::Serialize;
use serde_json::Value;

use crate::api::Request;
use crate::error::Error;
use crate::review::Counts;

/// The whole of it.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
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
    pub result: Outcome,
    /// What was done, or would be.
    pub steps: Vec<Step>,
    /// Where it can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What became of the findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
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
pub enum Outcome {
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
pub struct Step {
    /// In words.
    pub what: String,
    /// The exact call; a push has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
}

/// An exact call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// The method.
    pub method: &'static str,
    /// The path below the API's address.
    pub path: String,
    /// The body.
    pub body: Value,
}

impl From<&Request> for Call {
    fn from(request: &Request) -> Self {
        Self {
            method: request.method.name(),
            path: request.path.clone(),
            body: request.body.clone().unwrap_or_default(),
        }
    }
}

impl Report {
    /// Whether a part failed.
    pub fn failed(&self) -> bool {
        self.parts.iter().any(|part| part.result == Outcome::Failed)
    }
}

impl PartReport {
    pub(super) fn new(part: &'static str) -> Self {
        Self {
            part,
            result: Outcome::Skipped,
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

    pub(super) fn fail(mut self, error: &Error) -> Self {
        self.result = Outcome::Failed;
        self.error = Some(error.to_string());
        self.hint = error.hint();
        self
    }
}
