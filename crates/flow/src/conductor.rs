//! Starts a flow or goes on with one, and brings it to its end: a manifest, artifacts, an exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use holon_core::event::{EventBody, EventSink};
use holon_core::ids::RunId;
use holon_core::manifest::{AuditHead, DecidedBy, ErrorInfo, Manifest};
use holon_core::mode::ModeCatalog;
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_core::redact::Redactor;
use holon_host::record::now;
use holon_host::run::{AppliedRun, apply};
use holon_host::store::{RunFolder, RunRecord, RunStore, copy_last_events, copy_out, write_durable};
use holon_host::{
    FinishedRun, HolonFolders, Host, HostError, ModelCancel, RunPlan, RunRequest, SharedBudget, modes,
    release,
};

use crate::audit::AuditTrail;
use crate::carried::CarriedTree;
use crate::definition::{FlowDefinition, StepWork};
use crate::deliver;
use crate::dispatch::Dispatcher;
use crate::driver::drive;
use crate::error::FlowError;
use crate::folder::{FlowFolder, load, steps_state};
use crate::gate::{GateMode, Gatekeeper};
use crate::journal::FlowJournal;
use crate::live::LiveFlow;
use crate::raised::RaisedLimits;
use crate::sealed;
use crate::state::{FlowState, FlowStepProgress, StepGate};
use crate::step::{FlowRequest, StepExtras, profile};

/// Makes a host whose state is where the given places say.
pub type MakeHost<'a> = dyn Fn(HolonFolders) -> Host + Sync + 'a;

/// Carries flows out.
pub struct Conductor<'a> {
    /// Where state, cache and configuration live.
    pub places: HolonFolders,
    /// Makes the hosts: the steps of a flow are kept inside it, so their host has a state folder of its own.
    pub host: &'a MakeHost<'a>,
}

/// How a flow is to be carried out this time.
pub struct FlowOrder<'a> {
    /// What was asked for, with paths relative to `base`.
    pub request: RunRequest,
    /// The folder the command was given in.
    pub base: PathBuf,
    /// Limits that take the place of those it was started with, when it is gone on with.
    pub raised: RaisedLimits,
    /// How gates are decided.
    pub gates: GateMode,
    /// Who is asked.
    pub gatekeeper: &'a mut dyn Gatekeeper,
    /// Receives the events of the flow and of its steps' runs.
    pub sink: &'a mut dyn EventSink,
    /// Ends it.
    pub cancel: &'a ModelCancel,
}

impl Conductor<'_> {
    /// Works out what each run of a flow means, without starting anything: its name and its plan.
    pub fn plan(
        &self,
        definition: &FlowDefinition,
        request: RunRequest,
        base: &Path,
    ) -> Result<Vec<(String, RunPlan)>, FlowError> {
        self.plan_steps(definition, &FlowRequest::new(request, base)?.without_secrets(&self.redactor()))
    }

    /// Starts a flow; an error means that nothing was started. `asked` is kept and comes back with [`load`], so that the
    /// caller can make the same request when the flow is resumed.
    pub fn start(
        &self,
        definition: &FlowDefinition,
        asked: serde_json::Value,
        order: FlowOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        let (request, base) = (order.request.clone(), order.base.clone());
        let redactor = self.redactor();
        let wanted = FlowRequest::new(request, &base)?.without_secrets(&redactor);
        let plans = self.plan_steps(definition, &wanted)?;
        let Some((_, plan)) = plans.first() else {
            return Err(FlowError::Definition { file: definition.name.clone(), message: "no run".into() });
        };
        let store = RunStore::of(&self.places, &plan.workspace);
        store.sweep()?;
        let record = RunRecord {
            id: new_id(),
            workspace: plan.workspace.clone(),
            mode: definition.name.clone(),
            goal: wanted.goal(),
            agent: plan.agent.name.clone(),
            started_at: now(),
            out: plan.out.clone(),
            finished: false,
            applied_at: None,
        };
        let mut state = FlowState::new(record.id.clone(), definition, asked);
        state.spec_sha256 = wanted.spec_sha256();
        state.max_cost_usd = wanted.max_cost_usd();
        let folder = FlowFolder::create(&self.places, store.folder(), &record, redactor)?;
        self.conduct(definition, state, folder, &wanted, order)
    }

    /// Goes on with a flow that was stopped, cancelled or interrupted; no finished step is run again.
    pub fn resume(
        &self,
        folder: RunFolder,
        message: Option<String>,
        order: FlowOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        let before = load(&folder)?.ok_or_else(|| not_a_flow(&folder))?;
        let definition = before.definition()?.ok_or_else(|| {
            FlowError::resume(
                format!("there is no flow `{}`", before.flow),
                "start it anew with this version",
            )
        })?;
        let redactor = self.redactor();
        let mut asked = order.request.clone();
        asked.timeout = order.raised.timeout.or(asked.timeout);
        asked.max_rounds = order.raised.rounds.or(asked.max_rounds);
        let wanted = FlowRequest::new(asked, &order.base)?.without_secrets(&redactor);
        if wanted.spec_sha256() != before.spec_sha256 {
            return Err(FlowError::resume(
                "the spec is not the one the flow was started with",
                "put it back as it was, or start the flow anew",
            ));
        }
        let mut state = before.resumed(&definition, message.map(|text| redactor.redact_str(&text)))?;
        if let Some(money) = order.raised.money(state.spent_usd, None)? {
            state.max_cost_usd = Some(money);
        }
        let folder = FlowFolder::reopen(&self.places, folder, redactor)?;
        self.conduct(&definition, state, folder, &wanted, order)
    }

    fn plan_steps(
        &self,
        definition: &FlowDefinition,
        asked: &FlowRequest,
    ) -> Result<Vec<(String, RunPlan)>, FlowError> {
        let host = (self.host)(self.places.clone());
        let catalog = self.catalog(asked)?;
        let mut plans = Vec::new();
        for (place, step) in definition.steps.iter().enumerate() {
            let StepWork::Run(work) = &step.work else { continue };
            let money_left = asked.max_cost_usd();
            let extra = StepExtras { files: &[], message: false, money_left, workspace: None, round: 1 };
            let request = asked.step(definition, place, &profile(&catalog, work)?, extra)?;
            let plan = host.plan(&request)?;
            asked.refuse_without_effect(&plan)?;
            plans.push((step.name.clone(), plan));
        }
        Ok(plans)
    }

    /// Takes out what must not be written, as the runs of the steps do.
    fn redactor(&self) -> Redactor {
        let secrets = (self.host)(self.places.clone()).secrets;
        Redactor::new(secrets.iter().map(|(name, value)| (name, value)))
    }

    fn catalog(&self, asked: &FlowRequest) -> Result<ModeCatalog, FlowError> {
        Ok(modes::catalog(&self.places, asked.request.workspace.as_deref())?)
    }

    fn conduct(
        &self,
        definition: &FlowDefinition,
        mut state: FlowState,
        folder: FlowFolder,
        asked: &FlowRequest,
        order: FlowOrder<'_>,
    ) -> Result<FinishedRun, FlowError> {
        let began = Instant::now();
        let FlowOrder { gates, gatekeeper, sink, cancel, .. } = order;
        let record = folder.run().record()?;
        let catalog = self.catalog(asked)?;
        let host =
            (self.host)(HolonFolders { state: steps_state(folder.run().path()), ..self.places.clone() });
        let events = folder.run().evidence().join("events.jsonl");
        let mut journal = FlowJournal::open(record.id.clone(), &events, &host.secrets, sink)?;
        journal.emit(EventBody::RunStarted {
            mode: definition.name.clone(),
            goal: record.goal.clone(),
            agent: record.agent.clone(),
        });
        for message in asked.warnings.clone() {
            journal.emit(EventBody::Warning { message });
        }
        if let Some(body) = opened_by_resuming(&state) {
            journal.emit(body);
        }
        let dispatcher = Dispatcher::new(self.places.clone());
        dispatcher.begin_whole(&host, None);
        let limit = state.max_cost_usd;
        let budget = limit.map(|all| SharedBudget::new(all, state.spent_usd).asked_for(limit));
        let mut live = LiveFlow {
            definition,
            asked,
            catalog: &catalog,
            folder: &folder,
            budget,
            host,
            dispatcher: dispatcher.clone(),
            workspace: record.workspace.clone(),
            carried: CarriedTree::new(&record, &folder),
            journal,
            gatekeeper,
            cancel,
        };
        let failure = drive(definition, &mut state, gates, &mut live).err();
        let LiveFlow { journal, mut carried, .. } = live;
        state.elapsed_ms += began.elapsed().as_millis() as u64;
        let audit_head = AuditTrail::of(&self.places.state).written_down();
        let apply = asked.request.apply.then_some(&self.places);
        let finished =
            seal(definition, state, folder, &mut carried, &record, apply, journal, failure, audit_head);
        carried.remove();
        let over = RunFolder::open(finished.folder.clone());
        sealed::seal_and_tell(dispatcher.audit(), "flow", &over, &finished.manifest);
        dispatcher.end_whole(&finished, None);
        Ok(finished)
    }
}

/// The decision that resuming was, if a step waits behind a gate it opened.
fn opened_by_resuming(state: &FlowState) -> Option<EventBody> {
    state
        .steps
        .iter()
        .filter(|step| step.progress == FlowStepProgress::Waiting && step.runs.is_empty())
        .find_map(|step| {
            let StepGate::Decided(gate) = &step.gate else { return None };
            (gate.by == DecidedBy::Resume).then(|| EventBody::GateDecided {
                step: step.name.clone(),
                decision: gate.decision,
                by: gate.by,
                comment: gate.comment.clone(),
            })
        })
}

/// Writes the manifest whatever happened before, copies the artifacts out, and ends the flow.
#[allow(clippy::too_many_arguments)]
fn seal(
    definition: &FlowDefinition,
    mut state: FlowState,
    mut folder: FlowFolder,
    carried: &mut CarriedTree,
    record: &RunRecord,
    wants_apply: Option<&HolonFolders>,
    mut journal: FlowJournal<'_>,
    failure: Option<FlowError>,
    audit_head: Option<AuditHead>,
) -> FinishedRun {
    let mut manifest = deliver::conclude(definition, &state, &folder, carried, failure.as_ref())
        .unwrap_or_else(|e| {
            let mut manifest = deliver::begun(definition, &state, record);
            manifest.error = Some(ErrorInfo { hint: e.hint(), ..ErrorInfo::new(e.kind(), e.to_string()) });
            manifest.conclude(RunStatus::Failed, RunOutcome::Failure);
            manifest
        });
    redact(&mut manifest, &journal);
    manifest.metadata.audit = audit_head;
    let mut written = write_manifest(&folder, &manifest);
    let mut copied = record.out.clone();
    if let Some(out) = &record.out
        && let Err(e) = copy_out(folder.run(), &deliver::step_runs(definition, &state, &folder), out)
    {
        copied = None;
        let message = format!("the artifacts could not be copied to {}: {e}", out.display());
        let place = format!("they are in {}", folder.run().output().display());
        manifest.error = Some(ErrorInfo::new("out", message).with_hint(place));
        manifest.conclude(manifest.status, RunOutcome::Failure);
        written = write_manifest(&folder, &manifest);
    }
    state.sealed = true;
    // Left unfinished, the next start finds the flow and gives it the manifest it could not get now.
    if let Err(e) = written.and_then(|()| folder.save(&state)).and_then(|()| folder.finish()) {
        let message = format!("the end of the flow could not be written: {e}");
        manifest.error = Some(ErrorInfo { hint: e.hint(), ..ErrorInfo::new(e.kind(), message) });
        manifest.conclude(RunStatus::Failed, RunOutcome::Failure);
    }
    let applied = apply_if_asked(&folder, wants_apply, &mut journal);
    journal.emit(EventBody::RunFinished {
        status: manifest.status,
        outcome: manifest.outcome,
        exit_code: manifest.exit_code,
        manifest_sha256: folder.run().manifest_sha256(),
    });
    if let Some(out) = &copied {
        copy_last_events(folder.run(), out);
    }
    FinishedRun { folder: folder.run().path().to_owned(), manifest, out: copied, applied }
}

fn redact(manifest: &mut Manifest, journal: &FlowJournal<'_>) {
    if let Some(error) = &mut manifest.error {
        error.message = journal.redact(&error.message);
    }
}

fn write_manifest(folder: &FlowFolder, manifest: &Manifest) -> Result<(), FlowError> {
    let output = folder.run().output();
    fs::create_dir_all(&output).map_err(HostError::io("create", &output))?;
    Ok(write_durable(&output.join("manifest.json"), manifest.to_json().as_bytes())?)
}

fn apply_if_asked(
    folder: &FlowFolder,
    wanted: Option<&HolonFolders>,
    journal: &mut FlowJournal<'_>,
) -> Option<Result<AppliedRun, HostError>> {
    let places = wanted.filter(|_| release::applies_by_itself(folder.run()))?;
    let applied = apply(folder.run(), places);
    if let Err(e) = &applied {
        journal.emit(EventBody::Warning { message: format!("the patch was not applied: {e}") });
    }
    Some(applied)
}

fn not_a_flow(folder: &RunFolder) -> FlowError {
    let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mode = folder.record().map(|record| record.mode).unwrap_or_default();
    FlowError::resume(
        format!("{name} is a single run in mode {mode}, and only flows can be resumed for now"),
        "run it again; `holon modes list` shows the flows",
    )
}

/// A new id from the clock and the kernel's randomness.
pub(crate) fn new_id() -> RunId {
    let seconds = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
    let mut random = [0; 4];
    // Without randomness ids of the same second could only collide, which creating the folder would notice.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    RunId::from_parts(seconds, random)
}
