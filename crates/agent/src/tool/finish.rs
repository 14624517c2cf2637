//! Says that the work is over.

use holon_hands::FileExpectation;
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolEffect, ToolOutcome, ToolSpec, ToolTrouble,
    TurnSettings,
};
use crate::ended::FinishStatus;

pub(super) struct FinishTool;

#[derive(Deserialize)]
struct FinishArguments {
    #[serde(alias = "text")]
    summary: String,
    #[serde(default)]
    status: FinishStatus,
}

impl AgentTool for FinishTool {
    fn name(&self) -> &str {
        "finish"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "summary": {"type": "string", "description": "Markdown"},
            "status": {"type": "string", "enum": ["done", "failed", "needs_person"]}}, "required": ["summary"]});
        ToolSpec::new("finish", "End the run. Call it last, and alone.", schema)
    }

    fn target<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let FinishArguments { summary, status } = read(arguments)?;
            let summary = summary.trim().to_owned();
            if !summary.chars().any(char::is_alphanumeric) {
                return Err(ToolTrouble::Arguments("`summary` says nothing".to_owned()));
            }
            let path = scene.agent.output_path("summary.md");
            scene.store(&path, format!("{summary}\n").into_bytes(), FileExpectation::Any).await?;
            Ok(ToolOutcome { effect: ToolEffect::Finish(status, summary), ..ToolOutcome::said("finished") })
        })
    }
}
