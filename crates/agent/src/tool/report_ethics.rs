//! Hands over an assessment, as `ethics.json` for programs and `ethics.md` for people.

use holon_core::artifact::ethics::Ethics;
use serde_json::json;

use super::arguments::read;
use super::{Arguments, Described, Running, Scene, Settings, Tool, Trouble};

pub(super) struct ReportEthics;

impl Tool for ReportEthics {
    fn name(&self) -> &str {
        "report_ethics"
    }

    fn describe(&self, _settings: &Settings) -> Described {
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
        Described::new("report_ethics", "Hand over ethics.json and ethics.md.", schema)
    }

    fn target<'a>(&self, _arguments: &'a Arguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let mut ethics: Ethics = read(arguments)?;
            // What the host sets is not the model's to claim.
            (ethics.request_id, ethics.goal_id, ethics.history) = (None, None, None);
            let json =
                serde_json::to_string_pretty(&ethics).map_err(|error| Trouble::Said(error.to_string()))?;
            scene.hand_over(vec![("ethics.json", json + "\n"), ("ethics.md", ethics.to_markdown())]).await
        })
    }
}
