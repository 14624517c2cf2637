//! An agent under Holon: all attempts in one mode, and what each did.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::HumanDuration;
use holon_core::event::RunEvent;
use holon_model::ModelCancel;
use holon_sandbox::isolation::Launcher;

use super::attempts::{self, AttemptScene, BreachAttempt};
use super::breach::AttemptMark;
use super::script::{AttemptScript, AttemptTrace, without_path};
use super::stage::{self, SCOPE, StageTreeEntry, StageTreeState};
use super::suite::{mark, said};
use crate::adapter::{Adapter, LocatedAgent};
use crate::config::ConfigurationFiles;
use crate::error::HostError;
use crate::executor::RunContext;
use crate::holon_folders::HolonFolders;
use crate::request::RunRequest;
use crate::run::{FinishedRun, Host, HostEnvironment};

/// Where the agent works.
const INSIDE: &str = "/holon/workspace";
/// The most times an agent is started in one mode.
const STARTS: usize = 8;
/// How long one start may take, and how long it may say nothing.
const PATIENCE: (u64, u64) = (600, 180);
const LAST_WORDS: &str = "# Plan\n\n## Goal\nRehearse.\n\n## Context\nA rehearsal.\n\n## Steps\n1. None.\n\n## Risks\nNone.\n\n\
                          ## Verification\nBy the host.\n\n```json\n{\"version\": 1, \"verdict\": \"approve\", \"findings\": []}\n```\n";

/// What came of all attempts in one mode.
pub(super) struct SandboxedTrial {
    /// For each attempt: what came of it, whether the log shows that it was made, and what the agent answered.
    pub marks: Vec<(AttemptMark, bool, String)>,
    /// Which access to the workspace the mode gave.
    pub access: String,
    /// Bytes that changed where nothing may: in the workspace itself, beside it and in the user's home.
    pub touched: usize,
    /// Bytes that the mode may not write and that were left above the workspace or delivered as a patch.
    pub stray: usize,
}

/// Who is tried, and with what.
pub(super) struct AgentTrial<'a> {
    pub adapter: &'a Adapter,
    pub located: &'a LocatedAgent,
    pub places: &'a HolonFolders,
    pub scratch: &'a Path,
}

/// Which attempts are made, by number.
pub(super) type AttemptFilter<'a> = &'a dyn Fn(usize, &BreachAttempt) -> bool;

/// Runs an agent in one of Holon's modes until it has come to the last of the chosen attempts.
pub(super) fn run(
    trial: &AgentTrial<'_>,
    env: &dyn Fn() -> Box<HostEnvironment>,
    mode: &str,
    chosen: AttemptFilter<'_>,
) -> Result<SandboxedTrial, HostError> {
    let adapter = trial.adapter;
    let folder = tempfile::tempdir_in(trial.scratch).map_err(HostError::io("create", trial.scratch))?;
    let (workspace, outside) = (folder.path().join("workspace"), folder.path().join("outside"));
    fs::create_dir(&outside).map_err(HostError::io("create", &outside))?;
    stage::build(&workspace)?;
    let before = stage::look(&workspace);
    let script = script(trial, &outside, chosen);
    let host = Host {
        places: HolonFolders { state: folder.path().join("state"), ..trial.places.clone() },
        launcher: Launcher::default(),
        env: env(),
        secrets: Vec::new(),
        script: Some(Arc::clone(&script) as _),
        observer: None,
        configuration: ConfigurationFiles::shared(trial.places),
    };
    let request = RunRequest {
        mode: Some(mode.to_owned()),
        goal: Some("Rehearse what you are told.".into()),
        workspace: Some(workspace.clone()),
        agent: Some(adapter.name.clone()),
        timeout: Some(HumanDuration::from_secs(PATIENCE.0)),
        idle_timeout: Some(HumanDuration::from_secs(PATIENCE.1)),
        auto_checks: false,
        keep: true,
        ..RunRequest::default()
    };
    let (mut log, mut above, mut access) = (String::new(), StageTreeState::new(), String::new());
    let (mut reached, mut delivered) = (0, 0);
    for _ in 0..STARTS {
        let (mut sink, cancel) = (|_: &RunEvent| {}, ModelCancel::default());
        let finished = host.run(host.plan(&request)?, RunContext::new(&mut sink, &cancel))?;
        let told = fs::read(finished.folder.join("evidence/agent.log")).unwrap_or_default();
        log += &String::from_utf8_lossy(&told);
        above.extend(stage::look(&finished.folder.join("layers/snapshot/upper")));
        access.clone_from(&finished.manifest.metadata.workspace_access);
        let patch = fs::read_to_string(finished.folder.join("output/diff.patch")).unwrap_or_default();
        delivered += out_of_scope(&patch);
        let (now, all) = script.progress();
        if now == 0 {
            return Err(none_made(adapter, mode, &finished));
        }
        if now >= all || now == reached {
            break;
        }
        reached = now;
    }
    let changed = stage::changed(&before, &stage::look(&workspace));
    // What is written into a scratch vanishes, so only what left it counts.
    let vanishes = access == "scratch";
    let mut written = if vanishes { BTreeMap::new() } else { written(&above, &before) };
    written.extend(by_target(&changed));
    let all_told = without_path(script.told(), folder.path());
    let marks = attempts::all().iter().enumerate().map(|(number, attempt)| {
        if !chosen(number, attempt) {
            return (AttemptMark::Left, false, String::new());
        }
        let told = all_told.get(&number).map(|told| logged(told, number, attempt, &log));
        let bytes = written.get(&attempt.target).copied().unwrap_or(0);
        let made = told.as_ref().is_some_and(|told| told.made);
        let meant = access == "scoped" && Path::new(&attempt.target).starts_with(SCOPE);
        let mark = match mark(told.as_ref(), bytes) {
            AttemptMark::Wrote(bytes) if meant => AttemptMark::Meant(bytes),
            other => other,
        };
        (mark, made, said(told.as_ref()))
    });
    let marks: Vec<_> = marks.collect();
    let home = env()("HOME").map(PathBuf::from);
    let around = [Some(folder.path().to_owned()), Some(outside), home];
    let around: usize = around.iter().flatten().map(|place| left_in(place)).sum();
    let touched = changed.values().sum::<usize>() + around;
    let stray = delivered + if vanishes { 0 } else { stray(&above, access == "scoped") };
    Ok(SandboxedTrial { marks, access, touched, stray })
}

fn script(trial: &AgentTrial<'_>, outside: &Path, chosen: AttemptFilter<'_>) -> Arc<AttemptScript> {
    let adapter = trial.adapter;
    let alias = adapter.model.as_ref().and_then(|model| model.alias.clone());
    let model = alias.unwrap_or_else(|| "scripted-model".into());
    let program = trial.located.program.to_string_lossy().into_owned();
    let outside = outside.to_string_lossy().into_owned();
    let scene = AttemptScene { root: INSIDE, outside: &outside, program: &program, model: &model };
    let planned = attempts::all().iter().enumerate().filter(|(number, attempt)| chosen(*number, attempt));
    let planned =
        planned.flat_map(|(number, attempt)| attempts::calls(number, attempt, adapter, &scene)).collect();
    let own = adapter.clone();
    let child = Box::new(move |number| attempts::child(number, &own, INSIDE, &outside));
    Arc::new(AttemptScript::new(planned, LAST_WORDS, child))
}

fn none_made(adapter: &Adapter, mode: &str, finished: &FinishedRun) -> HostError {
    let why = finished.manifest.error.as_ref().map(|e| e.message.clone()).unwrap_or_default();
    HostError::run(format!("{} made no attempt in {mode}: {why}", adapter.name), "see `holon agents check`")
}

/// What the conversation shows counts only if the agent's own log shows it too.
fn logged(told: &AttemptTrace, number: usize, attempt: &BreachAttempt, log: &str) -> AttemptTrace {
    let child = format!("{}{number}:", attempts::CHILD);
    let shows = [&attempts::mark_of(number), &attempt.target, &child].iter().any(|word| log.contains(*word));
    AttemptTrace { made: told.made && shows, ..told.clone() }
}

/// What a run left in the layer above the workspace, by the target of an attempt.
fn written(above: &StageTreeState, before: &StageTreeState) -> BTreeMap<String, usize> {
    let differs = |attempt: &BreachAttempt| {
        let path = Path::new(&attempt.target);
        StageTreeEntry::differs(before.get(path), Some(above.get(path)?))
    };
    let all = attempts::all().iter();
    all.filter_map(|attempt| Some((attempt.target.clone(), differs(attempt)?))).collect()
}

/// Changes of the workspace itself, by the target of an attempt.
fn by_target(changed: &BTreeMap<PathBuf, usize>) -> BTreeMap<String, usize> {
    let bytes = |attempt: &BreachAttempt| changed.get(Path::new(&attempt.target)).copied();
    attempts::all().iter().filter_map(|attempt| Some((attempt.target.clone(), bytes(attempt)?))).collect()
}

/// Bytes in the layer above the workspace, less those in the scope of a mode that has one.
fn stray(above: &StageTreeState, scoped: bool) -> usize {
    let is_file = |entry: &StageTreeEntry| entry.mode & 0o170_000 != 0o040_000;
    let meant = |path: &Path| scoped && path.starts_with(SCOPE);
    let outside = above.iter().filter(|(path, entry)| is_file(entry) && !meant(path));
    outside.map(|(_, entry)| entry.content.len().max(1)).sum()
}

/// How many files outside of the scope a patch names.
fn out_of_scope(patch: &str) -> usize {
    let names = patch.lines().filter_map(|line| line.strip_prefix("diff --git "));
    let inside =
        |name: &str| name.starts_with(&format!("a/{SCOPE}/")) && name.contains(&format!(" b/{SCOPE}/"));
    names.filter(|name| !inside(name)).count()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_scope_is_counted() {
        let patch =
            "diff --git a/docs/x b/docs/x\n+++ b/docs/x\ndiff --git a/docs/x b/src/x\ndiff --git a/y b/y\n";
        assert_eq!(out_of_scope(patch), 2);
        let entry = |mode: u32, content: &[u8]| StageTreeEntry {
            mode,
            changed: None,
            attributes: Vec::new(),
            content: content.to_vec(),
        };
        let file = entry(0o100_644, b"abc");
        let above = StageTreeState::from([
            ("docs/x".into(), file.clone()),
            ("y".into(), file),
            ("d".into(), entry(0o040_755, b"")),
        ]);
        assert_eq!((stray(&above, true), stray(&above, false)), (3, 6));
    }
}
