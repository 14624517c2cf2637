//! Children: started side by side, listened to, and what each means when it has ended.

use std::fs;
use std::path::Path;
use std::sync::mpsc;

use holon_core::digest::sha256;
use holon_core::event::{Body, Event as RunEvent};
use holon_core::mode_run::{Decision, ModeResult};
use holon_core::outcome::{Outcome, Status};
use holon_host::store::{RunFolder, write_atomic};
use holon_host::{Finished, HostError, RunContext};

use super::child::{self, Child};
use super::conscience::{self, Subject};
use super::drive::Drive;
use super::joining::paths;
use super::merge;
use super::planner::{Event, Start, apply};
use super::state::{Attempt, AttemptEnd, Purpose, State};
use crate::dispatch::{Call, Dispatched, Parent, private_folder};
use crate::error::FlowError;

/// What a child's thread says.
enum Word {
    /// Something happened in its run.
    Event(Box<RunEvent>),
    /// It is over.
    Over(Box<Result<Dispatched, FlowError>>),
}

impl Drive<'_, '_> {
    /// Starts runs side by side and waits for all of them.
    pub(super) fn begin(&mut self, state: &mut State, starts: &[Start]) -> Result<(), FlowError> {
        let base = self.trunk.base(&state.merges)?;
        let changes = self.changes(state)?.patch;
        let brief = self.brief(state, starts, &changes, &base);
        let money = state.money_left().map(|left| left / starts.len() as f64);
        let time = self.time_left(state);
        let mut calls = Vec::new();
        for (nth, Start { node, purpose }) in starts.iter().enumerate() {
            let Child { request, mode, label } =
                child::child(&self.nursery(), state, *node, *purpose, &base, (&changes, &brief))?;
            let number =
                state.nodes[*node].attempts.iter().filter(|a| a.purpose == *purpose).count() as u32 + 1;
            let step = state.nodes[*node].task.id.clone();
            let all = state.nodes[*node].attempts.len() as u32 + 1;
            self.journal.emit(Body::StepStarted { step, mode: Some(mode.clone()), attempt: all });
            let parent = Parent {
                mode: "orchestrate".into(),
                depth: 0,
                children: state.children,
                money,
                time: Some(time),
            };
            let name = if *purpose == Purpose::Task { child::name(&state.nodes[*node]) } else { label };
            let task = self.task(state, &name);
            calls.push((nth, request, parent, task, number));
            apply(state, Event::Begun { node: *node, attempt: attempt(*purpose, &mode) });
        }
        state.messages.clear();
        self.save(state)?;
        let inside = self.inside();
        let (dispatcher, make, cancel) = (self.dispatcher, self.host, self.cancel);
        let (tell, hear) = mpsc::channel::<(usize, Word)>();
        std::thread::scope(|scope| {
            for (nth, request, parent, task, attempt) in calls {
                let (tell, inside) = (tell.clone(), inside.clone());
                scope.spawn(move || {
                    let host = make(inside);
                    // Whoever listened is gone only when everything is.
                    let mut pass =
                        |event: &RunEvent| drop(tell.send((nth, Word::Event(Box::new(event.clone())))));
                    let done = Call::child(&host, request, parent).and_then(|call| {
                        let call = Call { task, attempt, ..call };
                        dispatcher.dispatch(call, &host, RunContext::new(&mut pass, cancel))
                    });
                    let _ = tell.send((nth, Word::Over(Box::new(done))));
                });
            }
            drop(tell);
            for (nth, word) in hear {
                match word {
                    Word::Event(event) => self.heard(state, starts[nth].node, &event, &base),
                    Word::Over(done) => self.over(state, starts[nth].node, *done)?,
                }
            }
            Ok(())
        })
    }

    /// Notes the name of a child's run, so that it is found after a kill, and passes the event on.
    pub(super) fn heard(&mut self, state: &mut State, node: usize, event: &RunEvent, base: &Path) {
        if matches!(event.body, Body::RunStarted { .. })
            && let Some(attempt) = state.nodes[node].attempts.last_mut()
        {
            attempt.run = Some(event.run.clone());
            let folder = self.held.runs_of(self.places, base).open(&event.run).path().to_owned();
            attempt.folder = relative(self.held.path(), &folder);
            // Should this fail, the worst is that a finished run is not found after a kill.
            let _ = self.held.save(state);
        }
        self.journal.pass(event);
    }

    fn over(
        &mut self,
        state: &mut State,
        node: usize,
        done: Result<Dispatched, FlowError>,
    ) -> Result<(), FlowError> {
        match done {
            Ok(Dispatched { finished, result, request_id }) => {
                let Some(mut attempt) = state.nodes[node].attempts.last().cloned() else { return Ok(()) };
                attempt.run = Some(finished.manifest.run_id.clone());
                attempt.folder = relative(self.held.path(), &finished.folder);
                attempt.request = request_id.to_string();
                let end = self.end(state, node, &attempt, &finished, result, request_id.as_str())?;
                if let Some(last) = state.nodes[node].attempts.last_mut() {
                    *last = attempt;
                }
                apply(state, Event::Ended { node, end: Box::new(end.clone()) });
                // Whoever is told can rely on it.
                self.held.save(state)?;
                self.tell_end(state, node, &end);
            }
            Err(error) => {
                let (kind, reason) = (error.kind().to_owned(), error.to_string());
                self.tell_refused(state, node, &reason);
                apply(state, Event::Refused { node, kind, reason });
            }
        }
        self.held.save(state)
    }

    /// What a child that has ended means; the files its change was made for are put by before anything is joined.
    pub(super) fn end(
        &mut self,
        state: &State,
        node: usize,
        attempt: &Attempt,
        finished: &Finished,
        result: ModeResult,
        request: &str,
    ) -> Result<AttemptEnd, FlowError> {
        let mut end = plain_end(finished, &result);
        if end.changed {
            let base = self.trunk.base(&state.merges)?;
            let touched = child::touched(&finished.folder)?;
            let to = self.bases(&finished.manifest.run_id.to_string());
            private_folder(&to)?;
            let run = RunFolder::open(finished.folder.clone());
            merge::keep_base_of(&run, &touched, &base, &to).map_err(HostError::io("copy", &base))?;
        }
        if attempt.mode == "ethical" && end.status != Status::Cancelled {
            end.decision = self.judge(state, node, finished, request)?;
        }
        Ok(end)
    }

    /// The last word about a result: what the host finds and what the model says, together.
    fn judge(
        &mut self,
        state: &State,
        node: usize,
        finished: &Finished,
        request: &str,
    ) -> Result<Decision, FlowError> {
        let (patch, paths) = (self.changes(state)?.patch, paths(state));
        let after = self.trunk.base(&state.merges)?;
        let good = finished.manifest.outcome == Outcome::Success;
        // A run that failed approves nothing; a refusal stands all the same.
        let report = fs::read(finished.folder.join("output/ethics.json")).ok();
        let report = report.filter(|bytes| good || conscience::refuses(bytes));
        let subject = Subject {
            goal_id: state.id.as_str(),
            request_id: request,
            goal: &state.goal,
            patch: &patch,
            paths: &paths,
            before: &self.workspace,
            after: &after,
            report: report.as_deref(),
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
        Ok(judgement.decision)
    }

    /// What was decided about a result is in the audit log as it was decided, before anything follows from it.
    fn note_assessment(
        &self,
        state: &State,
        node: usize,
        finished: &Finished,
        decision: &Decision,
    ) -> Result<(), FlowError> {
        let detail = serde_json::json!({
            "mode": "ethical", "run_id": finished.manifest.run_id, "whole": state.id,
            "task": state.nodes[node].task.id, "decision": decision.name(),
            "reason": decision.reason().map(|reason| self.journal.redact(reason)),
        });
        self.dispatcher.audit().append("orchestrate", "assessment_decided", detail, true)?;
        Ok(())
    }

    /// What an assessment is told of what the host found by itself.
    fn brief(&self, state: &State, starts: &[Start], changes: &[u8], base: &Path) -> String {
        if !starts.iter().any(|start| state.nodes[start.node].task.mode == "ethical") {
            return String::new();
        }
        self.conscience.brief(&Subject {
            goal_id: state.id.as_str(),
            request_id: "",
            goal: &state.goal,
            patch: changes,
            paths: &paths(state),
            before: &self.workspace,
            after: base,
            report: None,
        })
    }

    /// A run that could not be started.
    pub(super) fn tell_refused(&mut self, state: &State, node: usize, reason: &str) {
        let step = state.nodes[node].task.id.clone();
        self.journal.emit(Body::Warning { message: format!("{step}: {reason}") });
        let (outcome, duration_ms) = (Outcome::Failure, 0);
        self.journal.emit(Body::StepFinished { step, step_run: None, outcome, duration_ms });
    }

    pub(super) fn tell_end(&mut self, state: &State, node: usize, end: &AttemptEnd) {
        let node = &state.nodes[node];
        self.journal.emit(Body::StepFinished {
            step: node.task.id.clone(),
            step_run: node.attempts.last().and_then(|attempt| attempt.run.clone()),
            outcome: end.outcome,
            duration_ms: end.duration_ms,
        });
        if let Some(reason) = end.decision.reason().filter(|_| end.outcome == Outcome::Success) {
            let message = format!("{}: {}: {reason}", node.task.id, end.decision.name());
            self.journal.emit(Body::Warning { message });
        }
    }
}

pub(super) fn attempt(purpose: Purpose, mode: &str) -> Attempt {
    Attempt { purpose, mode: mode.to_owned(), run: None, folder: None, request: String::new(), end: None }
}

pub(super) fn plain_end(finished: &Finished, result: &ModeResult) -> AttemptEnd {
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
