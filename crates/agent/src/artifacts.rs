//! What a run must hand over, and what of it is not there yet.

use holon_hands::{Deed, Expectation};

use crate::agent::Agent;
use crate::conversation::Conversation;

impl Agent<'_> {
    /// Where an artifact goes, as the hands know it.
    pub(crate) fn output_path(&self, name: &str) -> String {
        format!("{}/{name}", self.settings.output.trim_end_matches('/'))
    }
}

/// Artifacts that are required and not there, each with the way to hand it over.
pub(crate) async fn missing(agent: &Agent<'_>, conversation: &Conversation) -> Vec<String> {
    let mut missing = Vec::new();
    for name in &agent.settings.required {
        let made_by_host = name == "diff.patch";
        if !made_by_host && !conversation.facts.handed.contains(name) && !is_there(agent, name).await {
            missing.push(format!("{name} (call {})", way(name)));
        }
    }
    missing
}

/// The tool that hands an artifact over.
pub(crate) fn way(name: &str) -> &'static str {
    match name {
        "summary.md" => "finish",
        "plan.md" | "plan.json" => "report_plan",
        "review.json" => "report_findings",
        "debug.json" => "report_debug",
        "ethics.json" | "ethics.md" => "report_ethics",
        _ => "report",
    }
}

/// Whether the agent wrote it in another way, such as by a command.
async fn is_there(agent: &Agent<'_>, name: &str) -> bool {
    let deed = Deed::Read { path: agent.output_path(name), from_line: 1, lines: 1, max_bytes: 64 };
    agent.hands.carry_out(deed, None).await.is_ok()
}

/// Puts what people have to know about a stopped turn into the summary, below what the model said there.
pub(crate) async fn store_report(
    agent: &Agent<'_>,
    conversation: &mut Conversation,
    said: &str,
    report: &str,
) {
    let name = "summary.md";
    if !agent.settings.required.iter().any(|known| known == name) {
        return;
    }
    let said = if conversation.facts.handed.contains(name) { said.trim() } else { "" };
    let bytes = format!("{said}\n\n{}\n", report.trim()).trim_start().as_bytes().to_vec();
    let path = agent.output_path(name);
    let deed = Deed::Store { path, bytes, expect: Expectation::Any, executable: None };
    if agent.hands.carry_out(deed, None).await.is_ok() {
        conversation.facts.handed.insert(name.to_owned());
    }
}

/// Writes the last words as the summary, if one is wanted and there is none.
pub(crate) async fn store_summary(agent: &Agent<'_>, conversation: &mut Conversation, text: &str) {
    let name = "summary.md";
    let wanted = agent.settings.required.iter().any(|known| known == name);
    let said = text.chars().any(char::is_alphanumeric);
    if !wanted || !said || conversation.facts.handed.contains(name) || is_there(agent, name).await {
        return;
    }
    let bytes = format!("{}\n", text.trim()).into_bytes();
    let path = agent.output_path(name);
    let deed = Deed::Store { path, bytes, expect: Expectation::Absent, executable: None };
    if agent.hands.carry_out(deed, None).await.is_ok() {
        conversation.facts.handed.insert(name.to_owned());
    }
}
