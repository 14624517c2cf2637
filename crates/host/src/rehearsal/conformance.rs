//! Whether an agent hands over what each mode asks for, behind the walls of this machine.

use std::path::Path;
use std::sync::Arc;

use holon_core::event::{Body, Event};
use holon_core::outcome::Outcome;
use holon_model::Cancel;
use holon_sandbox::walls::Launcher;

use super::attempts::Planned;
use super::script::Script;
use super::theatre;
use crate::adapter::fill::Filling;
use crate::config::ConfigurationFiles;
use crate::error::HostError;
use crate::executor::RunContext;
use crate::places::Places;
use crate::request::RunRequest;
use crate::run::{Environment, Host};

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
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
    places: &Places,
    env: impl Fn() -> Box<Environment>,
    scratch: &Path,
    told: &mut dyn FnMut(&str),
) -> Result<Vec<Scene>, HostError> {
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
        theatre::build(&workspace)?;
        let before = theatre::look(&workspace);
        let mut filling = Filling::default();
        filling.set("command", format!("printf 'made-%03d\\n' 0; {command}"));
        let call = Planned {
            attempt: 0,
            tool: shell.tool.clone(),
            arguments: filling.file(&shell.arguments),
            counts: true,
            optional: false,
        };
        let script = Arc::new(Script::new(vec![call], last, Box::new(|_| Vec::new())));
        let host = Host {
            places: Places { state: folder.path().join("state"), ..places.clone() },
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
        let mut sink = |event: &Event| calls += usize::from(matches!(event.body, Body::ToolFinished { .. }));
        let finished = host.run(host.plan(&request)?, RunContext::new(&mut sink, &Cancel::default()))?;
        let manifest = &finished.manifest;
        let valid = |name: &&&str| manifest.artifacts.iter().any(|a| a.valid && a.path == **name);
        let wrong = if manifest.outcome != Outcome::Success {
            Some(manifest.error.as_ref().map_or("it failed".into(), |e| e.message.clone()))
        } else if !script.told().get(&0).is_some_and(|told| told.made) {
            Some(format!("it did not run a command with `{}`", shell.tool))
        } else if calls == 0 {
            Some("it tells nothing about its calls".into())
        } else if let Some(missing) = artifacts.iter().find(|name| !valid(name)) {
            Some(format!("{missing} is missing"))
        } else if !theatre::changed(&before, &theatre::look(&workspace)).is_empty() {
            Some("the workspace changed".into())
        } else {
            None
        };
        scenes.push(Scene { name: scene, wrong });
    }
    Ok(scenes)
}
