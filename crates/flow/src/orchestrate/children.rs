//! Children: started side by side, listened to, and what each means when it has ended.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use holon_core::digest::sha256;
use holon_core::event::{EventBody, RunEvent};
use holon_core::mode_run::{ModeDecision, ModeResult};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::store::{RunFolder, write_atomic};
use holon_host::{FinishedRun, HostError, ModelCancel, RunContext};

use super::assessment_history::{AssessmentHistory, PastAssessment};
use super::child_builder::{self, ChildRequest};
use super::drive::OrchestrationDriver;
use super::hearing::RunningChild;
use super::merge;
use super::merge_tasks::paths;
use super::planner::{ChildStart, OrchestrationEvent, apply};
use super::release_gate::{self, AssessmentSubject, ReleaseJudgement};
use super::reserve;
use super::state::{AttemptEnd, AttemptPurpose, OrchestrationState, TaskAttempt};
use super::task_activity::TaskActivity;
use crate::dispatch::{DispatchCall, DispatchResult, ParentWork, private_folder};
use crate::error::FlowError;

/// How soon what people say is heard while children run.
const LISTENS_AGAIN: Duration = Duration::from_millis(100);

/// What a child's thread says.
enum ChildMessage {
    /// Something happened in its run.
    Event(Box<RunEvent>),
    /// It is over.
    Over(Box<Result<DispatchResult, FlowError>>),
}

impl OrchestrationDriver<'_, '_> {
    /// Starts runs side by side and waits for all of them.
    pub(super) fn begin(
        &mut self,
        state: &mut OrchestrationState,
        starts: &[ChildStart],
    ) -> Result<(), FlowError> {
        let base = self.trunk.base(&state.merges)?;
        let changes = self.changes(state)?.patch;
        let brief = self.brief(state, starts, &changes, &base);
        let shares = reserve::shares(state, starts);
        if let Some(budget) = &self.budget {
            budget.spent_at_least(state.spent_usd);
        }
        let time = self.time_left(state);
        let mut calls = Vec::new();
        for (nth, ChildStart { node, purpose }) in starts.iter().enumerate() {
            let ChildRequest { request, mode, label } = child_builder::child(
                &self.child_builder(),
                state,
                *node,
                *purpose,
                &base,
                (&changes, &brief),
            )?;
            let number =
                state.nodes[*node].attempts.iter().filter(|a| a.purpose == *purpose).count() as u32 + 1;
            let step = state.nodes[*node].task.id.clone();
            let all = state.nodes[*node].attempts.len() as u32 + 1;
            self.journal.emit(EventBody::StepStarted { step, mode: Some(mode.clone()), attempt: all });
            let parent = ParentWork {
                mode: "orchestrate".into(),
                depth: 0,
                children: state.children,
                money: shares[nth],
                time: Some(time),
            };
            let before = self.cut_short(state, *node, *purpose, &base);
            let name = if *purpose == AttemptPurpose::Task {
                child_builder::name(&state.nodes[*node])
            } else {
                label
            };
            let task = self.task(state, &name);
            let said = state.messages.iter().chain(&state.nodes[*node].told);
            let said = said.map(String::as_str).collect::<Vec<_>>().join("\n\n");
            calls.push((nth, request, parent, task, number, before.map(|folder| (folder, said))));
            let joined = Some(state.merges.len());
            let attempt = TaskAttempt { joined, ..attempt(*purpose, &mode) };
            apply(state, OrchestrationEvent::Begun { node: *node, attempt });
        }
        state.messages.clear();
        self.save(state)?;
        let inside = self.inside();
        let (dispatcher, make, budget) = (self.dispatcher, self.host, self.budget.clone());
        let running: Vec<RunningChild> = starts
            .iter()
            .map(|start| RunningChild { node: start.node, cancel: ModelCancel::default() })
            .collect();
        // Whoever ends the whole ends each of them.
        let _all: Vec<_> = running
            .iter()
            .map(|child| {
                let cancel = child.cancel.clone();
                self.cancel.on_cancel(move || cancel.cancel())
            })
            .collect();
        let (tell, hear) = mpsc::channel::<(usize, ChildMessage)>();
        let mut listened = Instant::now();
        std::thread::scope(|scope| {
            for (nth, request, parent, task, attempt, before) in calls {
                let (tell, inside, budget) = (tell.clone(), inside.clone(), budget.clone());
                let cancel = &running[nth].cancel;
                scope.spawn(move || {
                    let host = make(inside);
                    // Whoever listened is gone only when everything is.
                    let mut pass = |event: &RunEvent| {
                        drop(tell.send((nth, ChildMessage::Event(Box::new(event.clone())))))
                    };
                    let done = DispatchCall::child_going_on(
                        &host,
                        request,
                        parent,
                        before.as_ref().map(|(folder, said)| (folder, said.as_str())),
                    )
                    .and_then(|call| {
                        let call = DispatchCall { task, attempt, ..call };
                        let context = RunContext { budget, ..RunContext::new(&mut pass, cancel) };
                        dispatcher.dispatch(call, &host, context)
                    });
                    let _ = tell.send((nth, ChildMessage::Over(Box::new(done))));
                });
            }
            drop(tell);
            loop {
                match hear.recv_timeout(LISTENS_AGAIN) {
                    Ok((nth, ChildMessage::Event(event))) => {
                        self.heard(state, starts[nth].node, &event, &base)
                    }
                    Ok((nth, ChildMessage::Over(done))) => self.over(state, starts[nth].node, *done)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
                if listened.elapsed() >= LISTENS_AGAIN {
                    self.hear_people(state, &running)?;
                    listened = Instant::now();
                }
            }
        })
    }

    /// The run of a task that was cut short by a kill, a person's word or for its money, when it can go on where it was: nothing that it is
    /// about has changed since.
    fn cut_short(
        &self,
        state: &OrchestrationState,
        node: usize,
        purpose: AttemptPurpose,
        base: &Path,
    ) -> Option<RunFolder> {
        let last = state.nodes[node].attempts.iter().rfind(|attempt| attempt.purpose == purpose)?;
        let cut = last.end.as_ref().is_none_or(|end| end.is_out_of_money() || end.is_interrupted());
        let folder = last.folder.as_ref().filter(|_| cut && last.joined == Some(state.merges.len()))?;
        let folder = RunFolder::open(self.held.own(folder));
        let base = fs::canonicalize(base).unwrap_or_else(|_| base.to_owned());
        (folder.record().ok()?.workspace == base).then_some(folder)
    }

    /// Notes the name of a child's run, so that it is found after a kill, and passes the event on.
    pub(super) fn heard(
        &mut self,
        state: &mut OrchestrationState,
        node: usize,
        event: &RunEvent,
        base: &Path,
    ) {
        if matches!(event.body, EventBody::RunStarted { .. })
            && let Some(attempt) = state.nodes[node].attempts.last_mut()
        {
            attempt.run = Some(event.run.clone());
            let folder = self.held.runs_of(self.places, base).open(&event.run).path().to_owned();
            attempt.folder = relative(self.held.path(), &folder);
            // Should this fail, the worst is that a finished run is not found after a kill.
            let _ = self.held.save(state);
        }
        let step = state.nodes[node].task.id.clone();
        self.journal.pass_from(&step, event);
        let spent = state.nodes[node].attempts.iter().map(TaskAttempt::cost_usd).sum();
        let new = match TaskActivity::begun(event, spent) {
            Some(activity) => {
                self.activities.insert(step.clone(), activity);
                true
            }
            None => self.activities.get_mut(&step).is_some_and(|activity| activity.hear(event)),
        };
        if let Some(activity) = self.activities.get(&step).filter(|_| new) {
            self.journal.emit(activity.told(&step));
        }
    }

    fn over(
        &mut self,
        state: &mut OrchestrationState,
        node: usize,
        done: Result<DispatchResult, FlowError>,
    ) -> Result<(), FlowError> {
        match done {
            Ok(DispatchResult { finished, result, request_id }) => {
                let Some(mut attempt) = state.nodes[node].attempts.last().cloned() else { return Ok(()) };
                attempt.run = Some(finished.manifest.run_id.clone());
                attempt.folder = relative(self.held.path(), &finished.folder);
                attempt.request = request_id.to_string();
                let end = self.end(state, node, &attempt, &finished, result, request_id.as_str())?;
                if let Some(last) = state.nodes[node].attempts.last_mut() {
                    *last = attempt;
                }
                apply(state, OrchestrationEvent::Ended { node, end: Box::new(end.clone()) });
                // Whoever is told can rely on it.
                self.held.save(state)?;
                self.tell_end(state, node, &end);
            }
            Err(error) => {
                let (kind, reason) = (error.kind().to_owned(), error.to_string());
                self.tell_refused(state, node, &reason);
                apply(state, OrchestrationEvent::Refused { node, kind, reason });
            }
        }
        self.held.save(state)
    }

    /// What a child that has ended means; the files its change was made for are put by before anything is joined.
    pub(super) fn end(
        &mut self,
        state: &OrchestrationState,
        node: usize,
        attempt: &TaskAttempt,
        finished: &FinishedRun,
        result: ModeResult,
        request: &str,
    ) -> Result<AttemptEnd, FlowError> {
        let mut end = plain_end(finished, &result);
        if end.changed {
            let base = self.trunk.base(&state.merges)?;
            let touched = child_builder::touched(&finished.folder)?;
            let to = self.bases(&finished.manifest.run_id.to_string());
            private_folder(&to)?;
            let run = RunFolder::open(finished.folder.clone());
            merge::keep_base_of(&run, &touched, &base, &to).map_err(HostError::io("copy", &base))?;
        }
        if attempt.mode == "ethical" && end.status != RunStatus::Cancelled {
            let judgement = self.judge(state, node, finished, request)?;
            // It is asked for again as any result that is not whole, with what is missing.
            if let Some(missing) = judgement.unanswered {
                end.outcome = RunOutcome::Failure;
                end.error = Some(("unanswered".to_owned(), missing));
            }
            end.decision = judgement.decision;
        }
        Ok(end)
    }

    /// The last word about a result: what the host finds and what the model says, together.
    fn judge(
        &mut self,
        state: &OrchestrationState,
        node: usize,
        finished: &FinishedRun,
        request: &str,
    ) -> Result<ReleaseJudgement, FlowError> {
        let (patch, paths) = (self.changes(state)?.patch, paths(state));
        let after = self.trunk.base(&state.merges)?;
        let good = finished.manifest.outcome == RunOutcome::Success;
        // A run that failed approves nothing; a refusal stands all the same.
        let report = fs::read(finished.folder.join("output/ethics.json")).ok();
        let report = report.filter(|bytes| good || release_gate::refuses(bytes));
        let history = self.history().told();
        let subject = AssessmentSubject {
            goal_id: state.id.as_str(),
            request_id: request,
            goal: &state.goal,
            patch: &patch,
            paths: &paths,
            before: &self.workspace,
            after: &after,
            report: report.as_deref(),
            history: history.as_deref(),
        };
        let judgement = self.conscience.judge(&subject);
        let task = &state.nodes[node].task.id;
        let logs = self.dispatcher.reports(&["ethics", self.task(state, task).as_str()])?;
        for folder in [self.held.own("made"), logs] {
            private_folder(&folder)?;
            write_atomic(&folder.join("ethics.json"), &self.journal.redact_bytes(&judgement.json))?;
            write_atomic(&folder.join("ethics.md"), self.journal.redact(&judgement.markdown).as_bytes())?;
        }
        self.note_assessment(state, node, finished, &judgement.decision)?;
        Ok(judgement)
    }

    /// What earlier assessments of this repository said.
    fn history(&self) -> AssessmentHistory {
        AssessmentHistory::beside(&self.places.runs_of(&self.workspace))
    }

    /// What was decided about a result is in the audit log as it was decided, before anything follows from it.
    fn note_assessment(
        &self,
        state: &OrchestrationState,
        node: usize,
        finished: &FinishedRun,
        decision: &ModeDecision,
    ) -> Result<(), FlowError> {
        let detail = serde_json::json!({
            "mode": "ethical", "run_id": finished.manifest.run_id, "whole": state.id,
            "task": state.nodes[node].task.id, "decision": decision.name(),
            "reason": decision.reason().map(|reason| self.journal.redact(reason)),
        });
        self.dispatcher.audit().append("orchestrate", "assessment_decided", detail, true)?;
        let reason = decision.reason().map(|reason| self.journal.redact(reason));
        let past = PastAssessment::now(state.id.as_str(), decision, reason.as_deref());
        // The audit log is what counts; this one is told to whoever assesses next.
        let _ = self.history().add(&past);
        Ok(())
    }

    /// What an assessment is told of what the host found by itself.
    fn brief(
        &self,
        state: &OrchestrationState,
        starts: &[ChildStart],
        changes: &[u8],
        base: &Path,
    ) -> String {
        if !starts.iter().any(|start| state.nodes[start.node].task.mode == "ethical") {
            return String::new();
        }
        let history = self.history().told();
        self.conscience.brief(&AssessmentSubject {
            goal_id: state.id.as_str(),
            request_id: "",
            goal: &state.goal,
            patch: changes,
            paths: &paths(state),
            before: &self.workspace,
            after: base,
            report: None,
            history: history.as_deref(),
        })
    }

    /// A run that could not be started.
    pub(super) fn tell_refused(&mut self, state: &OrchestrationState, node: usize, reason: &str) {
        let step = state.nodes[node].task.id.clone();
        self.journal.emit(EventBody::Warning { message: format!("{step}: {reason}") });
        let (outcome, duration_ms) = (RunOutcome::Failure, 0);
        self.journal.emit(EventBody::StepFinished { step, step_run: None, outcome, duration_ms });
    }

    pub(super) fn tell_end(&mut self, state: &OrchestrationState, node: usize, end: &AttemptEnd) {
        let node = &state.nodes[node];
        self.journal.emit(EventBody::StepFinished {
            step: node.task.id.clone(),
            step_run: node.attempts.last().and_then(|attempt| attempt.run.clone()),
            outcome: end.outcome,
            duration_ms: end.duration_ms,
        });
        if let Some(reason) = end.decision.reason().filter(|_| end.outcome == RunOutcome::Success) {
            let message = format!("{}: {}: {reason}", node.task.id, end.decision.name());
            self.journal.emit(EventBody::Warning { message });
        }
    }
}

pub(super) fn attempt(purpose: AttemptPurpose, mode: &str) -> TaskAttempt {
    TaskAttempt {
        purpose,
        mode: mode.to_owned(),
        run: None,
        folder: None,
        request: String::new(),
        end: None,
        joined: None,
        killed_cost_usd: None,
    }
}

pub(super) fn plain_end(finished: &FinishedRun, result: &ModeResult) -> AttemptEnd {
    let manifest = &finished.manifest;
    let bytes = fs::read(finished.folder.join("output/manifest.json")).ok();
    let patch = result.artifacts.iter().find(|artifact| artifact.path == "diff.patch");
    AttemptEnd {
        status: manifest.status,
        outcome: result.outcome,
        decision: result.decision.clone(),
        error: manifest.error.as_ref().map(|error| (error.kind.clone(), error.message.clone())),
        manifest_sha256: bytes.map(|bytes| sha256(&bytes)),
        artifacts: result.artifacts.iter().map(|a| (a.path.clone(), a.sha256.clone())).collect(),
        changed: patch.is_some() && !manifest.no_changes,
        cost_usd: manifest.metadata.usage.cost_usd.unwrap_or(0.0),
        duration_ms: manifest.duration_ms,
    }
}

pub(super) fn relative(folder: &Path, path: &Path) -> Option<String> {
    path.strip_prefix(folder).ok().map(|path| path.to_string_lossy().into_owned())
}
