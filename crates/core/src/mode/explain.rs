//! A profile as a table: each key, its value and where it comes from.

use serde::Serialize;

use super::profile::{Profile, ValueOrigin};

/// One line of `holon modes show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileRow {
    /// The key, as in a mode file.
    pub key: String,
    /// The value, as text.
    pub value: String,
    /// Where it comes from.
    pub origin: ValueOrigin,
}

impl Profile {
    /// Every value with its origin, in the order of a mode file.
    pub fn rows(&self) -> Vec<ProfileRow> {
        let mut rows = Vec::new();
        let mut row = |key: &str, value: String| {
            let origin = self.origins.get(key).cloned().unwrap_or(ValueOrigin::Default);
            rows.push(ProfileRow { key: key.to_owned(), value, origin });
        };
        row("description", self.description.clone());
        row("workspace.access", self.access.to_string());
        row("workspace.writes_on_request", self.writes_on_request.to_string());
        row("workspace.hide", list(&self.hide));
        for (name, verdict) in self.tools.flattened() {
            row(&format!("tools.{name}"), verdict.to_string());
        }
        let allow = self.commands.allow.last().map_or_else(|| "all".to_owned(), |l| list(l));
        row("commands.allow", allow);
        row("commands.deny", list(&self.commands.deny));
        row("network.tools", self.network.to_string());
        row("sandbox.minimum", self.minimum.to_string());
        row("expose.toolchains", self.expose.toolchains.to_string());
        row("expose.caches", self.expose.caches.to_string());
        row("expose.paths", list(&self.expose.paths));
        row("limits.rounds", self.limits.rounds.to_string());
        row("limits.timeout", self.limits.timeout.to_string());
        row("limits.idle_timeout", self.limits.idle_timeout.to_string());
        row("limits.cost_usd", self.limits.cost_usd.to_string());
        for (key, value) in self.limits.counts().into_iter().filter(|(key, _)| *key != "rounds") {
            row(&format!("limits.{key}"), value.to_string());
        }
        row("artifacts.required", list(&self.artifacts.required));
        row("artifacts.optional", list(&self.artifacts.optional));
        row("model.intent", self.model.intent.clone());
        row("model.policy", self.model.policy.to_string());
        row("model.reasoning", self.model.reasoning.to_string());
        row("prompt.file", self.prompt.file.clone());
        rows
    }
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "–".to_owned() } else { items.join(", ") }
}
