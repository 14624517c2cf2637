//! What a child is asked, and the files that go with it.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::artifact::orchestration::OrchestrationTask;
use holon_core::digest::sha256;
use holon_core::manifest::Manifest;
use holon_core::mode::ModeCatalog;
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_core::spec::RequestedArtifact;
use holon_host::store::write_atomic;
use holon_host::{HostError, RunRequest};

use super::artifacts;
use super::brief::REPLAN;
use super::checking::FAILED_CHECKS;
use super::graph::CHECK;
use super::planner::reason;
use super::state::{AttemptEnd, AttemptPurpose, OrchestrationState, TaskAttempt, TaskNode, TaskPhase};
use crate::dispatch::private_folder;
use crate::error::FlowError;
use crate::step::{ChildWork, FlowRequest};

/// Most characters of a reason that are told.
const LONGEST_REASON: usize = 4_000;

/// Files of one task that others can use.
const HANDED: [&str; 5] = ["plan.md", "plan.json", "review.json", "debug.json", "summary.md"];

/// What a task is told of its last try.
const FAILED_BEFORE: &str = "failed-before.md";

/// What a review is told of lines that no test ran.
const NOT_RUN: &str = "lines-no-test-ran.md";

/// What every child is made from.
pub(super) struct ChildBuilder<'a> {
    /// What the user asked for.
    pub(super) asked: &'a FlowRequest,
    /// The modes there are in the workspace.
    pub(super) catalog: &'a ModeCatalog,
    /// The orchestration's folder.
    pub(super) folder: &'a Path,
}

/// A child about to be started.
pub(super) struct ChildRequest {
    /// What the host is asked.
    pub(super) request: RunRequest,
    /// Its mode.
    pub(super) mode: String,
    /// Names it among its task's runs.
    pub(super) label: String,
}

/// Puts together what a child is asked. `base` is the folder it works on, `changes` the patch of
/// everything so far, `brief` what an assessment is told of it.
pub(super) fn child(
    nursery: &ChildBuilder<'_>,
    state: &OrchestrationState,
    node: usize,
    purpose: AttemptPurpose,
    base: &Path,
    (changes, brief): (&[u8], &str),
) -> Result<ChildRequest, FlowError> {
    let folder = nursery.folder;
    let Some(now) = state.nodes.get(node) else { return Err(FlowError::Changed { path: "tasks".into() }) };
    let mode = match purpose {
        AttemptPurpose::Task => now.task.mode.clone(),
        AttemptPurpose::Conflict | AttemptPurpose::Fix => "execute".to_owned(),
    };
    let earlier = now.attempts.iter().filter(|attempt| attempt.purpose == purpose).count();
    let label = label(now, purpose, earlier);
    let hand = folder.join("handed").join(&label);
    let mut files = Vec::new();
    let mut put = |name: String, bytes: &[u8]| -> Result<(), FlowError> {
        private_folder(&hand)?;
        let path = hand.join(name);
        write_atomic(&path, bytes)?;
        files.push(path);
        Ok(())
    };
    for (name, bytes) in before(state, now, folder)? {
        put(name, &bytes)?;
    }
    if !changes.is_empty() && (mode == "review" || mode == "ethical" || purpose != AttemptPurpose::Task) {
        put("changes.patch".into(), changes)?;
    }
    if mode == "review"
        && purpose == AttemptPurpose::Task
        && let Some(text) = not_run(state, folder)?
    {
        put(NOT_RUN.into(), text.as_bytes())?;
    }
    if mode == "ethical" && !brief.is_empty() {
        put("checks.md".into(), brief.as_bytes())?;
    }
    match purpose {
        AttemptPurpose::Task => {}
        AttemptPurpose::Fix if now.task.mode == CHECK => {
            let path = folder.join("made").join(FAILED_CHECKS);
            put(FAILED_CHECKS.into(), &fs::read(&path).map_err(HostError::io("read", &path))?)?;
        }
        AttemptPurpose::Fix => {
            put("findings.json".into(), &own(now, AttemptPurpose::Task, "review.json", folder)?)?
        }
        AttemptPurpose::Conflict => {
            put("theirs.patch".into(), &own(now, AttemptPurpose::Task, "diff.patch", folder)?)?
        }
    }
    if let Some(text) = failed_before(state, now, purpose) {
        put(FAILED_BEFORE.into(), text.as_bytes())?;
    }
    let said: Vec<&str> = state.messages.iter().chain(&now.told).map(String::as_str).collect();
    if !said.is_empty() {
        let text = format!("# What a person says\n\n{}\n", said.join("\n\n"));
        put("message.md".into(), text.as_bytes())?;
    }
    let mut goal = goal(&state.goal, now, purpose, &files);
    if earlier > 0 {
        // Whatever came of it before, the same is not asked twice.
        goal += &format!("\n\nThis is start {} of this.", earlier + 1);
    }
    let hands_over = purpose == AttemptPurpose::Task && artifacts::handed_over_by(state) == Some(node);
    let wanted = if hands_over { artifacts::for_a_task(nursery.asked.artifacts()) } else { Vec::new() };
    let mut child =
        nursery.made(mode, label, goal, base, ChildHandover { files: &files, artifacts: &wanted })?;
    done_by(&now.task, purpose, &mut child.request);
    Ok(child)
}

/// A task can name who does it; whoever mends it is the one that was asked for.
fn done_by(task: &OrchestrationTask, purpose: AttemptPurpose, request: &mut RunRequest) {
    if purpose != AttemptPurpose::Task {
        return;
    }
    if let Some(agent) = &task.agent {
        // A model was asked for with the agent that was.
        (request.agent, request.model) = (Some(agent.clone()), None);
    }
    if let Some(model) = &task.model {
        request.model = Some(model.clone());
    }
}

/// Why the try before came to nothing, so that the next is not the same again; of a task that was planned again, that of
/// the one it took the place of.
fn failed_before(state: &OrchestrationState, node: &TaskNode, purpose: AttemptPurpose) -> Option<String> {
    let tried = |node: &TaskNode| node.attempts.iter().rfind(|attempt| attempt.purpose == purpose).cloned();
    let replaced = || state.dropped.iter().rfind(|old| old.task.id == node.task.id && old.plan < node.plan);
    let last = tried(node).or_else(|| replaced().and_then(tried))?;
    let end = last
        .end
        .as_ref()
        .filter(|end| end.outcome == RunOutcome::Failure && end.status != RunStatus::Cancelled)?;
    let why: String = reason(end).chars().take(LONGEST_REASON).collect();
    Some(format!(
        "# What came of this before\n\nIt was tried and failed; nothing of it was kept. The reason:\n\n{why}\n\nDo what avoids \
         this reason, not the same again.\n"
    ))
}

/// `parser`, `parser-2`, `parser-conflict-1`, `review-fix-1` …; those of a second plan begin with `2.`.
fn label(node: &TaskNode, purpose: AttemptPurpose, earlier: usize) -> String {
    let task = name(node);
    match (purpose, earlier) {
        (AttemptPurpose::Task, 0) => task,
        (AttemptPurpose::Task, n) => format!("{task}-{}", n + 1),
        (purpose, n) => format!("{task}-{}-{}", purpose.name(), n + 1),
    }
}

/// The name of a task among those of all plans.
pub(super) fn name(node: &TaskNode) -> String {
    match node.plan {
        0 => node.task.id.clone(),
        plan => format!("{}.{}", plan + 1, node.task.id),
    }
}

/// What the tasks before hand over, each file under the name of its task.
fn before(
    state: &OrchestrationState,
    now: &TaskNode,
    folder: &Path,
) -> Result<Vec<(String, Vec<u8>)>, FlowError> {
    let mut files = Vec::new();
    for id in &now.task.depends_on {
        let Some(attempt) = state.node(id).and_then(TaskNode::result) else { continue };
        for name in HANDED {
            if let Some(bytes) = artifact(attempt, name, folder)? {
                files.push((format!("{id}.{name}"), bytes));
            }
        }
    }
    Ok(files)
}

/// The changed lines that no test ran, as the checks of the tasks so far tell; nothing where they tell nothing.
fn not_run(state: &OrchestrationState, folder: &Path) -> Result<Option<String>, FlowError> {
    let mut text = String::new();
    for node in &state.nodes {
        let Some(attempt) = node.result() else { continue };
        let known = manifest(attempt, folder)?.and_then(|manifest| manifest.metadata.verification);
        let Some(coverage) = known.and_then(|known| known.coverage) else { continue };
        for file in &coverage.not_run {
            text += &format!("- {file} ({})\n", node.task.id);
        }
    }
    let head = "# Changed lines that no test ran\n\nAs reports of the checks say, each by the lines of the task that is named; what was \
                joined later may have moved them.\n\n";
    Ok((!text.is_empty()).then(|| format!("{head}{text}")))
}

/// The manifest of a run that has ended, after checking that it is the one that was seen then.
fn manifest(attempt: &TaskAttempt, folder: &Path) -> Result<Option<Manifest>, FlowError> {
    let expected = attempt.end.as_ref().and_then(|end| end.manifest_sha256.as_ref());
    let (Some(at), Some(expected)) = (&attempt.folder, expected) else { return Ok(None) };
    let changed = || FlowError::Changed { path: format!("{at}/output/manifest.json") };
    let bytes = fs::read(folder.join(at).join("output/manifest.json")).map_err(|_| changed())?;
    if sha256(&bytes) != *expected {
        return Err(changed());
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|_| changed())
}

/// A file of the last run of a purpose.
fn own(node: &TaskNode, purpose: AttemptPurpose, name: &str, folder: &Path) -> Result<Vec<u8>, FlowError> {
    let attempt = node.attempts.iter().rev().find(|a| a.purpose == purpose && a.end.is_some());
    let found = attempt.map(|attempt| artifact(attempt, name, folder)).transpose()?.flatten();
    found.ok_or_else(|| FlowError::Changed { path: format!("{}/{name}", node.task.id) })
}

/// A file of a run that has ended, after checking that it is the one that was seen then.
pub(super) fn artifact(
    attempt: &TaskAttempt,
    name: &str,
    folder: &Path,
) -> Result<Option<Vec<u8>>, FlowError> {
    let (Some(at), Some(AttemptEnd { artifacts, .. })) = (&attempt.folder, &attempt.end) else {
        return Ok(None);
    };
    let Some(expected) = artifacts.get(name) else { return Ok(None) };
    let path = folder.join(at).join("output").join(name);
    let changed = || FlowError::Changed { path: format!("{at}/output/{name}") };
    let bytes = fs::read(&path).map_err(|_| changed())?;
    if sha256(&bytes) != *expected {
        return Err(changed());
    }
    Ok(Some(bytes))
}

fn goal(whole: &str, node: &TaskNode, purpose: AttemptPurpose, files: &[PathBuf]) -> String {
    let task = &node.task;
    let mut parts = Vec::new();
    match purpose {
        AttemptPurpose::Task => parts.push(task.goal.trim_end().to_owned()),
        AttemptPurpose::Fix if task.mode == CHECK => parts.push(format!(
            "Several changes were joined, and together they do not pass what each may pass alone. Mend the workspace, which \
             already holds them, until these checks pass, and change nothing else; do not weaken or remove what is \
             checked. What fails and what it printed is in `/holon/input/context/{FAILED_CHECKS}`."
        )),
        AttemptPurpose::Fix => parts.push(format!(
            "A review does not let the change in. Mend what `/holon/input/context/findings.json` names, the most severe \
             first, and nothing else. The workspace already holds the change. The review was about this: {}",
            task.goal.trim_end()
        )),
        AttemptPurpose::Conflict => {
            let paths = match &node.phase {
                TaskPhase::Conflict { paths } if !paths.is_empty() => format!(" in {}", paths.join(", ")),
                _ => String::new(),
            };
            parts.push(format!(
                "Two changes meet{paths}. The workspace holds the one side (`/holon/input/context/changes.patch`); \
                 `/holon/input/context/theirs.patch` is the other, made for this: {}\n\nBring the other side into the \
                 workspace so that both do what they were made for.",
                task.goal.trim_end()
            ));
        }
    }
    if task.goal.trim() != whole.trim() {
        parts.push(format!("This is one task of a larger goal: {}", whole.trim_end()));
    }
    let criteria: Vec<String> = task.acceptance.iter().map(|text| format!("- {}", text.trim())).collect();
    parts.push(format!("It is done when:\n\n{}", criteria.join("\n")));
    if matches!(task.mode.as_str(), "review" | "ethical") && purpose == AttemptPurpose::Task {
        parts.push(
            "The changes are in `/holon/input/context/changes.patch`; the workspace already holds them."
                .into(),
        );
    }
    if !files.is_empty() {
        let names = files.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy());
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        parts.push(format!("In `/holon/input/context` you find: {}.", names.join(", ")));
    }
    parts.join("\n\n")
}

/// The request whose checks are run on the joined changes.
pub(super) fn checks(nursery: &ChildBuilder<'_>, workspace: &Path) -> Result<RunRequest, FlowError> {
    let goal = "Check all changes together".to_owned();
    let request =
        nursery.made("execute".into(), "checks".into(), goal, workspace, ChildHandover::default())?.request;
    // Nobody thinks here.
    Ok(RunRequest { replay: None, record: None, ..request })
}

/// The request for the plan itself; `files` go with it when the rest of the work is planned again.
pub(super) fn planner(
    nursery: &ChildBuilder<'_>,
    state: &OrchestrationState,
    workspace: &Path,
    files: Option<&[PathBuf]>,
) -> Result<ChildRequest, FlowError> {
    let label = match state.planning.len() {
        0 => "orchestrate".to_owned(),
        n => format!("orchestrate-{}", n + 1),
    };
    let goal = match (files, state.replans.last()) {
        (Some(_), Some(replan)) => format!(
            "{}\n\nThis was planned before, and the task `{}` of the plan could not be done. Plan the rest of the work again. \
             Read `/holon/input/context/{REPLAN}` first: it says what is done, what went wrong, and what to hand over.",
            state.goal.trim_end(),
            replan.after_task
        ),
        _ => state.goal.clone(),
    };
    let handed = ChildHandover { files: files.unwrap_or_default(), ..ChildHandover::default() };
    nursery.made("orchestrate".into(), label, goal, workspace, handed)
}

/// What goes with a child, and what it hands over besides what its mode demands.
#[derive(Default)]
struct ChildHandover<'a> {
    files: &'a [PathBuf],
    artifacts: &'a [RequestedArtifact],
}

impl ChildBuilder<'_> {
    fn made(
        &self,
        mode: String,
        label: String,
        goal: String,
        workspace: &Path,
        handed: ChildHandover<'_>,
    ) -> Result<ChildRequest, FlowError> {
        let profile = self.catalog.resolve(&mode).map_err(HostError::from)?;
        let (checks, profile, ChildHandover { files, artifacts }) = (mode == "execute", &profile, handed);
        let work = ChildWork { profile, label: &label, goal, workspace, files, artifacts, checks };
        Ok(ChildRequest { request: self.asked.child(work)?, mode, label })
    }
}

/// Reads what a run says it touched.
pub(crate) fn touched(run: &Path) -> Result<Vec<holon_git::TouchedPath>, FlowError> {
    let path = run.join("touched.json");
    let bytes = fs::read(&path).map_err(HostError::io("read", &path))?;
    Ok(serde_json::from_slice(&bytes).map_err(|e| HostError::io("read", &path)(e.into()))?)
}
