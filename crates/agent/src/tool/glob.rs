//! Finds files by the form of their paths.

use holon_hands::{ToolRequest, ToolResponse};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{flag, read};
use super::ls::told;
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, TurnSettings, odd,
};
use crate::supervisor_hook::ToolCallEvidence;

/// Most files told.
const MOST: u64 = 200;

pub(super) struct GlobTool;

#[derive(Deserialize)]
struct GlobArguments {
    pattern: String,
    #[serde(default)]
    path: String,
    #[serde(default, deserialize_with = "flag")]
    all: bool,
}

impl AgentTool for GlobTool {
    fn name(&self) -> &str {
        "glob"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "pattern": {"type": "string"}, "path": {"type": "string"}, "all": {"type": "boolean"}},
            "required": ["pattern"]});
        ToolSpec::new("glob", "Find files by name, e.g. src/**/*.rs", schema)
    }

    fn target<'a>(&self, arguments: &'a ToolArguments) -> Option<&'a str> {
        arguments.get("pattern").and_then(serde_json::Value::as_str)
    }

    fn side_by_side(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let GlobArguments { pattern, path, all } = read(arguments)?;
            let ToolResponse::Listing(listing) =
                scene.carry_out(ToolRequest::Glob { pattern, path, limit: MOST, all }).await?
            else {
                return Err(odd());
            };
            let found = ToolCallEvidence::Found { results: listing.entries.len() };
            Ok(ToolOutcome::said(told(&listing.entries, listing.cut)).proving(found))
        })
    }
}
