//! Hands over the search for a cause.

use holon_core::artifact::debug::Debug;
use serde_json::json;

use super::arguments::read;
use super::{Arguments, Described, Running, Scene, Settings, Tool, Trouble};

pub(super) struct ReportDebug;

impl Tool for ReportDebug {
    fn name(&self) -> &str {
        "report_debug"
    }

    fn describe(&self, _settings: &Settings) -> Described {
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
        Described::new("report_debug", "Hand over debug.json.", schema)
    }

    fn target<'a>(&self, _arguments: &'a Arguments) -> Option<&'a str> {
        None
    }

    fn run<'a>(&'a self, arguments: Arguments, scene: &'a Scene<'a>) -> Running<'a> {
        Box::pin(async move {
            let debug: Debug = read(arguments)?;
            let json =
                serde_json::to_string_pretty(&debug).map_err(|error| Trouble::Said(error.to_string()))?;
            scene.hand_over(vec![("debug.json", json + "\n")]).await
        })
    }
}
