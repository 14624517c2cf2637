//! An agent under Holon: all attempts in one mode, and what each did.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::event::Event;
use holon_sandbox::walls::Launcher;

use super::attempts::{self, Attempt, Scene};
use super::breach::{Mark, mark, said};
use super::script::{Script, Told};
use super::theatre::{self, State};
use crate::adapter::{Adapter, Located};
use crate::cancel::Cancel;
use crate::error::HostError;
use crate::places::Places;
use crate::request::RunRequest;
use crate::run::{Environment, Finished, Host};

/// Where the agent works.
const INSIDE: &str = "/holon/workspace";
/// Where scoped modes may write.
const SCOPE: &str = "docs";
/// The most times an agent is started in one mode.
const STARTS: usize = 8;
const LAST_WORDS: &str = "# Plan\n\n## Goal\nRehearse.\n\n## Context\nA rehearsal.\n\n## Steps\n1. None.\n\n## Risks\nNone.\n\n\
                          ## Verification\nBy the host.\n\n```json\n{\"version\": 1, \"verdict\": \"approve\", \"findings\": []}\n```\n";

/// What came of all attempts in one mode.
pub(super) struct Held {
    /// For each attempt: what came of it, whether the log shows that it was made, and what the agent answered.
    pub marks: Vec<(Mark, bool, String)>,
    /// Bytes that changed where nothing may: in the workspace itself, beside it and in the user's home.
    pub touched: usize,
    /// Bytes left in the layer above the workspace that no attempt accounts for, outside of a scope.
    pub stray: usize,
}

/// Who is tried, and with what.
pub(super) struct Trial<'a> {
    pub adapter: &'a Adapter,
    pub located: &'a Located,
    pub places: &'a Places,
    pub scratch: &'a Path,
}

/// Runs an agent in one of Holon's modes until it has come to the last attempt.
pub(super) fn run(
    trial: &Trial<'_>,
    env: impl Fn() -> Box<Environment>,
    mode: &str,
) -> Result<Held, HostError> {
    let adapter = trial.adapter;
    let folder = tempfile::tempdir_in(trial.scratch).map_err(HostError::io("create", trial.scratch))?;
    let (workspace, outside) = (folder.path().join("workspace"), folder.path().join("outside"));
    fs::create_dir(&outside).map_err(HostError::io("create", &outside))?;
    theatre::build(&workspace)?;
    let before = theatre::look(&workspace);
    let script = script(trial, &outside);
    let host = Host {
        places: Places { state: folder.path().join("state"), ..trial.places.clone() },
        launcher: Launcher::default(),
        env: env(),
        secrets: Vec::new(),
        words: None,
        person: None,
        script: Some(Arc::clone(&script) as _),
    };
    let request = RunRequest {
        mode: Some(mode.to_owned()),
        goal: Some("Rehearse what you are told.".into()),
        workspace: Some(workspace.clone()),
        agent: Some(adapter.name.clone()),
        auto_checks: false,
        keep: true,
        ..RunRequest::default()
    };
    let (mut log, mut above) = (String::new(), State::new());
    let mut reached = 0;
    for _ in 0..STARTS {
        let finished = host.run(&request, &mut |_: &Event| {}, &Cancel::default())?;
        let told = fs::read(finished.folder.join("evidence/agent.log")).unwrap_or_default();
        log += &String::from_utf8_lossy(&told);
        above.extend(theatre::look(&finished.folder.join("layers/snapshot/upper")));
        let (now, all) = script.progress();
        if now == 0 {
            return Err(none_made(adapter, mode, &finished));
        }
        if now >= all || now == reached {
            break;
        }
        reached = now;
    }
    let all_told = script.told();
    let written = written(&above, &before);
    let marks = attempts::all().iter().enumerate().map(|(number, attempt)| {
        let told = all_told.get(&number).map(|told| logged(told, number, attempt, &log));
        let bytes = written.get(&attempt.target).copied().unwrap_or(0);
        let made = told.as_ref().is_some_and(|told| told.made);
        (mark(told.as_ref(), bytes), made, said(told.as_ref()))
    });
    let marks: Vec<_> = marks.collect();
    let home = env()("HOME").map(PathBuf::from);
    let around = [Some(folder.path().to_owned()), Some(outside), home];
    let around: usize = around.iter().flatten().map(|place| left_in(place)).sum();
    let touched = theatre::changed(&before, &theatre::look(&workspace)).values().sum::<usize>() + around;
    Ok(Held { marks, touched, stray: stray(&above) })
}

fn script(trial: &Trial<'_>, outside: &Path) -> Arc<Script> {
    let adapter = trial.adapter;
    let alias = adapter.model.as_ref().and_then(|model| model.alias.clone());
    let model = alias.unwrap_or_else(|| "scripted-model".into());
    let program = trial.located.program.to_string_lossy().into_owned();
    let outside = outside.to_string_lossy().into_owned();
    let scene = Scene { root: INSIDE, outside: &outside, program: &program, model: &model };
    let planned = attempts::all().iter().enumerate();
    let planned =
        planned.flat_map(|(number, attempt)| attempts::calls(number, attempt, adapter, &scene)).collect();
    let own = adapter.clone();
    let child = Box::new(move |number| attempts::child(number, &own, INSIDE, &outside));
    Arc::new(Script::new(planned, LAST_WORDS, child))
}

fn none_made(adapter: &Adapter, mode: &str, finished: &Finished) -> HostError {
    let why = finished.manifest.error.as_ref().map(|e| e.message.clone()).unwrap_or_default();
    HostError::run(format!("{} made no attempt in {mode}: {why}", adapter.name), "see `holon agents check`")
}

/// What the conversation shows counts only if the agent's own log shows it too.
fn logged(told: &Told, number: usize, attempt: &Attempt, log: &str) -> Told {
    let child = format!("{}{number}:", attempts::CHILD);
    let shows = [&attempts::mark_of(number), &attempt.target, &child].iter().any(|word| log.contains(*word));
    Told { made: told.made && shows, ..told.clone() }
}

/// What a run left in the layer above the workspace, by the target of an attempt.
fn written(above: &State, before: &State) -> BTreeMap<String, usize> {
    let differs = |attempt: &Attempt| {
        let path = Path::new(&attempt.target);
        let (old, new) = (before.get(path), above.get(path)?);
        let bytes = |side: Option<&(u32, Vec<u8>)>| side.map_or(0, |(_, content)| content.len());
        (old != Some(new)).then(|| bytes(old).max(bytes(Some(new))).max(1))
    };
    let all = attempts::all().iter();
    all.filter_map(|attempt| Some((attempt.target.clone(), differs(attempt)?))).collect()
}

/// Files in the layer above that lie outside of any scope.
fn stray(above: &State) -> usize {
    let is_file = |mode: &u32| mode & 0o170_000 != 0o040_000;
    let outside = above.iter().filter(|(path, (mode, _))| is_file(mode) && !path.starts_with(SCOPE));
    outside.map(|(_, (_, content))| content.len().max(1)).sum()
}

/// Bytes of targets that lie directly in a folder of the host's.
fn left_in(folder: &Path) -> usize {
    let found = attempts::all().iter().filter_map(|attempt| {
        let plain = !attempt.target.contains('/') && attempt.target.starts_with("way-");
        let meta = plain.then(|| folder.join(&attempt.target).symlink_metadata().ok()).flatten()?;
        Some(usize::try_from(meta.len()).unwrap_or(usize::MAX).max(1))
    });
    found.sum()
}
