//! The world as it is: steps are real runs behind walls of their own, the state is a file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use holon_core::artifact::findings::FindingsReport;
use holon_core::artifact::review::ReviewReport;
use holon_core::digest::sha256;
use holon_core::event::{EventBody, RunEvent};
use holon_core::ids::TaskId;
use holon_core::manifest::{ErrorInfo, Manifest};
use holon_core::mode::ModeCatalog;
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::store::write_atomic;
use holon_host::{Host, HostError, ModelCancel, RunContext, RunRequest, SharedBudget};

use crate::carried::{CarriedTree, content_before};
use crate::definition::{FlowDefinition, HandedFile, StepWork};
use crate::deliver;
use crate::dispatch::{DispatchCall, Dispatcher, new_task};
use crate::driver::{FinishedStepRun, FlowWorld};
use crate::error::FlowError;
use crate::fate;
use crate::folder::FlowFolder;
use crate::gate::{GateAnswer, GateQuestion, Gatekeeper};
use crate::journal::FlowJournal;
use crate::state::{FinishedStep, FlowState, FlowStepProgress};
use crate::step::{FlowRequest, StepExtras, profile};

/// The largest file that is looked at for findings.
const LARGEST: u64 = 16 << 20;

pub(crate) struct LiveFlow<'a, 's> {
    pub(crate) definition: &'a FlowDefinition,
    pub(crate) asked: &'a FlowRequest,
    pub(crate) catalog: &'a ModeCatalog,
    pub(crate) folder: &'a FlowFolder,
    /// A host whose store is the flow's own.
    pub(crate) host: Host,
    /// The way into every mode.
    pub(crate) dispatcher: Dispatcher,
    pub(crate) workspace: PathBuf,
    /// What later steps work on.
    pub(crate) carried: CarriedTree,
    pub(crate) journal: FlowJournal<'s>,
    pub(crate) gatekeeper: &'s mut dyn Gatekeeper,
    /// The money, which all steps share.
    pub(crate) budget: Option<SharedBudget>,
    pub(crate) cancel: &'a ModelCancel,
}

impl FlowWorld for LiveFlow<'_, '_> {
    fn save(&mut self, state: &FlowState) -> Result<(), FlowError> {
        self.folder.save(state)?;
        // Should the process die now, whoever marks the flow as interrupted finds how to go on in here.
        let record = self.folder.run().record()?;
        let manifest = deliver::begun(self.definition, state, &record);
        let path = self.folder.run().output().join("manifest.json");
        Ok(write_atomic(&path, manifest.to_json().as_bytes())?)
    }

    fn tell(&mut self, body: EventBody) {
        self.journal.emit(body);
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn ended_after_all(
        &mut self,
        state: &FlowState,
        step: usize,
    ) -> Result<Option<FinishedStepRun>, FlowError> {
        let FlowStepProgress::Running { run: Some(run) } = &state.steps[step].progress else {
            return Ok(None);
        };
        // Gives a run whose process died the manifest that says so.
        self.folder.steps().sweep()?;
        let over = self.folder.steps().open(run).record().is_ok_and(|record| record.finished);
        if !over {
            return Ok(None);
        }
        let manifest = self.folder.manifest(&state.steps[step].name, run, None)?;
        if matches!(manifest.status, RunStatus::Interrupted | RunStatus::Cancelled) {
            return Ok(None);
        }
        self.ran(&manifest).map(Some)
    }

    fn handed(&mut self, state: &FlowState, step: usize) -> Result<BTreeMap<String, String>, FlowError> {
        let mut digests = BTreeMap::new();
        for (label, found) in self.files_for(state, step)? {
            digests.insert(label, found.sha256);
        }
        Ok(digests)
    }

    fn run(&mut self, state: &mut FlowState, step: usize) -> Result<FinishedStepRun, FlowError> {
        let (task, attempt) = (self.task(state, step), state.steps[step].every_run().count() as u32 + 1);
        let base = self.carried.base(self.definition, state, self.folder)?;
        let before = state.steps[step].goes_on.as_ref().map(|run| self.folder.steps().open(run));
        let said = state.steps[step].messages.join("\n\n");
        let plan = match &before {
            Some(run) => self.host.plan_to_resume(run, Some(&said), false)?,
            None => self.host.plan(&self.request(state, step, &base)?)?,
        };
        let call = DispatchCall { task, attempt, ..DispatchCall::new(plan) };
        let (folder, journal) = (self.folder, &mut self.journal);
        let mut watch = |event: &RunEvent| {
            if matches!(event.body, EventBody::RunStarted { .. }) {
                let now = &mut state.steps[step];
                now.runs.push(event.run.clone());
                now.progress = FlowStepProgress::Running { run: Some(event.run.clone()) };
                // Should this fail, the worst is that a finished run is not found after a kill.
                let _ = folder.save(state);
            }
            journal.pass(event);
        };
        let budget = self.budget.clone();
        let context = RunContext { budget, ..RunContext::new(&mut watch, self.cancel) };
        let finished = self.dispatcher.dispatch(call, &self.host, context)?.finished;
        let context = &finished.manifest.metadata.context;
        // The files were checked before; this is what the agent really got.
        for (label, digest) in &state.steps[step].handed {
            let name = label.split_once('/').map_or(label.as_str(), |(_, name)| name);
            // Files of one name from several steps stand in folders of their own.
            let of_name = |path: &str| path.rsplit('/').next() == Some(name);
            let got = context.iter().any(|file| of_name(&file.path) && file.sha256 == *digest);
            if finished.manifest.status == RunStatus::Completed && !got {
                return Err(FlowError::Changed { path: label.clone() });
            }
        }
        self.ran(&finished.manifest)
    }

    fn look(&mut self, state: &FlowState, step: usize) -> Result<FinishedStep, FlowError> {
        let StepWork::Findings { of, result } = &self.definition.steps[step].work else {
            return Err(FlowError::Changed { path: self.definition.steps[step].name.clone() });
        };
        let began = Instant::now();
        let review = self.folder.artifact(state, of, "review.json")?;
        let review = review.ok_or_else(|| FlowError::Changed { path: format!("{of}/review.json") })?;
        let read: ReviewReport = serde_json::from_slice(&review.bytes)
            .map_err(|_| FlowError::Changed { path: format!("{of}/review.json") })?;
        let patch = self.folder.artifact(state, result, "diff.patch")?.map(|a| a.bytes).unwrap_or_default();
        let bases = self.bases(state, result)?;
        let run =
            state.done(result).and_then(|done| done.run.as_ref()).map(|run| self.folder.steps().open(run));
        let base = |path: &str| {
            // Only the file the patch was made for can be followed through it.
            let digest = bases.get(path)?.as_deref()?;
            let now = read_below(&self.workspace, Path::new(path)).filter(|bytes| sha256(bytes) == digest);
            now.or_else(|| content_before(run.as_ref()?, digest))
        };
        let findings = fate::track(&read, &review.sha256, &patch, &base);
        self.keep_findings(&findings, began)
    }

    fn ask(&mut self, state: &FlowState, step: usize) -> Result<GateAnswer, FlowError> {
        let files = self.files_for(state, step)?;
        let concern = state.steps[..step].iter().rev().find_map(|s| s.done()).and_then(|d| d.error.clone());
        let question = GateQuestion {
            flow: self.definition.name.clone(),
            step: self.definition.steps[step].name.clone(),
            files: files.into_iter().map(|(label, found)| (label, found.path)).collect(),
            concern: concern.map(|error| error.message),
        };
        Ok(match self.gatekeeper.ask(&question) {
            GateAnswer::Go { comment } => {
                GateAnswer::Go { comment: comment.map(|text| self.journal.redact(&text)) }
            }
            other => other,
        })
    }
}

impl LiveFlow<'_, '_> {
    /// The name of a step across retries and resumptions.
    fn task(&self, state: &FlowState, step: usize) -> TaskId {
        let name = format!("{}.{}", state.id, self.definition.steps[step].name);
        // Ids and names of steps are made of the same few characters.
        name.parse().unwrap_or_else(|_| new_task())
    }

    /// Every file earlier steps hand to a step, checked.
    fn files_for(
        &self,
        state: &FlowState,
        step: usize,
    ) -> Result<Vec<(String, crate::folder::StepArtifact)>, FlowError> {
        let StepWork::Run(work) = &self.definition.steps[step].work else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for handed @ HandedFile { step, file } in &work.context {
            match self.folder.artifact(state, step, &file.name)? {
                Some(found) => files.push((handed.label(), found)),
                None if file.optional => {}
                None => return Err(FlowError::Changed { path: handed.label() }),
            }
        }
        Ok(files)
    }

    fn request(&self, state: &FlowState, step: usize, base: &Path) -> Result<RunRequest, FlowError> {
        let StepWork::Run(work) = &self.definition.steps[step].work else {
            return Err(FlowError::Changed { path: self.definition.steps[step].name.clone() });
        };
        let now = &state.steps[step];
        let mut files: Vec<PathBuf> =
            self.files_for(state, step)?.into_iter().map(|(_, found)| found.path).collect();
        if !now.messages.is_empty() {
            files.push(self.write_message(&now.name, &now.messages)?);
        }
        let message = !now.messages.is_empty();
        let workspace = (base != self.workspace).then_some(base);
        let (money_left, round) = (state.money_left(), now.round());
        let extra = StepExtras { files: &files, message, money_left, workspace, round };
        self.asked.step(self.definition, step, &profile(self.catalog, work)?, extra)
    }

    fn write_message(&self, step: &str, messages: &[String]) -> Result<PathBuf, FlowError> {
        let folder = self.folder.own("notes").join(step);
        fs::create_dir_all(&folder).map_err(HostError::io("create", &folder))?;
        let path = folder.join("message.md");
        let text: String = messages.iter().map(|text| format!("{}\n\n", text.trim_end())).collect();
        write_atomic(&path, format!("# What a person says\n\n{}\n", text.trim_end()).as_bytes())?;
        Ok(path)
    }

    /// What a run that is over means for the flow.
    fn ran(&self, manifest: &Manifest) -> Result<FinishedStepRun, FlowError> {
        let output = self.folder.steps().open(&manifest.run_id).output();
        let path = output.join("manifest.json");
        let bytes = fs::read(&path).map_err(HostError::io("read", &path))?;
        let valid = manifest.artifacts.iter().filter(|a| a.valid);
        let artifacts: BTreeMap<String, String> =
            valid.filter_map(|a| Some((a.path.clone(), a.sha256.clone()?))).collect();
        let review = artifacts.contains_key("review.json").then(|| fs::read(output.join("review.json")));
        let review = review.and_then(|read| serde_json::from_slice::<ReviewReport>(&read.ok()?).ok());
        let done = FinishedStep {
            run: Some(manifest.run_id.clone()),
            status: manifest.status,
            outcome: manifest.outcome,
            duration_ms: manifest.duration_ms,
            manifest_sha256: Some(sha256(&bytes)),
            artifacts,
            findings: review.map(|r| r.findings.len() as u64),
            error: manifest.error.clone(),
        };
        Ok(FinishedStepRun { done, cost_usd: manifest.metadata.usage.cost_usd.unwrap_or(0.0) })
    }

    /// Digests of the files a step's patch was made for.
    fn bases(&self, state: &FlowState, step: &str) -> Result<BTreeMap<String, Option<String>>, FlowError> {
        let Some(FinishedStep { run: Some(run), manifest_sha256, .. }) = state.done(step) else {
            return Ok(BTreeMap::new());
        };
        let manifest = self.folder.manifest(step, run, manifest_sha256.as_deref())?;
        Ok(manifest.metadata.snapshot.map(|snapshot| snapshot.touched).unwrap_or_default())
    }

    fn keep_findings(&self, findings: &FindingsReport, began: Instant) -> Result<FinishedStep, FlowError> {
        let folder = self.folder.own("made");
        fs::create_dir_all(&folder).map_err(HostError::io("create", &folder))?;
        let mut text = serde_json::to_vec_pretty(findings).unwrap_or_default();
        text.push(b'\n');
        write_atomic(&folder.join("findings.json"), &text)?;
        let error = (findings.open > 0).then(|| {
            let all = findings.findings.len();
            ErrorInfo::new("findings_open", format!("{} of {all} findings are still open", findings.open))
                .with_hint("findings.json says which, and how the host can tell")
        });
        Ok(FinishedStep {
            run: None,
            status: RunStatus::Completed,
            outcome: if error.is_some() { RunOutcome::NeedsHuman } else { RunOutcome::Success },
            duration_ms: began.elapsed().as_millis() as u64,
            manifest_sha256: None,
            artifacts: BTreeMap::from([("findings.json".to_owned(), sha256(&text))]),
            findings: Some(findings.open),
            error,
        })
    }
}

/// A file of the workspace, never through a link, never waiting on anything.
fn read_below(workspace: &Path, relative: &Path) -> Option<Vec<u8>> {
    use rustix::fs::{Mode, OFlags, ResolveFlags};
    let root = fs::File::open(workspace).ok()?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = fs::File::from(rustix::fs::openat2(&root, relative, flags, Mode::empty(), resolve).ok()?);
    let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= LARGEST)?;
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
