//! Exchanges a passage of a file.

use holon_hands::FileExpectation;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{flag, read};
use super::load::load;
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, ToolTrouble, TurnSettings,
};
use crate::edit::{self, EditedLineRange};
use crate::supervisor_hook::ToolCallEvidence;

pub(super) struct EditFileTool;

#[derive(Deserialize)]
struct EditFileArguments {
    #[serde(alias = "file_path", alias = "file")]
    path: String,
    #[serde(alias = "old_string", alias = "search")]
    old: String,
    #[serde(alias = "new_string", alias = "replace")]
    new: String,
    #[serde(default, alias = "replace_all", deserialize_with = "flag")]
    all: bool,
}

impl AgentTool for EditFileTool {
    fn name(&self) -> &str {
        "edit_file"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"},
            "old": {"type": "string", "description": "exact text, unique in the file"},
            "new": {"type": "string"},
            "all": {"type": "boolean"}}, "required": ["path", "old", "new"]});
        ToolSpec::new("edit_file", "Replace text in a file.", schema)
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let EditFileArguments { path, old, new, all } = read(arguments)?;
            let loaded = load(scene, &path).await?;
            let Some(file) = loaded else {
                return Err(ToolTrouble::Said(format!(
                    "{path}: there is no such file; write_file makes new ones"
                )));
            };
            let replaced = edit::replace(&file.text, &old, &new, all)
                .map_err(|mismatch| ToolTrouble::Said(format!("{path}: {mismatch}")))?;
            let expect = FileExpectation::Sha256(file.sha256);
            let stored = scene.store(&path, replaced.text.clone().into_bytes(), expect).await?;
            scene.tell_edit(&path, Some(&file.text), Some(&replaced.text));
            let mut text = format!("{path}: changed at {}", places(&replaced.places));
            if let Some(tolerance) = replaced.tolerance {
                text.push_str(&format!(" ({tolerance})"));
            }
            let changed =
                ToolCallEvidence::Changed { path, before: stored.before, after: Some(stored.after) };
            Ok(ToolOutcome::said(text).proving(changed))
        })
    }
}

fn places(places: &[EditedLineRange]) -> String {
    let told = places.iter().take(10).map(|place| match place.last {
        last if last > place.first => format!("{}-{last}", place.first),
        _ => place.first.to_string(),
    });
    let more = if places.len() > 10 { " and more" } else { "" };
    format!("line {}{more}", told.collect::<Vec<_>>().join(", "))
}
