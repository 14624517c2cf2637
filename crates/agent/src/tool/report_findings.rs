//! Hands over the findings of a review.

use holon_core::artifact::review::Review;
use serde_json::json;

use super::arguments::read;
use super::{Arguments, Described, Running, Scene, Settings, Tool, Trouble};

pub(super) struct ReportFindings;

impl Tool for ReportFindings {
    fn name(&self) -> &str {
        "report_findings"
    }

    fn describe(&self, _settings: &Settings) -> Described {
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
        Described::new("report_findings", "Hand over review.json.", schema)
    }

    fn target<'a>(&self, _arguments: &'a Arguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let mut review: Review = read(arguments)?;
            // What the host sets is not the model's to claim.
            review.version = 1;
            (review.base, review.head) = (None, None);
            for finding in &mut review.findings {
                finding.fingerprint.clear();
                finding.location = holon_core::artifact::review::Location::None;
            }
            let json =
                serde_json::to_string_pretty(&review).map_err(|error| Trouble::Said(error.to_string()))?;
            scene.hand_over(vec![("review.json", json + "\n")]).await
        })
    }
}
