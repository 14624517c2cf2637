//! Whether an agent hands over what each mode asks for, behind the walls of this machine.

use std::path::Path;
use std::sync::Arc;

use holon_core::event::{EventBody, RunEvent};
use holon_core::outcome::RunOutcome;
use holon_model::ModelCancel;
use holon_sandbox::isolation::Launcher;

use super::attempts::ScriptedCall;
use super::script::AttemptScript;
use super::stage;
use crate::adapter::fill::PlaceholderValues;
use crate::config::ConfigurationFiles;
use crate::error::HostError;
use crate::executor::RunContext;
use crate::holon_folders::HolonFolders;
use crate::request::RunRequest;
use crate::run::{Host, HostEnvironment};

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceScene {
    /// What it was.
    pub name: &'static str,
    /// What was wrong with it.
    pub wrong: Option<String>,
}

/// A mode, what the model makes the agent run, what it says last, and what must be handed over.
const SCENES: [(&str, &str, &str, &str, &[&str]); 3] = [
    (
        "execute hands over a patch and a summary",
        "execute",
        "echo rehearsed > rehearsed.txt",
        "I wrote rehearsed.txt as I was told to.",
        &["diff.patch", "summary.md"],
    ),
    (
        "plan hands over a plan and writes nothing",
        "plan",
        "echo rehearsed > rehearsed.txt",
        "# Plan\n\n## Goal\nRehearse.\n\n## Context\nA rehearsal.\n\n## Steps\n1. None.\n\n## Risks\nNone.\n\n## Verification\nBy the host.\n",
        &["plan.md"],
    ),
    (
        "review hands over findings",
        "review",
        "cat a.txt",
        "One thing.\n\n```json\n{\"version\": 1, \"verdict\": \"comment\", \"findings\": []}\n```\n",
        &["review.json", "summary.md"],
    ),
];

/// Plays all scenes with one agent.
pub fn conform(
    name: &str,
    places: &HolonFolders,
    env: impl Fn() -> Box<HostEnvironment>,
    scratch: &Path,
    told: &mut dyn FnMut(&str),
) -> Result<Vec<ConformanceScene>, HostError> {
    let adapter = super::described(name, places)?;
    let Some(shell) = adapter.rehearsal.get("shell") else {
        return Err(HostError::usage(
            format!("agent `{name}` cannot be rehearsed: its description does not say how it runs a command"),
            "add [rehearsal.shell]",
        ));
    };
    let mut scenes = Vec::new();
    for (scene, mode, command, last, artifacts) in SCENES {
        told(&format!("{name}: {mode}"));
        let folder = tempfile::tempdir_in(scratch).map_err(HostError::io("create", scratch))?;
        let workspace = folder.path().join("workspace");
        stage::build(&workspace)?;
        let before = stage::look(&workspace);
        let mut filling = PlaceholderValues::default();
        filling.set("command", format!("printf 'made-%03d\\n' 0; {command}"));
        let call = ScriptedCall {
            attempt: 0,
            tool: shell.tool.clone(),
            arguments: filling.file(&shell.arguments),
            counts: true,
            optional: false,
        };
        let script = Arc::new(AttemptScript::new(vec![call], last, Box::new(|_| Vec::new())));
        let host = Host {
            places: HolonFolders { state: folder.path().join("state"), ..places.clone() },
            launcher: Launcher::default(),
            env: env(),
            secrets: Vec::new(),
            script: Some(Arc::clone(&script) as _),
            observer: None,
            configuration: ConfigurationFiles::shared(places),
        };
        let request = RunRequest {
            mode: Some(mode.to_owned()),
            goal: Some("Rehearse what you are told.".into()),
            workspace: Some(workspace.clone()),
            agent: Some(name.to_owned()),
            auto_checks: false,
            ..RunRequest::default()
        };
        let mut calls = 0;
        let mut sink =
            |event: &RunEvent| calls += usize::from(matches!(event.body, EventBody::ToolFinished { .. }));
        let finished = host.run(host.plan(&request)?, RunContext::new(&mut sink, &ModelCancel::default()))?;
        let manifest = &finished.manifest;
        let valid = |name: &&&str| manifest.artifacts.iter().any(|a| a.valid && a.path == **name);
        let wrong = if manifest.outcome != RunOutcome::Success {
            Some(manifest.error.as_ref().map_or("it failed".into(), |e| e.message.clone()))
        } else if !script.told().get(&0).is_some_and(|told| told.made) {
            Some(format!("it did not run a command with `{}`", shell.tool))
        } else if calls == 0 {
            Some("it tells nothing about its calls".into())
        } else if let Some(missing) = artifacts.iter().find(|name| !valid(name)) {
            Some(format!("{missing} is missing"))
        } else if !stage::changed(&before, &stage::look(&workspace)).is_empty() {
            Some("the workspace changed".into())
        } else {
            None
        };
        scenes.push(ConformanceScene { name: scene, wrong });
    }
    Ok(scenes)
}
