//! What a flow hands over: the artifacts of its steps, its own manifest, and the copy for the user.

use std::fs;

use holon_core::artifact::findings::FindingsReport;
use holon_core::digest::sha256;
use holon_core::ids::RunId;
use holon_core::manifest::{
    ArtifactRecord, ChangeSize, ErrorInfo, FlowGate, FlowInfo, FlowStep, Manifest, PhaseTiming, StepProgress,
    UsageTotals,
};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::HostError;
use holon_host::store::{RunFolder, RunRecord, RunStore, write_durable};

use crate::definition::{FlowDefinition, StepWork};
use crate::error::FlowError;
use crate::folder::{FlowFolder, resume_command};
use crate::state::{FinishedStep, FlowEnd, FlowState, FlowStepProgress, StepGate};
use crate::summary;

/// A manifest for the case that the process dies: failed until proven otherwise, and how to go on.
pub(crate) fn begun(definition: &FlowDefinition, state: &FlowState, record: &RunRecord) -> Manifest {
    let mut manifest = Manifest::begun(record.id.clone(), definition.name.clone(), record.started_at.clone());
    manifest.metadata.mode.clone_from(&definition.name);
    manifest.metadata.agent.name.clone_from(&record.agent);
    manifest.metadata.usage.cost_usd = (state.spent_usd > 0.0).then_some(state.spent_usd);
    manifest.metadata.flow = Some(info(definition, state, record));
    manifest
}

/// The steps as the manifest tells them.
fn info(definition: &FlowDefinition, state: &FlowState, record: &RunRecord) -> FlowInfo {
    let steps = definition.steps.iter().zip(&state.steps).map(|(step, now)| {
        let done = now.done();
        let progress = match &now.progress {
            FlowStepProgress::Waiting => StepProgress::Waiting,
            FlowStepProgress::Running { .. } => StepProgress::Running,
            FlowStepProgress::Done(_) => StepProgress::Done,
            FlowStepProgress::Skipped { .. } => StepProgress::Skipped,
        };
        FlowStep {
            name: step.name.clone(),
            mode: match &step.work {
                StepWork::Run(run) => Some(run.mode.clone()),
                StepWork::Findings { .. } => None,
            },
            state: progress,
            run_id: done.and_then(|d| d.run.clone()).or_else(|| now.runs.last().cloned()),
            attempts: now.runs.len() as u32,
            status: done.map(|d| d.status),
            outcome: done.map(|d| d.outcome),
            duration_ms: done.map_or(0, |d| d.duration_ms),
            context: now.handed.clone(),
            gate: match &now.gate {
                StepGate::Decided(gate) => Some(FlowGate::clone(gate)),
                StepGate::Ahead | StepGate::Reached { .. } => None,
            },
            skipped: match &now.progress {
                FlowStepProgress::Skipped { why } => Some(why.clone()),
                _ => None,
            },
        }
    });
    let over = state.ended == Some(FlowEnd::Complete);
    FlowInfo {
        steps: steps.collect(),
        resume: (!over).then(|| resume_command(&record.id, &record.workspace)),
    }
}

/// Fills the output folder from the steps that are done, and says what the whole is worth.
pub(crate) fn conclude(
    definition: &FlowDefinition,
    state: &FlowState,
    folder: &FlowFolder,
    failure: Option<&FlowError>,
) -> Result<Manifest, FlowError> {
    let record = folder.run().record()?;
    let mut manifest = begun(definition, state, &record);
    let (mut status, mut outcome, mut error) = verdict(state, &record);
    folder.run().clear_output()?;
    // Never without one, whenever the process dies.
    write_durable(&folder.run().output().join("manifest.json"), manifest.to_json().as_bytes())?;
    let mut gathered = GatheredOutputs::default();
    describe(&mut manifest, definition, state, |step, run, seen| folder.manifest(step, run, seen).ok());
    let collected = failure
        .map_or(Ok(()), |_| Err(None))
        .and_then(|()| gather(definition, state, folder, &mut gathered).map_err(Some));
    if let Err(found) = &collected
        && let Some(problem) = found.as_ref().or(failure)
    {
        (status, outcome) = (RunStatus::Failed, RunOutcome::Failure);
        let info = ErrorInfo { hint: problem.hint(), ..ErrorInfo::new(problem.kind(), problem.to_string()) };
        error = Some(info);
    }
    gathered.add_summary(definition, state, folder)?;
    let missing = gathered.rows.iter().find(|row| row.required && !row.valid);
    if let Some(row) = missing.filter(|_| outcome == RunOutcome::Success) {
        outcome = RunOutcome::Failure;
        error =
            Some(ErrorInfo::new("artifact_missing", format!("required artifact {} is missing", row.path)));
    }
    manifest.metadata.overrides = holon_host::release::overrides(folder.run())?;
    manifest.artifacts = gathered.rows;
    manifest.duration_ms = state.elapsed_ms;
    manifest.error = error;
    manifest.conclude(status, outcome);
    Ok(manifest)
}

/// Status, outcome and the reason, from how the flow ended.
fn verdict(state: &FlowState, record: &RunRecord) -> (RunStatus, RunOutcome, Option<ErrorInfo>) {
    let resume = resume_command(&record.id, &record.workspace);
    let Some(ended) = &state.ended else {
        let error = ErrorInfo::new("interrupted", "the flow was ended before it was over").with_hint(resume);
        return (RunStatus::Failed, RunOutcome::Failure, Some(error));
    };
    let of = |step: &str| state.done(step).and_then(|done| done.error.clone());
    let told = |kind: &str, step: &str| match of(step) {
        Some(error) => ErrorInfo { message: format!("{step}: {}", error.message), ..error },
        None => ErrorInfo::new(kind, ended.to_string()),
    };
    match ended {
        FlowEnd::Complete => {
            let worst = state.worst();
            let step =
                state.steps.iter().find(|s| !s.accepted && s.done().is_some_and(|d| d.outcome == worst));
            let error = step.filter(|_| worst != RunOutcome::Success).map(|s| told("step", &s.name));
            (RunStatus::Completed, worst, error)
        }
        FlowEnd::Stopped { .. } => {
            let error =
                ErrorInfo::new("gate", ended.to_string()).with_hint(format!("look at it, then: {resume}"));
            (RunStatus::Completed, RunOutcome::NeedsHuman, Some(error))
        }
        FlowEnd::NeedsHuman { step } => {
            (RunStatus::Completed, RunOutcome::NeedsHuman, Some(told("needs_human", step)))
        }
        FlowEnd::Failed { step, error } => {
            let status = state.done(step).map_or(RunStatus::Failed, |done| done.status);
            let error = error.clone().unwrap_or_else(|| told("step", step));
            (status, RunOutcome::Failure, Some(error))
        }
        FlowEnd::OutOfMoney { .. } => {
            let error = ErrorInfo::new("max_cost", ended.to_string())
                .with_hint("start it anew with a higher --max-cost, or leave it out");
            (RunStatus::Failed, RunOutcome::Failure, Some(error))
        }
        FlowEnd::Cancelled => {
            let error =
                ErrorInfo::new("cancelled", ended.to_string()).with_hint(format!("go on with: {resume}"));
            (RunStatus::Cancelled, RunOutcome::Failure, Some(error))
        }
    }
}

/// What the steps hand over.
#[derive(Default)]
struct GatheredOutputs {
    rows: Vec<ArtifactRecord>,
    findings: Option<FindingsReport>,
    /// The last summary an agent wrote, with its step.
    words: Option<(String, String)>,
}

impl GatheredOutputs {
    /// Later steps win.
    fn put(&mut self, row: ArtifactRecord) {
        self.rows.retain(|known| known.path != row.path);
        self.rows.push(row);
    }

    fn add_summary(
        &mut self,
        definition: &FlowDefinition,
        state: &FlowState,
        folder: &FlowFolder,
    ) -> Result<(), FlowError> {
        let words = self.words.as_ref().map(|(step, text)| (step.as_str(), text.as_str()));
        let text = summary::text(definition, state, self.findings.as_ref(), words);
        write_durable(&folder.run().output().join("summary.md"), text.as_bytes())?;
        self.put(ArtifactRecord {
            path: "summary.md".into(),
            sha256: Some(sha256(text.as_bytes())),
            bytes: text.len() as u64,
            required: true,
            valid: true,
            problems: Vec::new(),
        });
        Ok(())
    }
}

fn gather(
    definition: &FlowDefinition,
    state: &FlowState,
    folder: &FlowFolder,
    gathered: &mut GatheredOutputs,
) -> Result<(), FlowError> {
    for (step, now) in definition.steps.iter().zip(&state.steps) {
        let Some(done) = now.done() else { continue };
        let child = match &done.run {
            Some(run) => Some(folder.manifest(&step.name, run, done.manifest_sha256.as_deref())?),
            None => None,
        };
        let mut names: Vec<(String, bool)> =
            step.deliver.iter().map(|file| (file.name.clone(), !file.optional)).collect();
        if let Some(child) = &child {
            let more = child.artifacts.iter().filter(|row| row.required).map(|row| (row.path.clone(), true));
            names.extend(more.filter(|(name, _)| !step.deliver.iter().any(|file| file.name == *name)));
        }
        for (name, required) in names {
            deliver(state, folder, gathered, &step.name, &name, required, child.as_ref())?;
        }
    }
    Ok(())
}

/// The manifest of a flow as its state and its steps' manifests make it, but for its files: what `verify` compares with.
pub(crate) fn again(
    definition: &FlowDefinition,
    state: &FlowState,
    run: &RunFolder,
    steps: &RunStore,
) -> Result<Manifest, FlowError> {
    let record = run.record()?;
    let mut manifest = begun(definition, state, &record);
    describe(&mut manifest, definition, state, |_, run, _| steps.open(run).manifest());
    let (status, outcome, error) = verdict(state, &record);
    manifest.duration_ms = state.elapsed_ms;
    manifest.error = error;
    manifest.conclude(status, outcome);
    Ok(manifest)
}

fn deliver(
    state: &FlowState,
    folder: &FlowFolder,
    gathered: &mut GatheredOutputs,
    step: &str,
    name: &str,
    required: bool,
    child: Option<&Manifest>,
) -> Result<(), FlowError> {
    let output = folder.run().output();
    let Some(found) = folder.artifact(state, step, name)? else {
        if required {
            // What the step left is not here, whatever was wrong with it.
            let row = child.and_then(|m| m.artifacts.iter().find(|row| row.path == name).cloned());
            let row = row.map(|row| ArtifactRecord { sha256: None, bytes: 0, valid: false, ..row });
            let row = row.filter(|row| !row.problems.is_empty());
            let problems = vec![format!("{step} did not deliver it")];
            let none = ArtifactRecord {
                path: name.into(),
                sha256: None,
                bytes: 0,
                required,
                valid: false,
                problems,
            };
            gathered.put(row.unwrap_or(none));
        }
        return Ok(());
    };
    match name {
        // The flow writes one of its own, with these words in it.
        "summary.md" => {
            gathered.words = Some((step.to_owned(), String::from_utf8_lossy(&found.bytes).into_owned()));
            return Ok(());
        }
        "findings.json" => gathered.findings = serde_json::from_slice(&found.bytes).ok(),
        "diff.patch" => {
            let run = state.done(step).and_then(|done| done.run.clone());
            if let Some(run) = run {
                // What `apply` needs to know about the files.
                let from = folder.steps().open(&run).path().join("touched.json");
                let touched = fs::read(&from).map_err(HostError::io("read", &from))?;
                write_durable(&folder.own("touched.json"), &touched)?;
                let (from, to) = (folder.steps().open(&run).contents(), folder.run().contents());
                if from.exists() {
                    fs::copy(&from, &to).map_err(HostError::io("copy", &from))?;
                }
            }
        }
        _ => {}
    }
    let target = output.join(name);
    let parent = target.parent().unwrap_or(&output);
    fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
    write_durable(&target, &found.bytes)?;
    gathered.put(ArtifactRecord {
        path: name.into(),
        sha256: Some(found.sha256),
        bytes: found.bytes.len() as u64,
        required,
        valid: true,
        problems: Vec::new(),
    });
    Ok(())
}

/// Takes over what the steps' manifests say. The change is that of the step whose patch is handed over, which need not be
/// the last one.
fn describe(
    manifest: &mut Manifest,
    definition: &FlowDefinition,
    state: &FlowState,
    mut manifest_of: impl FnMut(&str, &RunId, Option<&str>) -> Option<Manifest>,
) {
    let (mut usage, mut change) = (UsageTotals::default(), None);
    manifest.no_changes = true;
    for (step, now) in definition.steps.iter().zip(&state.steps) {
        let Some(FinishedStep { run: Some(run), manifest_sha256, .. }) = now.done() else { continue };
        let Some(child) = manifest_of(&step.name, run, manifest_sha256.as_deref()) else { continue };
        if child.artifacts.iter().any(|row| row.path == "diff.patch" && row.valid) {
            let meta = &child.metadata;
            change = Some((meta.changes.clone(), meta.snapshot.clone(), meta.verification.clone()));
        }
        manifest.no_changes &= child.no_changes;
        take_over(manifest, &step.name, child, &mut usage);
    }
    let mine = &mut manifest.metadata;
    mine.usage = usage;
    match change {
        Some((changes, snapshot, verification)) => {
            (mine.changes, mine.snapshot, mine.verification) = (changes, snapshot, verification);
        }
        None => mine.changes = ChangeSize { ignored: mine.changes.ignored, ..ChangeSize::default() },
    }
}

/// Takes over what one step's manifest says.
fn take_over(manifest: &mut Manifest, step: &str, child: Manifest, usage: &mut UsageTotals) {
    for (phase, timing) in &child.phases {
        let sum = manifest.phases.entry(*phase).or_insert(PhaseTiming { duration_ms: 0, ok: true });
        sum.duration_ms += timing.duration_ms;
        sum.ok &= timing.ok;
    }
    let spent = &child.metadata.usage;
    usage.input += spent.input;
    usage.cached += spent.cached;
    usage.output += spent.output;
    usage.reasoning += spent.reasoning;
    if let Some(cost) = spent.cost_usd {
        usage.cost_usd = Some(usage.cost_usd.unwrap_or(0.0) + cost);
    }
    let mine = &mut manifest.metadata;
    let warnings = child.metadata.warnings.iter().map(|w| format!("{step}: {w}"));
    let warnings: Vec<String> = mine.warnings.drain(..).chain(warnings).collect();
    let mut accepted = std::mem::take(&mut mine.accepted);
    accepted.extend(
        child.metadata.accepted.iter().filter(|a| !accepted.contains(a)).cloned().collect::<Vec<_>>(),
    );
    let (mode, flow) = (std::mem::take(&mut mine.mode), mine.flow.take());
    manifest.metadata = child.metadata;
    let mine = &mut manifest.metadata;
    (mine.mode, mine.flow, mine.warnings, mine.accepted) = (mode, flow, warnings, accepted);
    mine.prompts_sha256 = None;
    // Those of the step; the flow's own come from its folder.
    (mine.part_of, mine.overrides) = (None, Vec::new());
    manifest.breaches.extend(child.breaches);
}

/// The runs of a flow's finished steps, by the names of the steps.
pub(crate) fn step_runs(state: &FlowState, folder: &FlowFolder) -> Vec<(String, RunFolder)> {
    let done = state.steps.iter().filter_map(|step| Some((step, step.done()?.run.as_ref()?)));
    done.map(|(step, run)| (step.name.clone(), folder.steps().open(run))).collect()
}
