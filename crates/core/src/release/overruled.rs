//! A person's word against the gate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::ReleaseTarget;
use crate::manifest::AuditHead;

/// A shorter reason says nothing to whoever reads the audit log.
pub const SHORTEST_REASON: usize = 8;

/// Whether a text says enough to be a reason.
pub fn is_a_reason(text: &str) -> bool {
    text.trim().chars().count() >= SHORTEST_REASON
}

/// A person let something leave that was held. It is in the audit log before it takes effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseOverride {
    /// What was let pass, by the codes of [`super::ReleaseReason`].
    pub of: Vec<String>,
    /// Where it may go because of it, and nowhere else.
    pub to: ReleaseTarget,
    /// The run it is about.
    pub run: String,
    /// Who said so.
    pub person: String,
    /// The user id of whoever gave the command; absent over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The terminal it was given at; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// Why, in the person's words.
    pub reason: String,
    /// RFC 3339.
    pub at: String,
    /// The entry of the audit log that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditHead>,
}

impl ReleaseOverride {
    /// Whether it lets this pass on the way there. Without a person and a reason it lets nothing pass.
    pub(super) fn covers(&self, code: &str, to: ReleaseTarget, run: &str) -> bool {
        let named = !self.person.trim().is_empty() && is_a_reason(&self.reason);
        named && self.to == to && self.run == run && self.of.iter().any(|of| of == code)
    }

    /// In one sentence, for summaries and pull requests.
    pub fn told(&self) -> String {
        let (of, to) = (self.of.join(", ").replace('_', " "), self.to.name().replace('_', " "));
        let where_from = self.terminal.as_deref().map(|name| format!(" at {name}")).unwrap_or_default();
        format!("{}{where_from} let it pass ({of}, to {to}): {}", self.person, self.reason.trim())
    }
}
