//! The dispatcher: the only way into a mode. Commands, flows and the orchestrator's children all come through here, so
//! that permissions, the circuit breaker, logs and counts hold everywhere.

mod breaker;
mod contract;
mod day;
mod ids;
mod log;
mod observed;
mod parent;
mod runner;
mod settings;

use std::path::PathBuf;

use holon_core::ids::{RequestId, TaskId};
use holon_core::manifest::ContextFile;
use holon_core::mode::Profile;
use holon_core::mode_run::{ModeDecision, ModeEnvelope, ModeInputs, ModeResult, Permissions};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::store::RunFolder;
use holon_host::{Executor, FinishedRun, HolonFolders, Host, RunContext, RunPlan, RunRequest};
use serde_json::json;

use crate::audit::AuditTrail;
use crate::error::FlowError;
use crate::sealed::{self, MANIFEST_SHA256, SEALED_SHA256};
use log::RequestLog;
use observed::{DispatchTrace, ObservedRequest, RequestDescription};

pub(crate) use breaker::private_folder;
pub use breaker::{Admission, BreakerRule, CircuitBreaker};
pub use day::DayBudget;
pub use ids::{new_request, new_task};
pub use parent::ParentWork;
pub use runner::{ModeCapabilities, ModeRunContext, ModeRunner, SandboxedMode, runner};
pub use settings::{DispatchSettings, LogLocation};

/// Routes work to modes; one per process is enough, and it can be shared between threads.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    places: HolonFolders,
    /// What holds for all calls; without, each goes by its own plan.
    settings: Option<DispatchSettings>,
    tracing: DispatchTrace,
    audit: AuditTrail,
}

/// One piece of work for a mode.
pub struct DispatchCall {
    /// What is done; its mode says where it goes.
    pub plan: RunPlan,
    /// The task it belongs to, across retries.
    pub task: TaskId,
    /// Which start this is, from 1.
    pub attempt: u32,
    /// Who asks, when it is other work.
    pub parent: Option<ParentWork>,
}

impl DispatchCall {
    /// Work of its own, asked for by a person or a program.
    pub fn new(plan: RunPlan) -> Self {
        Self { plan, task: new_task(), attempt: 1, parent: None }
    }

    /// The same, gone on with from a run that was cut short where that can be; otherwise begun anew.
    pub(crate) fn child_going_on(
        host: &Host,
        request: RunRequest,
        parent: ParentWork,
        before: Option<(&RunFolder, &str)>,
    ) -> Result<Self, FlowError> {
        let mut plan = parent::planned_child(host, request, &parent)?;
        if let Some((folder, message)) = before
            && let Ok(going_on) = host.plan_to_resume(folder, Some(message), false)
            && going_on.workspace == plan.workspace
        {
            let limits = plan.profile.limits;
            plan = RunPlan { profile: Profile { limits, ..going_on.profile.clone() }, ..going_on };
        }
        Ok(Self { parent: Some(parent), ..Self::new(plan) })
    }

    /// Work that other work asks for: planned within what is handed down to it.
    pub fn child(host: &Host, request: RunRequest, parent: ParentWork) -> Result<Self, FlowError> {
        let plan = parent::planned_child(host, request, &parent)?;
        Ok(Self { parent: Some(parent), ..Self::new(plan) })
    }
}

/// What came of a piece of work.
#[derive(Debug)]
pub struct DispatchResult {
    /// The run.
    pub finished: FinishedRun,
    /// What it means.
    pub result: ModeResult,
    /// Under which its log is found.
    pub request_id: RequestId,
}

impl Dispatcher {
    /// Keeps logs, breakers and the audit log in the state folder of `places`.
    pub fn new(places: HolonFolders) -> Self {
        let audit = AuditTrail::of(&places.state);
        Self { places, settings: None, tracing: DispatchTrace::new(), audit }
    }

    /// The same with settings for all calls, whose workspaces may be copies of the one these were read for.
    pub fn within(self, settings: DispatchSettings) -> Self {
        Self { settings: Some(settings), ..self }
    }

    /// A folder for reports of modes, made where it is not there.
    pub(crate) fn reports(&self, parts: &[&str]) -> Result<PathBuf, FlowError> {
        let logs = self.settings.as_ref().map(|settings| settings.logs.clone()).unwrap_or_default();
        Ok(logs.folder(&self.places.state, parts)?)
    }

    /// What is dispatched from here on is part of one whole, such as a flow; `counts_as` is the mode it counts as by itself.
    pub(crate) fn begin_whole(&self, executor: &dyn Executor, counts_as: Option<&'static str>) {
        self.tracing.begin_whole(executor.observer(), counts_as);
    }

    /// The whole is over.
    pub(crate) fn end_whole(&self, finished: &FinishedRun, decision: Option<&ModeDecision>) {
        self.tracing.end_whole(&finished.manifest, decision);
    }

    /// What is left of today.
    pub(crate) fn today(&self) -> DayBudget {
        let limits = self.settings.as_ref().map(|settings| settings.day).unwrap_or_default();
        DayBudget::today(&self.places, limits)
    }

    /// The audit log.
    pub fn audit(&self) -> &AuditTrail {
        &self.audit
    }

    /// Routes a call to its mode, and tells what came of it. Its rights are computed from its plan, which is what is carried
    /// out. An error means that nothing was started.
    pub fn dispatch(
        &self,
        call: DispatchCall,
        executor: &dyn Executor,
        context: RunContext<'_>,
    ) -> Result<DispatchResult, FlowError> {
        let DispatchCall { mut plan, task, attempt, parent } = call;
        let settings = match &self.settings {
            Some(settings) => settings.clone(),
            None => DispatchSettings::of_plan(&plan)?,
        };
        if let Some(parent) = &parent {
            parent.check(&plan)?;
        }
        self.admit(&task, settings.breaker)?;
        let today = DayBudget::today(&self.places, settings.day);
        if let Some(refusal) = today.refusal() {
            return Err(refusal);
        }
        let permissions = parent::permissions(&plan.profile, parent.as_ref());
        if parent.is_some() {
            plan = parent::within(plan, &permissions);
        }
        plan = today.within(plan);
        let envelope = envelope(&plan, task, permissions);
        let detail = json!({
            "mode": envelope.mode, "task_id": envelope.task_id, "request_id": envelope.request_id,
            "attempt": attempt, "asked_by": parent.as_ref().map(|parent| &parent.mode),
        });
        plan.audit = Some(self.audit.append("dispatcher", "mode_started", detail, false)?);
        let mut watched = ObservedRequest::begin(&self.tracing, executor.observer(), &envelope.mode, attempt);
        let intent = plan.profile.model.intent.clone();
        let mut log = {
            let parts = [envelope.mode.as_str(), envelope.task_id.as_str(), envelope.request_id.as_str()];
            let folder = settings.logs.folder(&self.places.state, &parts);
            let log = RequestLog::new(folder.ok(), &envelope, &intent, executor.secrets());
            log.heard_by(watched.observer()).begin(&envelope)
        };
        let asked_by = parent.as_ref().map(|parent| parent.mode.as_str());
        let about = RequestDescription { envelope: &envelope, intent: &intent, attempt, asked_by };
        let runner = runner(&envelope.mode);
        let writes_allowed = plan.writes_allowed;
        let RunContext { sink, .. } = context;
        let mut listening = watched.listening(sink);
        let run = RunContext { sink: &mut listening, ..context };
        let envelope = &envelope;
        let finished = match runner.run(ModeRunContext { envelope, plan, executor, run }) {
            Ok(finished) => finished,
            Err(error) => {
                log.refused(&error.to_string(), watched.elapsed_ms());
                watched.refused(&about, error.kind());
                return Err(error.into());
            }
        };
        let result = contract::result(&finished, &runner.capabilities(), writes_allowed, attempt);
        let weighed = parent.is_some() && envelope.mode == "ethical";
        let noted = self.take_note(envelope, &finished, &result, &mut log, settings.breaker, weighed);
        watched.ended(&about, &finished.manifest, result.outcome, &result.decision);
        noted?;
        Ok(DispatchResult { finished, result, request_id: envelope.request_id.clone() })
    }

    /// Adds to the log of an orchestration what became of its children.
    pub(crate) fn tell_children(
        &self,
        task: &TaskId,
        request: &str,
        children: serde_json::Value,
        decision: &ModeDecision,
    ) {
        // Planning that was refused has no log.
        if request.is_empty() {
            return;
        }
        let folder = self.reports(&["orchestrate", task.as_str(), request]).ok();
        let log = RequestLog::reopen(folder, "orchestrate", task.as_str(), request);
        let mut log = log.heard_by(self.tracing.observer());
        log.line("children", json!({ "child_tasks": children, "decision": decision }));
    }

    /// Whether the task may start now.
    fn admit(&self, task: &TaskId, rule: BreakerRule) -> Result<(), FlowError> {
        let breakers = breaker::CircuitBreakers::new(&self.places.state, rule);
        match breakers.refuses(task, ids::now_ms())? {
            None => Ok(()),
            Some((failures, until_ms)) => {
                let again = ids::time(until_ms);
                Err(FlowError::Breaker { task: task.to_string(), failures, again })
            }
        }
    }

    fn take_note(
        &self,
        envelope: &ModeEnvelope,
        finished: &FinishedRun,
        result: &ModeResult,
        log: &mut RequestLog,
        rule: BreakerRule,
        weighed: bool,
    ) -> Result<(), FlowError> {
        let manifest = &finished.manifest;
        let failed = result.outcome == RunOutcome::Failure;
        log.end(&finished.folder.join("output"), manifest, result);
        // Being stopped says nothing about the work.
        if manifest.status != RunStatus::Cancelled {
            let breakers = breaker::CircuitBreakers::new(&self.places.state, rule);
            breakers.record(&envelope.task_id, !failed, ids::now_ms())?;
        }
        // What a model reports to whoever weighs it against the host's own checks is no decision yet.
        let said = if weighed { "report" } else { "decision" };
        let mut detail = json!({
            "mode": envelope.mode, "task_id": envelope.task_id, "request_id": envelope.request_id,
            "run_id": manifest.run_id, "outcome": result.outcome, (said): result.decision.name(),
        });
        if let Some(applied) = &finished.applied {
            detail["applied"] = applied.is_ok().into();
        }
        let folder = RunFolder::open(finished.folder.clone());
        if let Some(digest) = sealed::seal(&folder, manifest) {
            detail[SEALED_SHA256] = digest.into();
            detail[MANIFEST_SHA256] = folder.manifest_sha256().into();
        }
        self.audit.append("dispatcher", "mode_ended", detail, false)?;
        Ok(())
    }
}

/// What a run means that ended while nobody watched.
pub(crate) fn result_of(finished: &FinishedRun) -> ModeResult {
    contract::result(finished, &runner(&finished.manifest.mode).capabilities(), false, 1)
}

fn envelope(plan: &RunPlan, task: TaskId, permissions: Permissions) -> ModeEnvelope {
    let files = plan.context.iter().map(|named| ContextFile {
        path: named.path.to_string_lossy().into_owned(),
        // What really reached the agent is in the manifest, with its digest.
        sha256: String::new(),
    });
    ModeEnvelope {
        mode: plan.profile.name.clone(),
        request_id: new_request(),
        task_id: task,
        goal: plan.spec.goal.description.clone(),
        context: ModeInputs {
            snapshot: plan.workspace.display().to_string(),
            constraints: plan.checks.clone(),
            artifacts: files.collect(),
        },
        permissions,
    }
}
