//! Lists a folder.

use holon_hands::{EntryKind, FolderEntry, ToolRequest, ToolResponse};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{flag, number, read};
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, TurnSettings, odd,
};
use crate::supervisor_hook::ToolCallEvidence;

/// Most entries told.
const MOST: u64 = 400;

pub(super) struct LsTool;

#[derive(Deserialize)]
struct LsArguments {
    #[serde(default)]
    path: String,
    #[serde(default, deserialize_with = "number")]
    depth: Option<u64>,
    #[serde(default, deserialize_with = "flag")]
    all: bool,
}

impl AgentTool for LsTool {
    fn name(&self) -> &str {
        "ls"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"}, "depth": {"type": "integer"}}});
        ToolSpec::new("ls", "List a folder.", schema)
    }

    fn side_by_side(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let LsArguments { path, depth, all } = read(arguments)?;
            let path = if path.is_empty() { ".".to_owned() } else { path };
            let depth = u32::try_from(depth.unwrap_or(1).clamp(1, 10)).unwrap_or(1);
            let ToolResponse::Listing(listing) =
                scene.carry_out(ToolRequest::List { path, depth, limit: MOST, all }).await?
            else {
                return Err(odd());
            };
            let found = ToolCallEvidence::Found { results: listing.entries.len() };
            Ok(ToolOutcome::said(told(&listing.entries, listing.cut)).proving(found))
        })
    }
}

/// Entries one per line, with a mark for what they are.
pub(super) fn told(entries: &[FolderEntry], cut: bool) -> String {
    if entries.is_empty() {
        return "[nothing]".to_owned();
    }
    let mut lines: Vec<String> = entries
        .iter()
        .map(|entry| {
            let mark = match entry.kind {
                EntryKind::File => "",
                EntryKind::Folder => "/",
                EntryKind::Link => "@",
                EntryKind::Other => "=",
            };
            format!("{}{mark}", entry.path)
        })
        .collect();
    if cut {
        lines.push("[there is more; ask for a smaller part]".to_owned());
    }
    lines.join("\n")
}
