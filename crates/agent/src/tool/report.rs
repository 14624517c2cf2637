//! Hands over an artifact that has no tool of its own.

use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::{AgentTool, CallContext, RunningToolCall, ToolArguments, ToolSpec, ToolTrouble, TurnSettings};

/// Artifacts that other tools or the host hand over.
const ELSEWHERE: [&str; 8] = [
    "diff.patch",
    "summary.md",
    "plan.md",
    "plan.json",
    "review.json",
    "debug.json",
    "ethics.json",
    "ethics.md",
];

pub(super) struct ReportArtifactTool;

#[derive(Deserialize)]
struct ReportArguments {
    name: String,
    content: Value,
}

/// The artifacts of a run that this tool is for.
pub(super) fn names(settings: &TurnSettings) -> Vec<&str> {
    let all = settings.required.iter().chain(&settings.optional).map(String::as_str);
    all.filter(|name| !ELSEWHERE.contains(name)).collect()
}

impl AgentTool for ReportArtifactTool {
    fn name(&self) -> &str {
        "report"
    }

    fn describe(&self, settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "name": {"type": "string", "enum": names(settings)}, "content": {"type": "string"}}, "required": ["name", "content"]});
        ToolSpec::new("report", "Hand over a file.", schema)
    }

    fn target<'a>(&self, arguments: &'a ToolArguments) -> Option<&'a str> {
        arguments.get("name").and_then(Value::as_str)
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let ReportArguments { name, content } = read(arguments)?;
            let known = names(scene.agent.settings);
            if !known.contains(&name.as_str()) {
                return Err(ToolTrouble::Arguments(format!(
                    "`{name}` is not asked for, only {}",
                    known.join(", ")
                )));
            }
            // Models like to send the object itself where the text of one is asked for.
            let text = match content {
                Value::String(text) => text,
                other => format!("{other:#}\n"),
            };
            scene.hand_over(vec![(&name, text)]).await
        })
    }
}
