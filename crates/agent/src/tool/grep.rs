//! Finds lines.

use std::fmt::Write as _;

use holon_hands::{SearchMatches, SearchRequest, ToolRequest, ToolResponse};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{flag, number, read};
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, TurnSettings, odd,
};
use crate::supervisor_hook::ToolCallEvidence;
use crate::text::head;

/// Most hits told.
const MOST: u64 = 100;
/// Most bytes of one line told.
const LINE: usize = 300;

pub(super) struct GrepTool;

#[derive(Deserialize)]
struct GrepArguments {
    pattern: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    literal: bool,
    #[serde(default, deserialize_with = "flag")]
    ignore_case: bool,
    #[serde(default, deserialize_with = "number")]
    context: Option<u64>,
    #[serde(default, deserialize_with = "flag")]
    names_only: bool,
    #[serde(default, deserialize_with = "flag")]
    all: bool,
}

impl AgentTool for GrepTool {
    fn name(&self) -> &str {
        "grep"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "pattern": {"type": "string", "description": "regular expression"},
            "path": {"type": "string"}, "glob": {"type": "string"},
            "context": {"type": "integer"}}, "required": ["pattern"]});
        ToolSpec::new("grep", "Search in files.", schema)
    }

    fn target<'a>(&self, arguments: &'a ToolArguments) -> Option<&'a str> {
        arguments.get("pattern").and_then(Value::as_str)
    }

    fn side_by_side(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let wanted: GrepArguments = read(arguments)?;
            let search = SearchRequest {
                pattern: wanted.pattern,
                path: wanted.path,
                glob: wanted.glob.filter(|glob| !glob.is_empty()),
                literal: wanted.literal,
                ignore_case: wanted.ignore_case,
                context: u32::try_from(wanted.context.unwrap_or(0).min(20)).unwrap_or(0),
                names_only: wanted.names_only,
                all: wanted.all,
                limit: MOST,
            };
            let ToolResponse::Found(found) = scene.carry_out(ToolRequest::Grep(search)).await? else {
                return Err(odd());
            };
            Ok(ToolOutcome::said(told(&found)).proving(ToolCallEvidence::Found { results: found.hits.len() }))
        })
    }
}

/// Hits below the name of their file.
fn told(found: &SearchMatches) -> String {
    if found.hits.is_empty() {
        return format!("[nothing in {} files]", found.searched);
    }
    let mut text = String::new();
    let mut file = "";
    for hit in &found.hits {
        if hit.path != file || hit.line == 0 {
            let _ = writeln!(text, "{}", hit.path);
            file = &hit.path;
        }
        if hit.line > 0 {
            let mark = if hit.around { '-' } else { ':' };
            let _ = writeln!(text, "{}{mark}{}", hit.line, head(&hit.text, LINE));
        }
    }
    if found.cut {
        text.push_str("[there is more; search for less]");
    }
    text.trim_end().to_owned()
}
