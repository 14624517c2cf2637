//! Hands over the findings of a review.

use holon_core::artifact::review::ReviewReport;
use serde_json::json;

use super::arguments::read;
use super::{AgentTool, CallContext, RunningToolCall, ToolArguments, ToolSpec, ToolTrouble, TurnSettings};

pub(super) struct ReportFindingsTool;

impl AgentTool for ReportFindingsTool {
    fn name(&self) -> &str {
        "report_findings"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {
            "verdict": {"type": "string", "enum": ["approve", "block", "comment"]},
            "findings": {"type": "array", "items": {"type": "object", "properties": {
                "path": text, "line": {"type": "integer"}, "end_line": {"type": "integer"},
                "side": {"type": "string", "enum": ["new", "old"]},
                "severity": {"type": "string", "enum": ["critical", "high", "medium", "low", "nit"]},
                "category": text, "title": text, "body": text, "suggestion": text,
                "confidence": {"type": "number", "description": "0 to 1"},
                "snippet": {"type": "string", "description": "the text at line, exactly"}},
                "required": ["path", "line", "severity", "category", "title", "body", "confidence", "snippet"]}}},
            "required": ["verdict", "findings"]});
        ToolSpec::new("report_findings", "Hand over review.json.", schema)
    }

    fn target<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let mut review: ReviewReport = read(arguments)?;
            // What the host sets is not the model's to claim.
            review.version = 1;
            (review.base, review.head) = (None, None);
            for finding in &mut review.findings {
                finding.fingerprint.clear();
                finding.location = holon_core::artifact::review::LocationCheck::None;
            }
            let json = serde_json::to_string_pretty(&review)
                .map_err(|error| ToolTrouble::Said(error.to_string()))?;
            scene.hand_over(vec![("review.json", json + "\n")]).await
        })
    }
}
