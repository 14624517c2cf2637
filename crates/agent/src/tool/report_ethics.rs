//! Hands over an assessment, as `ethics.json` for programs and `ethics.md` for people.

use holon_core::artifact::ethics::EthicsReport;
use serde_json::json;

use super::arguments::read;
use super::{AgentTool, CallContext, RunningToolCall, ToolArguments, ToolSpec, ToolTrouble, TurnSettings};

pub(super) struct ReportEthicsTool;

impl AgentTool for ReportEthicsTool {
    fn name(&self) -> &str {
        "report_ethics"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {
            "risk_level": {"type": "string", "enum": ["unknown", "low", "medium", "high", "critical"]},
            "is_approved": {"type": "boolean"}, "approval_justification": text,
            "principle_impacts": {"type": "array", "items": {"type": "object", "properties": {
                "principle": text, "impact": {"type": "string", "enum": ["none", "positive", "negative"]}, "rationale": text},
                "required": ["principle", "impact", "rationale"]}},
            "mitigations": {"type": "array", "items": text},
            "evidence": {"type": "array", "items": {"type": "object", "properties": {
                "kind": text, "ref": {"type": "string", "description": "path:line"}, "excerpt": text},
                "required": ["kind", "ref"]}},
            "checks": {"type": "array", "items": {"type": "object", "properties": {
                "id": text, "status": {"type": "string", "enum": ["pass", "warn", "fail", "unverified", "skipped"]}, "detail": text},
                "required": ["id", "status"]}}},
            "required": ["risk_level", "is_approved", "approval_justification", "principle_impacts"]});
        ToolSpec::new("report_ethics", "Hand over ethics.json and ethics.md.", schema)
    }

    fn target<'a>(&self, _arguments: &'a ToolArguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let mut ethics: EthicsReport = read(arguments)?;
            // What the host sets is not the model's to claim.
            (ethics.request_id, ethics.goal_id, ethics.history) = (None, None, None);
            let json = serde_json::to_string_pretty(&ethics)
                .map_err(|error| ToolTrouble::Said(error.to_string()))?;
            scene.hand_over(vec![("ethics.json", json + "\n"), ("ethics.md", ethics.to_markdown())]).await
        })
    }
}
