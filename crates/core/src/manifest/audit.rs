//! What a manifest says about the audit log, and about a person who overruled an assessment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The end of the audit log at some moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditHead {
    /// How many entries there were.
    pub length: u64,
    /// Hash of the last one.
    pub head: String,
}

/// A person let a result out that was blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EthicsOverride {
    /// Why, in the person's words.
    pub reason: String,
    /// Who said so; empty in older manifests.
    #[serde(default)]
    pub person: String,
    /// The user id of whoever gave the command.
    pub uid: u32,
    /// The terminal it was given at; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
}

impl EthicsOverride {
    /// In one sentence, for summaries and pull requests.
    pub fn told(&self) -> String {
        let person = match self.person.trim() {
            "" => format!("uid {}", self.uid),
            person => person.to_owned(),
        };
        let place = self.terminal.as_deref().map(|name| format!(" at {name}")).unwrap_or_default();
        format!("{person}{place} let it out although the assessment blocked it: {}", self.reason.trim())
    }
}
