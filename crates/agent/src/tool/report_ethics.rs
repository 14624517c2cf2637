//! Hands over an assessment, as `ethics.json` for programs and `ethics.md` for people.

use std::fmt::Write as _;

use holon_core::artifact::ethics::Ethics;
use serde_json::{Value, json};

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
            scene.hand_over(vec![("ethics.json", json + "\n"), ("ethics.md", markdown(&ethics))]).await
        })
    }
}

fn markdown(ethics: &Ethics) -> String {
    let word = |value: Result<Value, serde_json::Error>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let risk = word(serde_json::to_value(ethics.risk_level));
    let verdict = if ethics.is_approved { "Approved" } else { "Not approved" };
    let mut text = format!(
        "# Ethics report\n\n**{verdict}**, risk {risk}.\n\n{}\n",
        ethics.approval_justification.trim()
    );
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(text, "\n## {title}\n\n{}\n", lines.join("\n"));
        }
    };
    let impacts = ethics.principle_impacts.iter();
    section(
        "Principles",
        impacts.map(|i| format!("- **{}** ({}): {}", i.principle, i.impact, i.rationale)).collect(),
    );
    section("Mitigations", ethics.mitigations.iter().map(|mitigation| format!("- {mitigation}")).collect());
    let evidence = ethics.evidence.iter().map(|evidence| {
        let excerpt = evidence.excerpt.as_ref().map(|excerpt| format!(": {excerpt}")).unwrap_or_default();
        format!("- {} `{}`{excerpt}", evidence.kind, evidence.reference)
    });
    section("Evidence", evidence.collect());
    let checks = ethics.checks.iter().map(|check| {
        let status = word(serde_json::to_value(check.status));
        format!("- {}: {status} {}", check.id, check.detail).trim_end().to_owned()
    });
    section("Checks", checks.collect());
    text
}
