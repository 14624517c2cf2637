//! The breach suite: every known way around a mode, tried through an agent's own tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use holon_core::event::Event;
use holon_sandbox::walls::Launcher;

use super::alone;
use super::attempts::{self, Scene};
use super::script::{Script, Told};
use super::theatre;
use crate::adapter::{self, Adapter, Located};
use crate::cancel::Cancel;
use crate::error::HostError;
use crate::places::Places;
use crate::request::RunRequest;
use crate::run::{Environment, Finished, Host};

/// Where the agent works under Holon.
const INSIDE: &str = "/holon/workspace";
/// The modes that may not write, or not there, with the folder their attempts aim at.
const MODES: [&str; 3] = ["plan", "review", "architect"];
const LAST_WORDS: &str = "# Plan\n\n## Goal\nRehearse.\n\n## Context\nA rehearsal.\n\n## Steps\n1. None.\n\n## Risks\nNone.\n\n\
                          ## Verification\nBy the host.\n\n```json\n{\"version\": 1, \"verdict\": \"approve\", \"findings\": []}\n```\n";

/// What came of one attempt in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The agent has no such tool.
    Absent,
    /// The agent declined, so nothing was tried.
    Declined,
    /// It was tried, and nothing changed.
    Held,
    /// It was tried, and so many bytes changed.
    Wrote(usize),
}

/// One attempt, everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What was tried.
    pub name: String,
    /// In each of the agent's own modes.
    pub alone: Vec<Mark>,
    /// In each of Holon's.
    pub modes: Vec<Mark>,
    /// In execute mode, where it must work.
    pub control: Mark,
    /// What the agent answered where, in short, for whoever wonders about a mark.
    pub said: Vec<(String, String)>,
}

/// What the suite found for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The agent.
    pub agent: String,
    /// Its version.
    pub version: String,
    /// Its own modes.
    pub alone: Vec<String>,
    /// Holon's.
    pub modes: Vec<String>,
    /// All attempts.
    pub rows: Vec<Row>,
    /// Bytes of the workspace that changed under Holon in all modes together, wherever they are.
    pub changed: usize,
}

impl Row {
    /// What the agent answered in a mode.
    fn said_in(&self, place: &str) -> &str {
        self.said.iter().find(|(name, _)| name == place).map_or("", |(_, said)| said)
    }
}

impl Breach {
    /// Attempts that count: really made in the control, where they worked.
    pub fn counted(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.control, Mark::Wrote(_))).count()
    }

    /// What is wrong with the result, in words; nothing when the walls held and the suite is worth something.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.changed > 0 {
            problems.push(format!("{} bytes of the workspace changed", self.changed));
        }
        for row in &self.rows {
            for (mode, mark) in self.modes.iter().zip(&row.modes) {
                match (mark, row.control) {
                    (Mark::Wrote(bytes), _) => {
                        problems.push(format!("{}: {bytes} bytes changed in {mode}", row.name))
                    }
                    (Mark::Declined, Mark::Wrote(_)) => {
                        problems.push(format!("{}: not tried in {mode}: {}", row.name, row.said_in(mode)));
                    }
                    _ => {}
                }
            }
            if row.control == Mark::Held {
                let said = row.said_in("execute");
                problems.push(format!("{}: its control in execute mode changed nothing: {said}", row.name));
            }
        }
        problems
    }
}

/// Runs the suite for one agent; `told` hears what is going on.
pub fn breach(
    name: &str,
    places: &Places,
    env: impl Fn() -> Box<Environment>,
    scratch: &Path,
    told: &mut dyn FnMut(&str),
) -> Result<Breach, HostError> {
    let adapters = adapter::list(places, None)?;
    let found = adapters.into_iter().map(|(_, adapter)| adapter).find(|adapter| adapter.name == name);
    let adapter = found
        .ok_or_else(|| HostError::usage(format!("unknown agent `{name}`"), "see `holon agents list`"))?;
    let (Some(find), false) = (&adapter.find, adapter.rehearsal.is_empty()) else {
        return Err(HostError::usage(
            format!(
                "agent `{name}` cannot be rehearsed: its description says neither how to find it nor how it acts"
            ),
            "add [find] and [rehearsal]",
        ));
    };
    let located = adapter::locate(find, places, &*env())
        .map_err(|absent| HostError::usage(format!("agent `{name}`: {absent}"), find.install.clone()))?;
    let mut rows: Vec<Row> = attempts::all()
        .iter()
        .map(|attempt| Row {
            name: attempt.name.clone(),
            alone: Vec::new(),
            modes: Vec::new(),
            control: Mark::Absent,
            said: Vec::new(),
        })
        .collect();
    let mut changed = 0;
    for mode in MODES {
        told(&format!("{name}: {mode}"));
        let (marks, bytes) = under_holon(&adapter, &located, places, env(), scratch, mode)?;
        changed += bytes;
        for (row, (mark, said)) in rows.iter_mut().zip(marks) {
            row.modes.push(mark);
            row.said.push((mode.to_owned(), said));
        }
    }
    told(&format!("{name}: execute, as the control"));
    let (marks, bytes) = under_holon(&adapter, &located, places, env(), scratch, "execute")?;
    changed += bytes;
    for (row, (mark, said)) in rows.iter_mut().zip(marks) {
        row.control = mark;
        row.said.push(("execute".to_owned(), said));
    }
    for own in &adapter.alone {
        told(&format!("{name}: alone, {}", own.name));
        let passed = alone::run(&adapter, &located, own, scratch)?;
        let differs = theatre::changed(&passed.before, &passed.after);
        let marks = attempts::all().iter().enumerate().map(|(number, attempt)| {
            let told = passed.told.get(&number);
            (mark(told, differs.get(Path::new(&attempt.target)).copied().unwrap_or(0)), said(told))
        });
        for (row, (mark, said)) in rows.iter_mut().zip(marks) {
            row.alone.push(mark);
            row.said.push((own.name.clone(), said));
        }
    }
    Ok(Breach {
        agent: name.to_owned(),
        version: located.version.clone().or_else(|| adapter::ask_version(find, &located)).unwrap_or_default(),
        alone: adapter.alone.iter().map(|own| own.name.clone()).collect(),
        modes: MODES.map(str::to_owned).into(),
        rows,
        changed,
    })
}

fn said(told: Option<&Told>) -> String {
    told.map(|told| told.result.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default()
}

fn mark(told: Option<&Told>, bytes: usize) -> Mark {
    match told {
        _ if bytes > 0 => Mark::Wrote(bytes),
        Some(told) if told.made => Mark::Held,
        Some(told) if told.offered => Mark::Declined,
        _ => Mark::Absent,
    }
}

/// All attempts in one run: what each did to the snapshot, and the bytes that changed in the workspace itself.
fn under_holon(
    adapter: &Adapter,
    located: &Located,
    places: &Places,
    env: Box<Environment>,
    scratch: &Path,
    mode: &str,
) -> Result<(Vec<(Mark, String)>, usize), HostError> {
    let folder = tempfile::tempdir_in(scratch).map_err(HostError::io("create", scratch))?;
    let workspace = folder.path().join("workspace");
    theatre::build(&workspace)?;
    let before = theatre::look(&workspace);
    let model = adapter
        .model
        .as_ref()
        .and_then(|model| model.alias.clone())
        .unwrap_or_else(|| "scripted-model".into());
    let program = located.program.to_string_lossy().into_owned();
    let scene = Scene { root: INSIDE, program: &program, model: &model };
    let planned = attempts::all().iter().enumerate();
    let planned =
        planned.flat_map(|(number, attempt)| attempts::calls(number, attempt, adapter, &scene)).collect();
    let own = adapter.clone();
    let child = Box::new(move |number| attempts::child(number, &own, INSIDE));
    let script = Arc::new(Script::new(planned, LAST_WORDS, child));
    let host = Host {
        places: Places { state: folder.path().join("state"), ..places.clone() },
        launcher: Launcher::default(),
        env,
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
    let finished = host.run(&request, &mut |_: &Event| {}, &Cancel::default())?;
    let told = script.told();
    if told.is_empty() {
        let why = finished.manifest.error.as_ref().map(|e| e.message.clone()).unwrap_or_default();
        return Err(HostError::run(
            format!("{} made no attempt in {mode}: {why}", adapter.name),
            "see `holon agents check`",
        ));
    }
    let written = written(&finished, &before);
    let bytes = theatre::changed(&before, &theatre::look(&workspace)).values().sum();
    let marks = attempts::all().iter().enumerate();
    let marks = marks.map(|(number, attempt)| {
        let told = told.get(&number);
        (mark(told, written.get(&attempt.target).copied().unwrap_or(0)), said(told))
    });
    Ok((marks.collect(), bytes))
}

/// What a run left in the layer above the workspace, by the target of an attempt.
fn written(finished: &Finished, before: &theatre::State) -> BTreeMap<String, usize> {
    let upper = finished.folder.join("layers/snapshot/upper");
    let mut all = BTreeMap::new();
    for attempt in attempts::all() {
        let Ok(meta) = upper.join(&attempt.target).symlink_metadata() else { continue };
        let content = std::fs::read(upper.join(&attempt.target)).unwrap_or_default();
        let base = before.get(Path::new(&attempt.target));
        use std::os::unix::fs::PermissionsExt;
        let same = base.is_some_and(|(mode, bytes)| *bytes == content && *mode == meta.permissions().mode());
        if !same {
            let bytes = content.len().max(base.map_or(0, |(_, bytes)| bytes.len())).max(1);
            all.insert(attempt.target.clone(), bytes);
        }
    }
    all
}
