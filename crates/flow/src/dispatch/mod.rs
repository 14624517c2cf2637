//! The dispatcher: the only way into a mode. Commands, flows and the orchestrator's children all come through here, so
//! that permissions, the circuit breaker, logs and counts hold everywhere.

mod breaker;
mod contract;
mod ids;
mod log;
mod observed;
mod parent;
mod runner;
mod settings;

use std::path::{Path, PathBuf};

use holon_core::event::EventSink;
use holon_core::ids::{RequestId, TaskId};
use holon_core::manifest::ContextFile;
use holon_core::mode::Profile;
use holon_core::mode_run::{ModeDecision, ModeEnvelope, ModeInputs, ModeResult, Permissions};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::store::{RunFolder, RunRecord};
use holon_host::{FinishedRun, HolonFolders, Host, RunCancel, RunRequest, modes};
use serde_json::json;

use crate::audit::AuditTrail;
use crate::error::FlowError;
use crate::sealed::{self, MANIFEST_SHA256, SEALED_SHA256};
use log::RequestLog;
use observed::{DispatchTrace, ObservedRequest, RequestDescription};

pub(crate) use breaker::private_folder;
pub use breaker::{Admission, BreakerRule, CircuitBreaker};
pub use ids::{new_request, new_task};
pub use parent::ParentWork;
pub use runner::{ModeCapabilities, ModeRunContext, ModeRunner, SandboxedMode, runner};
pub use settings::{DispatchSettings, LogLocation};

/// Routes work to modes; one per process is enough, and it can be shared between threads.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    places: HolonFolders,
    /// What holds for all calls; without, each is looked up for its own workspace.
    settings: Option<DispatchSettings>,
    tracing: DispatchTrace,
    audit: AuditTrail,
}

/// One piece of work for a mode.
pub struct DispatchCall<'a> {
    /// What is asked; its `mode` names where it goes.
    pub request: RunRequest,
    /// The task it belongs to, across retries.
    pub task: TaskId,
    /// Which start this is, from 1.
    pub attempt: u32,
    /// Who asks, when it is other work.
    pub parent: Option<ParentWork>,
    /// A run to go on with, and what to tell it.
    pub resume: Option<(&'a RunFolder, Option<&'a str>)>,
}

impl<'a> DispatchCall<'a> {
    /// Work of its own, asked for by a person or a program.
    pub fn new(request: RunRequest) -> Self {
        Self { request, task: new_task(), attempt: 1, parent: None, resume: None }
    }

    /// Goes on with a run, and applies its patch if it succeeds and `apply` says so.
    pub fn resuming(folder: &'a RunFolder, message: Option<&'a str>, record: RunRecord, apply: bool) -> Self {
        let (mode, workspace) = (Some(record.mode), Some(record.workspace));
        let request = RunRequest { mode, workspace, goal: Some(record.goal), apply, ..RunRequest::default() };
        Self { resume: Some((folder, message)), ..Self::new(request) }
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

    /// What is dispatched from here on is part of one whole, such as a flow.
    pub(crate) fn begin_whole(&self, host: &Host) {
        self.tracing.begin_whole(host);
    }

    /// The whole is over.
    pub(crate) fn end_whole(&self, finished: &FinishedRun, decision: Option<&ModeDecision>) {
        self.tracing.end_whole(&finished.manifest, decision);
    }

    /// The audit log.
    pub fn audit(&self) -> &AuditTrail {
        &self.audit
    }

    /// Routes a call to its mode, and tells what came of it. An error means that nothing was started.
    pub fn dispatch(
        &self,
        call: DispatchCall<'_>,
        host: &Host,
        sink: &mut dyn EventSink,
        cancel: &RunCancel,
    ) -> Result<DispatchResult, FlowError> {
        let (profile, workspace) = self.profile(&call, host)?;
        let settings = match &self.settings {
            Some(settings) => settings.clone(),
            None => DispatchSettings::read(&self.places, &workspace, &*host.env)?,
        };
        let DispatchCall { mut request, task, attempt, parent, resume } = call;
        if let Some(parent) = &parent {
            parent.check(&profile.name)?;
        }
        self.admit(&task, settings.breaker)?;
        let permissions = parent::permissions(&profile, parent.as_ref());
        if parent.is_some() {
            request = parent::handed_down(request, &profile, &permissions);
        }
        let envelope = envelope(&profile, task, &request, permissions);
        let detail = json!({
            "mode": envelope.mode, "task_id": envelope.task_id, "request_id": envelope.request_id,
            "attempt": attempt, "asked_by": parent.as_ref().map(|parent| &parent.mode),
        });
        request.audit = Some(self.audit.append("dispatcher", "mode_started", detail, false)?);
        let mut watched = ObservedRequest::begin(&self.tracing, host, &envelope.mode, attempt);
        let mut log = {
            let parts = [envelope.mode.as_str(), envelope.task_id.as_str(), envelope.request_id.as_str()];
            let folder = settings.logs.folder(&self.places.state, &parts);
            let log = RequestLog::new(folder.ok(), &envelope, &profile.model.intent, &host.secrets);
            log.heard_by(watched.observer()).begin(&envelope)
        };
        let intent = profile.model.intent.as_str();
        let asked_by = parent.as_ref().map(|parent| parent.mode.as_str());
        let about = RequestDescription { envelope: &envelope, intent, attempt, asked_by };
        let runner = runner(&envelope.mode);
        let mut listening = watched.listening(sink);
        let (envelope, sink) = (&envelope, &mut listening);
        let context = ModeRunContext { envelope, request: &request, resume, host, sink, cancel };
        let finished = match runner.run(context) {
            Ok(finished) => finished,
            Err(error) => {
                log.refused(&error.to_string(), watched.elapsed_ms());
                watched.refused(&about, error.kind());
                return Err(error.into());
            }
        };
        let result = contract::result(&finished, &runner.capabilities(), request.allow_writes, attempt);
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

    /// The mode of a request and the folder it works on. What a person asks for is looked at as a whole first: a wrong
    /// request starts nothing, and leaves no trace.
    fn profile(&self, call: &DispatchCall<'_>, host: &Host) -> Result<(Profile, PathBuf), FlowError> {
        let request = &call.request;
        if call.parent.is_none() && call.resume.is_none() {
            let plan = host.plan(request)?;
            return Ok((plan.profile, plan.workspace));
        }
        let catalog = modes::catalog(&self.places, request.workspace.as_deref())?;
        let name = request.mode.as_deref().unwrap_or("execute");
        let profile = catalog.resolve(name).map_err(holon_host::HostError::from)?;
        Ok((profile, request.workspace.clone().unwrap_or_else(|| PathBuf::from("."))))
    }
}

/// What a run means that ended while nobody watched.
pub(crate) fn result_of(finished: &FinishedRun) -> ModeResult {
    contract::result(finished, &runner(&finished.manifest.mode).capabilities(), false, 1)
}

fn envelope(profile: &Profile, task: TaskId, request: &RunRequest, permissions: Permissions) -> ModeEnvelope {
    let files = request.context.iter().map(|path| ContextFile {
        path: path.to_string_lossy().into_owned(),
        // What really reached the agent is in the manifest, with its digest.
        sha256: String::new(),
    });
    ModeEnvelope {
        mode: profile.name.clone(),
        request_id: new_request(),
        task_id: task,
        goal: request.goal.clone().unwrap_or_default(),
        context: ModeInputs {
            snapshot: request.workspace.as_deref().unwrap_or(Path::new(".")).display().to_string(),
            constraints: request.checks.clone(),
            artifacts: files.collect(),
        },
        permissions,
    }
}
