//! What an orchestration hands over: one patch that was assessed, its reports, its manifest, and the copy for the user.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use holon_apply::ContentWriter;
use holon_core::artifact::orchestration::Orchestration;
use holon_core::digest::sha256;
use holon_core::event::EventBody;
use holon_core::manifest::{ArtifactRecord, ChangeSize, ErrorInfo, Manifest, UsageTotals};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_core::spec::RequestedArtifact;
use holon_git::objects::TreeDiff;
use holon_git::{Git, TouchedPath};
use holon_host::run::{apply, keep_entry};
use holon_host::store::{RunFolder, RunRecord, copy_last_events, copy_out, usage_so_far, write_durable};
use holon_host::{FinishedRun, HolonFolders, HostError, release};
use serde_json::json;

use super::folder::OrchestrationFolder;
use super::graph::CHECK;
use super::merge_tree::MergeTree;
use super::state::{OrchestrationEnd, OrchestrationState, TaskAttempt, TaskNode};
use super::{artifacts, child_builder, merge, merge_tasks, report, resume_hint};
use crate::audit::AuditTrail;
use crate::error::FlowError;
use crate::journal::FlowJournal;
use crate::sealed;

/// Files of tasks that the whole hands over; those of later tasks win.
const REPORTS: [&str; 4] = ["plan.md", "plan.json", "review.json", "debug.json"];

/// What is needed to end an orchestration.
pub(super) struct OrchestrationSealing<'a> {
    pub(super) record: &'a RunRecord,
    /// Where applies are recorded, if it shall be applied.
    pub(super) wants_apply: Option<&'a HolonFolders>,
    pub(super) audit: &'a AuditTrail,
    /// What the spec asks for besides.
    pub(super) wanted: &'a [RequestedArtifact],
    pub(super) failure: Option<FlowError>,
}

/// Everything that was joined so far as one patch, and what it touches.
pub(super) fn combined(
    trunk: &mut MergeTree,
    workspace: &Path,
    state: &OrchestrationState,
) -> Result<(TreeDiff, Vec<TouchedPath>), FlowError> {
    if state.merges.is_empty() {
        return Ok((TreeDiff::default(), Vec::new()));
    }
    trunk.ready(&state.merges)?;
    let git = Git::find().map_err(HostError::from)?;
    let temp = tempfile::tempdir().map_err(HostError::io("create", &std::env::temp_dir()))?;
    let format = trunk.format()?;
    let from = trunk.originals(workspace);
    let made = merge::between(&git, &from, &trunk.path(), &merge_tasks::paths(state), format, temp.path());
    Ok(made.map_err(HostError::from)?)
}

/// Keeps what the files of the whole held before and after, for whoever applies it.
pub(crate) fn keep_contents(
    trunk: &MergeTree,
    workspace: &Path,
    touched: &[TouchedPath],
    to: &Path,
) -> Result<(), FlowError> {
    let from = trunk.originals(workspace);
    let keep = || -> std::io::Result<()> {
        let mut writer = ContentWriter::create(to)?;
        for entry in touched {
            for (folder, digest) in [(&trunk.path(), &entry.result), (&from, &entry.base)] {
                if let Some(digest) = digest {
                    keep_entry(&mut writer, &folder.join(&entry.path), digest)?;
                }
            }
        }
        writer.finish(false)
    };
    Ok(keep().map_err(HostError::io("write", to))?)
}

/// Writes the manifest whatever happened before, copies the artifacts out, and ends the orchestration.
pub(super) fn seal(
    mut state: OrchestrationState,
    mut held: OrchestrationFolder,
    trunk: &mut MergeTree,
    journal: &mut FlowJournal<'_>,
    sealing: OrchestrationSealing<'_>,
) -> FinishedRun {
    let OrchestrationSealing { record, wants_apply, audit, wanted, failure } = sealing;
    let mut manifest = conclude(&state, &held, trunk, journal, (record, wanted), failure.as_ref())
        .unwrap_or_else(|e| {
            let mut manifest = report::begun(&state, record);
            manifest.error = Some(info(&e));
            manifest.conclude(RunStatus::Failed, RunOutcome::Failure);
            manifest
        });
    if let Some(error) = &mut manifest.error {
        error.message = journal.redact(&error.message);
    }
    let decision = report::decision(state.ended.as_ref());
    let overruled = state.ethics_override.as_ref().filter(|_| state.overruled);
    let detail = json!({
        "run_id": record.id, "outcome": manifest.outcome, "mode": "orchestrate", "decision": decision.name(),
        "reason": decision.reason().map(|reason| journal.redact(reason)),
        "overridden_by": overruled.map(|word| &word.person),
    });
    match audit.append("orchestrate", "orchestration_ended", detail, true) {
        Ok(head) => manifest.metadata.audit = Some(head),
        Err(e) => manifest.metadata.warnings.push(format!("not in the audit log: {e}")),
    }
    let mut written = write_manifest(held.run(), &manifest);
    let mut copied = record.out.clone();
    if let Some(out) = &record.out {
        let children = last_runs(&state, held.path());
        if let Err(e) = copy_out(held.run(), &children, out) {
            copied = None;
            let message = format!("the artifacts could not be copied to {}: {e}", out.display());
            let place = format!("they are in {}", held.run().output().display());
            manifest.error = Some(ErrorInfo::new("out", message).with_hint(place));
            manifest.conclude(manifest.status, RunOutcome::Failure);
            written = write_manifest(held.run(), &manifest);
        }
    }
    state.sealed = true;
    // Left unfinished, the next start finds it and gives it the manifest it could not get now.
    if let Err(e) = written.and_then(|()| held.save(&state)).and_then(|()| held.finish()) {
        let message = format!("the end could not be written: {e}");
        manifest.error = Some(ErrorInfo { hint: e.hint(), ..ErrorInfo::new(e.kind(), message) });
        manifest.conclude(RunStatus::Failed, RunOutcome::Failure);
    }
    let mut applied = None;
    if let Some(places) = wants_apply.filter(|_| release::applies_by_itself(held.run())) {
        let done = apply(held.run(), places);
        if let Err(e) = &done {
            journal.emit(EventBody::Warning { message: format!("the patch was not applied: {e}") });
        }
        applied = Some(done);
    }
    journal.emit(EventBody::RunFinished {
        status: manifest.status,
        outcome: manifest.outcome,
        exit_code: manifest.exit_code,
        manifest_sha256: held.run().manifest_sha256(),
    });
    if let Some(out) = &copied {
        copy_last_events(held.run(), out);
    }
    sealed::seal_and_tell(audit, "orchestrate", held.run(), &manifest);
    FinishedRun { folder: held.path().to_owned(), manifest, out: copied, applied }
}

fn info(error: &FlowError) -> ErrorInfo {
    ErrorInfo { hint: error.hint(), ..ErrorInfo::new(error.kind(), error.to_string()) }
}

fn write_manifest(run: &RunFolder, manifest: &Manifest) -> Result<(), FlowError> {
    let output = run.output();
    fs::create_dir_all(&output).map_err(HostError::io("create", &output))?;
    Ok(write_durable(&output.join("manifest.json"), manifest.to_json().as_bytes())?)
}

fn last_runs(state: &OrchestrationState, folder: &Path) -> Vec<(String, RunFolder)> {
    let plan = state.planning.last().map(|attempt| ("orchestrate".to_owned(), attempt));
    let tasks = state.every_node().flat_map(|node| {
        let many = node.attempts.len();
        let is_replaced = state.dropped.iter().any(|old| std::ptr::eq(old, node));
        let id = if is_replaced {
            format!("{}.replaced", child_builder::name(node))
        } else {
            node.task.id.clone()
        };
        node.attempts.iter().enumerate().map(move |(nth, attempt)| {
            let name = if nth + 1 == many { id.clone() } else { format!("{id}.{}", nth + 1) };
            (name, attempt)
        })
    });
    let all = plan.into_iter().chain(tasks);
    all.filter_map(|(name, attempt)| Some((name, RunFolder::open(folder.join(attempt.folder.as_ref()?)))))
        .collect()
}

/// Fills the output folder, and says what the whole is worth.
fn conclude(
    state: &OrchestrationState,
    held: &OrchestrationFolder,
    trunk: &mut MergeTree,
    journal: &FlowJournal<'_>,
    (record, wanted): (&RunRecord, &[RequestedArtifact]),
    failure: Option<&FlowError>,
) -> Result<Manifest, FlowError> {
    let mut manifest = report::begun(state, record);
    let (status, mut outcome, mut error) = verdict(state, record);
    if let Some(failure) = failure {
        (outcome, error) = (RunOutcome::Failure, Some(info(failure)));
    }
    held.run().clear_output()?;
    // Never without one, whenever the process dies.
    write_manifest(held.run(), &manifest)?;
    let mut rows = OutputRows { output: held.run().output().to_owned(), rows: Vec::new() };
    let mut delivered = BTreeMap::new();
    let patch = match failure {
        None => combined(trunk, &record.workspace, state),
        Some(_) => Ok((TreeDiff::default(), Vec::new())),
    };
    let words = rows.reports(state, held, wanted)?;
    if outcome == RunOutcome::Success {
        // What is made below is there by then; what is missing must be known before anything goes out.
        let later = ["diff.patch", "orchestration.json", "summary.md"];
        let early: Vec<RequestedArtifact> =
            wanted.iter().filter(|artifact| !later.contains(&artifact.path.as_str())).cloned().collect();
        let output = rows.output.clone();
        if let Some(missing) =
            artifacts::judge(&early, &mut rows.rows, |name| fs::read(output.join(name)).ok())
        {
            (outcome, error) = (RunOutcome::Failure, Some(missing));
        }
    }
    match patch {
        Ok((diff, touched)) => {
            manifest.no_changes = diff.patch.is_empty();
            let part = matches!(state.ended, Some(OrchestrationEnd::Partial { .. }))
                && outcome == RunOutcome::NeedsHuman;
            if part || (state.ended == Some(OrchestrationEnd::Complete) && outcome == RunOutcome::Success) {
                manifest.metadata.changes = ChangeSize {
                    files: diff.files,
                    insertions: diff.insertions,
                    deletions: diff.deletions,
                    ignored: 0,
                };
                delivered = touched.iter().map(base_of).collect();
                let list = serde_json::to_vec_pretty(&touched).unwrap_or_default();
                write_durable(&held.own("touched.json"), &list)?;
                keep_contents(trunk, &record.workspace, &touched, &held.run().contents())?;
                if !state.merges.is_empty() {
                    rows.put("diff.patch", &diff.patch, true)?;
                }
            } else if !diff.patch.is_empty() {
                // What must not go out is still there to be looked at.
                write_durable(
                    &held.run().evidence().join("withheld.patch"),
                    &journal.redact_bytes(&diff.patch),
                )?;
            }
        }
        Err(e) => {
            outcome = RunOutcome::Failure;
            error = error.or_else(|| Some(info(&e)));
        }
    }
    point_to_withheld(state, held.run(), &mut error);
    manifest.metadata.usage = usage(state, held.path());
    describe(&mut manifest, state, held.path());
    if let Some(snapshot) = &mut manifest.metadata.snapshot {
        snapshot.touched = delivered;
    }
    manifest.metadata.overrides = release::overrides(held.run())?;
    let overrides = manifest.metadata.overrides.clone();
    let document = Orchestration { overrides, ..report::orchestration(state) };
    let mut document = serde_json::to_vec_pretty(&document).unwrap_or_default();
    document.push(b'\n');
    rows.put("orchestration.json", &journal.redact_bytes(&document), true)?;
    let summary = journal.redact(&report::summary(state, outcome, &words));
    rows.put("summary.md", summary.as_bytes(), true)?;
    manifest.artifacts = rows.rows;
    manifest.duration_ms = state.elapsed_ms;
    manifest.error = error;
    manifest.conclude(status, outcome);
    Ok(manifest)
}

/// The manifest of an orchestration as its state and its children's manifests make it, but for its files and its patch:
/// what `verify` compares with.
pub(crate) fn manifest_again(state: &OrchestrationState, run: &RunFolder) -> Result<Manifest, FlowError> {
    let record = run.record()?;
    let mut manifest = report::begun(state, &record);
    let (status, outcome, mut error) = verdict(state, &record);
    point_to_withheld(state, run, &mut error);
    manifest.metadata.usage = usage(state, run.path());
    describe(&mut manifest, state, run.path());
    manifest.duration_ms = state.elapsed_ms;
    manifest.error = error;
    manifest.conclude(status, outcome);
    Ok(manifest)
}

/// A touched path as manifests tell it, and the digest of what was there before.
fn base_of(touched: &TouchedPath) -> (String, Option<String>) {
    (touched.path.to_string_lossy().into_owned(), touched.base.as_ref().map(|base| base.sha256.clone()))
}

/// Tells where the change is that a person has to look at.
fn point_to_withheld(state: &OrchestrationState, run: &RunFolder, error: &mut Option<ErrorInfo>) {
    let (
        Some(OrchestrationEnd::Escalated { task, .. } | OrchestrationEnd::EthicsBlocked { task, .. }),
        Some(error),
    ) = (&state.ended, error)
    else {
        return;
    };
    if let (Some(path), Some(hint)) = (withheld(state, run, task), &error.hint) {
        error.hint = Some(format!("look at {}; {hint}", path.display()));
    }
}

/// What was kept back: the whole, or what the task that asks for a person made.
fn withheld(state: &OrchestrationState, run: &RunFolder, task: &str) -> Option<std::path::PathBuf> {
    let of_task = state.node(task).and_then(|node| node.attempts.last()?.folder.as_ref());
    let of_task = of_task.map(|folder| RunFolder::open(run.path().join(folder)).evidence());
    let places = [Some(run.evidence()), of_task].into_iter().flatten();
    places.map(|evidence| evidence.join("withheld.patch")).find(|path| path.exists())
}

/// Status, outcome and the reason, from how it ended.
fn verdict(state: &OrchestrationState, record: &RunRecord) -> (RunStatus, RunOutcome, Option<ErrorInfo>) {
    let resume = resume_hint(record);
    let Some(ended) = &state.ended else {
        let error = ErrorInfo::new("interrupted", "it was ended before it was over").with_hint(resume);
        return (RunStatus::Failed, RunOutcome::Failure, Some(error));
    };
    let error = |kind: &str, hint: String| Some(ErrorInfo::new(kind, report::told(ended)).with_hint(hint));
    match ended {
        OrchestrationEnd::Complete => (RunStatus::Completed, RunOutcome::Success, None),
        OrchestrationEnd::Partial { .. } => {
            let hint = format!(
                "take what is done with `holon runs apply {}`, or go on with the rest: {resume} --message \"…\"",
                record.id
            );
            (RunStatus::Completed, RunOutcome::NeedsHuman, error("partial", hint))
        }
        OrchestrationEnd::Failed { task, kind, .. } => {
            let runs = state.node(task).map_or(&state.planning, |node| &node.attempts);
            let last = runs.last().and_then(|attempt| attempt.end.as_ref());
            let status = last.map_or(RunStatus::Failed, |end| end.status);
            (status, RunOutcome::Failure, error(kind, format!("mend the cause, then: {resume}")))
        }
        OrchestrationEnd::Escalated { .. } => {
            let hint = format!("go on with: {resume} --message \"…\"");
            (RunStatus::Completed, RunOutcome::NeedsHuman, error("escalated", hint))
        }
        OrchestrationEnd::EthicsBlocked { .. } => {
            let hint = format!("to let it out all the same: {resume} --override-ethics \"REASON\"");
            (RunStatus::Completed, RunOutcome::NeedsHuman, error("ethics_blocked", hint))
        }
        OrchestrationEnd::OutOfMoney => (
            RunStatus::Failed,
            RunOutcome::Failure,
            error("max_cost", format!("go on with: {resume} --max-cost USD")),
        ),
        OrchestrationEnd::OutOfTime => (
            RunStatus::Timeout,
            RunOutcome::Failure,
            error("timeout", format!("go on with: {resume} --timeout TIME")),
        ),
        OrchestrationEnd::TooManyChildren => {
            (RunStatus::Failed, RunOutcome::Failure, error("children", "give a smaller goal".into()))
        }
        OrchestrationEnd::Cancelled => {
            (RunStatus::Cancelled, RunOutcome::Failure, error("cancelled", format!("go on with: {resume}")))
        }
    }
}

/// The output folder as it fills.
struct OutputRows {
    output: std::path::PathBuf,
    rows: Vec<ArtifactRecord>,
}

impl OutputRows {
    fn put(&mut self, name: &str, bytes: &[u8], required: bool) -> Result<(), FlowError> {
        let path = self.output.join(name);
        let folder = path.parent().unwrap_or(&self.output);
        fs::create_dir_all(folder).map_err(HostError::io("create", folder))?;
        write_durable(&path, bytes)?;
        self.rows.retain(|row| row.path != name);
        self.rows.push(ArtifactRecord {
            path: name.into(),
            sha256: Some(sha256(bytes)),
            bytes: bytes.len() as u64,
            required,
            valid: true,
            problems: Vec::new(),
        });
        Ok(())
    }

    /// The reports of the tasks, and what they say in words.
    fn reports(
        &mut self,
        state: &OrchestrationState,
        held: &OrchestrationFolder,
        wanted: &[RequestedArtifact],
    ) -> Result<Vec<(String, String)>, FlowError> {
        let mut words = Vec::new();
        let asked_for = artifacts::for_a_task(wanted);
        for node in &state.nodes {
            let Some(attempt) = TaskNode::result(node) else { continue };
            for name in REPORTS.into_iter().chain(asked_for.iter().map(|artifact| artifact.path.as_str())) {
                if let Some(bytes) = child_builder::artifact(attempt, name, held.path())? {
                    self.put(name, &bytes, false)?;
                }
            }
            if let Some(bytes) = child_builder::artifact(attempt, "summary.md", held.path())? {
                words.push((node.task.id.clone(), String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        for name in ["ethics.json", "ethics.md"] {
            if let Ok(bytes) = fs::read(held.own("made").join(name)) {
                self.put(name, &bytes, false)?;
            }
        }
        Ok(words)
    }
}

fn manifests<'a>(
    state: &'a OrchestrationState,
    folder: &'a Path,
) -> impl Iterator<Item = (&'a TaskAttempt, Manifest)> {
    state.every_attempt().filter_map(move |attempt| {
        let at = folder.join(attempt.folder.as_ref()?);
        Some((attempt, RunFolder::open(at).manifest()?))
    })
}

/// Tokens and money of all children together.
fn usage(state: &OrchestrationState, folder: &Path) -> UsageTotals {
    let mut usage = UsageTotals::default();
    for at in state.every_attempt().filter_map(|attempt| attempt.folder.as_ref()) {
        let spent = usage_so_far(&folder.join(at));
        usage.input += spent.input;
        usage.cached += spent.cached;
        usage.output += spent.output;
        usage.reasoning += spent.reasoning;
        if let Some(cost) = spent.cost_usd {
            usage.cost_usd = Some(usage.cost_usd.unwrap_or(0.0) + cost);
        }
    }
    // A sum of fractions has crumbs that are not read as they were written.
    usage.cost_usd = usage.cost_usd.map(|cost| (cost * 1e9).round() / 1e9);
    usage
}

/// Takes over what the children's manifests say about the walls, and anything that did not hold.
fn describe(manifest: &mut Manifest, state: &OrchestrationState, folder: &Path) {
    for (attempt, child) in manifests(state, folder) {
        manifest.breaches.extend(child.breaches);
        manifest.metadata.sandbox = child.metadata.sandbox;
        manifest.metadata.adapter = child.metadata.adapter;
        manifest.metadata.model = child.metadata.model.or(manifest.metadata.model.take());
        if attempt.mode == CHECK {
            // The last one is about everything.
            manifest.metadata.verification = child.metadata.verification;
            continue;
        }
        if attempt.mode == "execute" {
            manifest.metadata.snapshot = child.metadata.snapshot;
        }
    }
}
