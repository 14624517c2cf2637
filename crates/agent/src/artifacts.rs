//! What a run must hand over, and what of it is not there yet.

use holon_hands::{FileExpectation, ToolRequest};

use crate::agent::NativeAgent;
use crate::conversation::AgentConversation;

impl NativeAgent<'_> {
    /// Where an artifact goes, as the hands know it.
    pub(crate) fn output_path(&self, name: &str) -> String {
        format!("{}/{name}", self.settings.output.trim_end_matches('/'))
    }
}

/// Artifacts that are required and not there, each with the way to hand it over.
pub(crate) async fn missing(agent: &NativeAgent<'_>, conversation: &AgentConversation) -> Vec<String> {
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
async fn is_there(agent: &NativeAgent<'_>, name: &str) -> bool {
    let deed = ToolRequest::Read { path: agent.output_path(name), from_line: 1, lines: 1, max_bytes: 64 };
    agent.hands.carry_out(deed, None).await.is_ok()
}

/// Puts what people have to know about a stopped turn into the summary, below what the model said there.
pub(crate) async fn store_report(
    agent: &NativeAgent<'_>,
    conversation: &mut AgentConversation,
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
    let deed = ToolRequest::Store { path, bytes, expect: FileExpectation::Any, executable: None };
    if agent.hands.carry_out(deed, None).await.is_ok() {
        conversation.facts.handed.insert(name.to_owned());
    }
}

/// Writes the last words as the summary, if one is wanted and there is none.
pub(crate) async fn store_summary(agent: &NativeAgent<'_>, conversation: &mut AgentConversation, text: &str) {
    let name = "summary.md";
    let wanted = agent.settings.required.iter().any(|known| known == name);
    let said = text.chars().any(char::is_alphanumeric);
    if !wanted || !said || conversation.facts.handed.contains(name) || is_there(agent, name).await {
        return;
    }
    let bytes = format!("{}\n", text.trim()).into_bytes();
    let path = agent.output_path(name);
    let deed = ToolRequest::Store { path, bytes, expect: FileExpectation::Absent, executable: None };
    if agent.hands.carry_out(deed, None).await.is_ok() {
        conversation.facts.handed.insert(name.to_owned());
    }
}
