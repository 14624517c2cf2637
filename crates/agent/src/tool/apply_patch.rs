//! Applies a patch over several files, as a whole or not at all.

use std::collections::BTreeMap;

use holon_hands::{FileExpectation, ToolRequest, ToolResponse};
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::read;
use super::load::{LoadedTextFile, load};
use super::{
    AgentTool, CallContext, RunningToolCall, ToolArguments, ToolOutcome, ToolSpec, ToolTrouble, TurnSettings,
    odd,
};
use crate::edit::patch::{PatchedFileChange, parse, plan};
use crate::supervisor_hook::ToolCallEvidence;

const DESCRIPTION: &str = "Change files. Paths are relative:\n*** Begin Patch\n*** Add File: p\n+line\n*** Update File: p\n*** Move to: q\n@@ def f():\n context\n-old\n+new\n*** Delete File: p\n*** End Patch";

pub(super) struct ApplyPatchTool;

#[derive(Deserialize)]
struct ApplyPatchArguments {
    #[serde(alias = "input")]
    patch: String,
}

impl AgentTool for ApplyPatchTool {
    fn name(&self) -> &str {
        "apply_patch"
    }

    fn describe(&self, _settings: &TurnSettings) -> ToolSpec {
        let schema =
            json!({"type": "object", "properties": {"patch": {"type": "string"}}, "required": ["patch"]});
        ToolSpec::new("apply_patch", DESCRIPTION, schema)
    }

    /// The first file it names, which is all one needs to tell patches apart.
    fn target<'a>(&self, arguments: &'a ToolArguments) -> Option<&'a str> {
        let patch = arguments.get("patch").or_else(|| arguments.get("input")).and_then(Value::as_str)?;
        patch.lines().find_map(|line| line.strip_prefix("*** ")?.split_once(" File: ").map(|(_, path)| path))
    }

    fn targets(&self, arguments: &ToolArguments) -> Vec<String> {
        let patch = arguments.get("patch").or_else(|| arguments.get("input")).and_then(Value::as_str);
        let parsed = patch.and_then(|patch| parse(patch).ok());
        parsed.map(|patch| patch.paths().into_iter().map(str::to_owned).collect()).unwrap_or_default()
    }

    fn run<'a>(&'a self, arguments: ToolArguments, scene: &'a CallContext<'a>) -> RunningToolCall<'a> {
        Box::pin(async move {
            let ApplyPatchArguments { patch } = read(arguments)?;
            let patch = parse(&patch).map_err(|error| ToolTrouble::Said(error.to_string()))?;
            let mut files: BTreeMap<String, LoadedTextFile> = BTreeMap::new();
            for path in patch.paths() {
                files.extend(load(scene, path).await?.map(|file| (path.to_owned(), file)));
            }
            let changes = plan(&patch, |path| files.get(path).map(|file| file.text.clone()))
                .map_err(|error| ToolTrouble::Said(error.to_string()))?;
            let mut outcome = ToolOutcome::said("applied");
            for change in changes {
                if let Err(trouble) = apply(scene, &files, change, &mut outcome).await {
                    let ToolTrouble::Hands(mut error) = trouble else { return Err(trouble) };
                    if !outcome.evidence.is_empty() {
                        error.message = format!("{}\nThen it failed: {}", outcome.text, error.message);
                    }
                    return Err(ToolTrouble::Hands(error));
                }
            }
            Ok(outcome)
        })
    }
}

/// Writes one change and notes it.
async fn apply(
    scene: &CallContext<'_>,
    files: &BTreeMap<String, LoadedTextFile>,
    change: PatchedFileChange,
    outcome: &mut ToolOutcome,
) -> Result<(), ToolTrouble> {
    let mut note = |line: String, tolerances: &[crate::edit::Tolerance]| {
        outcome.text.push_str(&format!("\n{line}"));
        for tolerance in tolerances {
            outcome.text.push_str(&format!(" ({tolerance})"));
        }
    };
    let as_loaded = |path: &str| match files.get(path) {
        Some(file) => FileExpectation::Sha256(file.sha256.clone()),
        None => FileExpectation::Absent,
    };
    let was = |path: &str| files.get(path).map(|file| file.text.as_str());
    let proof = match change {
        PatchedFileChange::Create { path, text } => {
            let stored = scene.store(&path, text.clone().into_bytes(), as_loaded(&path)).await?;
            scene.tell_edit(&path, was(&path), Some(&text));
            note(format!("A {path}"), &[]);
            vec![ToolCallEvidence::Changed { path, before: stored.before, after: Some(stored.after) }]
        }
        PatchedFileChange::Update { path, text, tolerances } => {
            let stored = scene.store(&path, text.clone().into_bytes(), as_loaded(&path)).await?;
            scene.tell_edit(&path, was(&path), Some(&text));
            note(format!("M {path}"), &tolerances);
            vec![ToolCallEvidence::Changed { path, before: stored.before, after: Some(stored.after) }]
        }
        PatchedFileChange::Move { from, to, text, tolerances } => {
            let executable = files.get(&from).map(|file| file.executable).filter(|is| *is);
            let deed = ToolRequest::Store {
                path: to.clone(),
                bytes: text.clone().into_bytes(),
                expect: as_loaded(&to),
                executable,
            };
            let ToolResponse::Stored(stored) = scene.carry_out(deed).await? else { return Err(odd()) };
            scene.carry_out(ToolRequest::Remove { path: from.clone(), recursive: false }).await?;
            scene.tell_edit(&from, was(&from), None);
            scene.tell_edit(&to, was(&to), Some(&text));
            note(format!("R {from} → {to}"), &tolerances);
            let before = files.get(&from).map(|file| file.sha256.clone());
            vec![
                ToolCallEvidence::Changed { path: from, before, after: None },
                ToolCallEvidence::Changed { path: to, before: stored.before, after: Some(stored.after) },
            ]
        }
        PatchedFileChange::Delete { path } => {
            scene.carry_out(ToolRequest::Remove { path: path.clone(), recursive: false }).await?;
            scene.tell_edit(&path, was(&path), None);
            note(format!("D {path}"), &[]);
            let before = files.get(&path).map(|file| file.sha256.clone());
            vec![ToolCallEvidence::Changed { path, before, after: None }]
        }
    };
    outcome.evidence.extend(proof);
    Ok(())
}
