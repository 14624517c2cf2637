//! Removes a file.

use holon_hands::{ToolRequest, ToolResponse};
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, TurnSettings, odd,
};
use crate::supervisor_hook::ToolCallEvidence;

/// Most bytes of a file whose digest is wanted before it goes.
const MOST: u64 = 8 * 1024 * 1024;

pub(super) struct DeleteFileTool;

#[derive(Deserialize)]
struct DeleteFileArguments {
    #[serde(alias = "file_path", alias = "file")]
    path: String,
}

impl AgentTool for DeleteFileTool {
    fn name(&self) -> &str {
        "delete_file"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema =
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        ToolSpec::new("delete_file", "Delete a file.", schema)
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let DeleteFileArguments { path } = read(arguments)?;
            // What it was is evidence; a file that cannot be read can still be removed.
            let loaded =
                match scene.carry_out(ToolRequest::Load { path: path.clone(), max_bytes: MOST }).await {
                    Ok(ToolResponse::Bytes(file)) => Some(file),
                    _ => None,
                };
            let ToolResponse::Nothing =
                scene.carry_out(ToolRequest::Remove { path: path.clone(), recursive: false }).await?
            else {
                return Err(odd());
            };
            if let Some(lines) = loaded.as_ref().and_then(|file| std::str::from_utf8(&file.bytes).ok()) {
                scene.tell_edit(&path, Some(lines), None);
            }
            let before = loaded.map(|file| file.sha256);
            let text = format!("{path}: deleted");
            Ok(ToolOutcome::said(text).proving(ToolCallEvidence::Changed { path, before, after: None }))
        })
    }
}
