//! Writes a whole file.

use holon_hands::FileExpectation;
use serde::Deserialize;
use serde_json::json;

use super::arguments::read;
use super::load::load;
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, ToolTrouble, TurnSettings,
};
use crate::reply::{leaves_out, line_left_out};
use crate::supervisor_hook::ToolCallEvidence;

pub(super) struct WriteFileTool;

#[derive(Deserialize)]
struct WriteFileArguments {
    #[serde(alias = "file_path", alias = "file")]
    path: String,
    #[serde(alias = "text", alias = "contents")]
    content: String,
}

impl AgentTool for WriteFileTool {
    fn name(&self) -> &str {
        "write_file"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"}, "content": {"type": "string"}}, "required": ["path", "content"]});
        ToolSpec::new("write_file", "Write a whole file, new or replaced.", schema)
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let WriteFileArguments { path, content } = read(arguments)?;
            let lines = content.lines().count();
            let before = load(scene, &path).await.ok().flatten();
            let checked = before.as_ref().filter(|_| leaves_out(&content));
            if let Some(line) = checked.and_then(|before| line_left_out(&content, &before.text)) {
                return Err(ToolTrouble::Said(format!(
                    "{path}: nothing was written. \"{line}\" stands for lines that the file has; they would be lost. \
                     Write the whole file, or use edit_file."
                )));
            }
            let stored = scene.store(&path, content.clone().into_bytes(), FileExpectation::Any).await?;
            // What was there and could not be read as text has no lines to show.
            if before.is_some() || stored.before.is_none() {
                scene.tell_edit(&path, before.as_ref().map(|file| file.text.as_str()), Some(&content));
            }
            let what = match &stored.before {
                None => "new",
                Some(before) if *before == stored.after => "unchanged",
                Some(_) => "replaced",
            };
            let changed = ToolCallEvidence::Changed {
                path: path.clone(),
                before: stored.before,
                after: Some(stored.after),
            };
            Ok(ToolOutcome::said(format!("{path}: {what}, {lines} lines")).proving(changed))
        })
    }
}
