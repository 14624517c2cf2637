//! Hands over the search for a cause.

use holon_core::artifact::debug::DebugReport;
use serde_json::json;

use super::arguments::read;
use super::{AgentTool, CallContext, RunningToolCall, ToolArguments, ToolSpec, ToolTrouble, TurnSettings};

pub(super) struct ReportDebugTool;

impl AgentTool for ReportDebugTool {
    fn name(&self) -> &str {
        "report_debug"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {
            "hypotheses": {"type": "array", "items": {"type": "object", "properties": {
                "statement": text, "evidence": {"type": "array", "items": text},
                "status": {"type": "string", "enum": ["open", "confirmed", "rejected"]}},
                "required": ["statement", "evidence", "status"]}},
            "experiments": {"type": "array", "items": {"type": "object", "properties": {
                "change": text, "command": text, "result": text}, "required": ["change", "command", "result"]}},
            "root_cause": text, "fix_proposal": text},
            "required": ["hypotheses", "experiments", "root_cause", "fix_proposal"]});
        ToolSpec::new("report_debug", "Hand over debug.json.", schema)
    }

    fn target<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let debug: DebugReport = read(arguments)?;
            let json =
                serde_json::to_string_pretty(&debug).map_err(|error| ToolTrouble::Said(error.to_string()))?;
            scene.hand_over(vec![("debug.json", json + "\n")]).await
        })
    }
}
