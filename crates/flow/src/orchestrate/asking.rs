//! Asking for a plan, at first and when a task could not be done. The run that is asked is noted before it starts, so that
//! what it answered is found after a kill.

use std::fs;
use std::path::Path;

use holon_core::artifact::orchestration::OrchestrationGraph;
use holon_core::event::{EventBody, RunEvent};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::store::RunFolder;
use holon_host::{FinishedRun, RunContext};

use super::brief;
use super::child_builder::{self, ChildRequest};
use super::children::{attempt, plain_end, relative};
use super::drive::OrchestrationDriver;
use super::graph;
use super::planner::{OrchestrationEvent, apply};
use super::state::{
    AttemptEnd, AttemptPurpose, OrchestrationEnd, OrchestrationState, PlanOrigin, ReplanAnswer,
};
use crate::dispatch::DispatchCall;
use crate::error::FlowError;

impl OrchestrationDriver<'_, '_> {
    /// Has the goal split; what the model hands over was checked, and mended once, by the run itself.
    pub(super) fn plan(&mut self, state: &mut OrchestrationState) -> Result<(), FlowError> {
        let workspace = self.workspace.clone();
        let child = child_builder::planner(&self.child_builder(), state, &workspace, None)?;
        match self.ask(state, child, &workspace)? {
            Ok(end) if end.status == RunStatus::Cancelled => state.ended = Some(OrchestrationEnd::Cancelled),
            Ok(end) => self.take_plan(state, &end),
            Err((kind, reason)) => apply(state, OrchestrationEvent::PlanFailed { kind, reason }),
        }
        Ok(())
    }

    /// Has the rest of the work planned again.
    pub(super) fn replan(&mut self, state: &mut OrchestrationState, node: usize) -> Result<(), FlowError> {
        apply(state, OrchestrationEvent::Replanning { node });
        self.save(state)?;
        let base = self.trunk.base(&state.merges)?;
        let changes = self.changes(state)?.patch;
        let files = brief::files(state, node, self.time_left(state), self.held.path(), &changes)?;
        let child = child_builder::planner(&self.child_builder(), state, &base, Some(&files))?;
        match self.ask(state, child, &base)? {
            // Whoever goes on asks again.
            Ok(end) if end.status == RunStatus::Cancelled => state.ended = Some(OrchestrationEnd::Cancelled),
            Ok(end) => self.take_replan(state, &end),
            Err((_, problem)) => self.replanned(state, Err(problem)),
        }
        Ok(())
    }

    /// Brings only what is done to its end.
    pub(super) fn leave(&mut self, state: &mut OrchestrationState, node: Option<usize>) {
        apply(state, OrchestrationEvent::Left { node });
        self.tell_left(state);
    }

    /// Runs the planner. An error is why it could not be started: a stable short word and a sentence.
    fn ask(
        &mut self,
        state: &mut OrchestrationState,
        child: ChildRequest,
        base: &Path,
    ) -> Result<Result<AttemptEnd, (String, String)>, FlowError> {
        let number = state.planning.len() as u32 + 1;
        let (step, mode) = ("orchestrate".to_owned(), child.mode);
        self.journal.emit(EventBody::StepStarted { step, mode: Some(mode.clone()), attempt: number });
        state.planning.push(attempt(AttemptPurpose::Task, &mode));
        self.save(state)?;
        let host = (self.host)(self.inside());
        let (money, time) = (state.money_left(), self.time_left(state));
        let mut request = child.request;
        // Its own limits, since it has no parent that could hand any down.
        request.max_cost_usd = money;
        request.timeout = Some(time.into());
        let task = self.task(state, "orchestrate");
        let planned = host.plan(&request).map_err(FlowError::from);
        let runs = self.held.runs_of(self.places, base);
        let (journal, held, cancel) = (&mut self.journal, &self.held, self.cancel);
        let mut pass = |event: &RunEvent| {
            if matches!(event.body, EventBody::RunStarted { .. })
                && let Some(asked) = state.planning.last_mut()
            {
                asked.run = Some(event.run.clone());
                asked.folder = relative(held.path(), runs.open(&event.run).path());
                // Should this fail, the worst is that an answer is not found after a kill.
                let _ = held.save(state);
            }
            journal.pass_from("orchestrate", event);
        };
        let (dispatcher, budget) = (self.dispatcher, self.budget.clone());
        let asked = planned.and_then(|plan| {
            let call = DispatchCall { task, attempt: number, ..DispatchCall::new(plan) };
            let context = RunContext { budget, ..RunContext::new(&mut pass, cancel) };
            dispatcher.dispatch(call, &host, context)
        });
        let done = match asked {
            Ok(done) => done,
            Err(error) => return Ok(Err((error.kind().to_owned(), error.to_string()))),
        };
        let end = plain_end(&done.finished, &done.result);
        if let Some(last) = state.planning.last_mut() {
            last.run = Some(done.finished.manifest.run_id.clone());
            last.folder = relative(self.held.path(), &done.finished.folder);
            last.request = done.request_id.to_string();
        }
        self.asked(state, &end);
        Ok(Ok(end))
    }

    /// Takes note of the end of a run that planned.
    fn asked(&mut self, state: &mut OrchestrationState, end: &AttemptEnd) {
        state.spent_usd += end.cost_usd.max(0.0);
        let last = state.planning.last_mut();
        let step_run = last.as_ref().and_then(|last| last.run.clone());
        if let Some(last) = last {
            last.end = Some(end.clone());
        }
        self.journal.emit(EventBody::StepFinished {
            step: "orchestrate".into(),
            step_run,
            outcome: end.outcome,
            duration_ms: end.duration_ms,
        });
    }

    /// A run that planned when the process before ended: what it answered counts, if it did.
    pub(super) fn settle_plan(&mut self, state: &mut OrchestrationState) {
        let Some(last) = state.planning.last().filter(|attempt| attempt.end.is_none()) else { return };
        let Some(at) = &last.folder else { return };
        let folder = RunFolder::open(self.held.own(at));
        let over = folder.record().is_ok_and(|record| record.finished);
        let Some(manifest) = folder.manifest().filter(|_| over) else { return };
        if matches!(manifest.status, RunStatus::Interrupted | RunStatus::Cancelled) {
            return;
        }
        let finished = FinishedRun { manifest, folder: folder.path().to_owned(), out: None, applied: None };
        let end = plain_end(&finished, &crate::dispatch::result_of(&finished));
        let again = state.replans.last().is_some_and(|replan| replan.answer.is_none());
        if state.planned.is_none() {
            self.asked(state, &end);
            self.take_plan(state, &end);
        } else if again {
            self.asked(state, &end);
            self.take_replan(state, &end);
        }
    }

    /// The plan of the run that was asked last, if it is sound.
    fn answer(&self, state: &OrchestrationState, end: &AttemptEnd) -> Option<OrchestrationGraph> {
        let at = state.planning.last().and_then(|attempt| attempt.folder.as_ref())?;
        let bytes = fs::read(self.held.own(at).join("output/orchestration.json")).ok()?;
        let graph = serde_json::from_slice::<OrchestrationGraph>(&bytes).ok()?;
        (end.outcome == RunOutcome::Success && graph.check().is_empty()).then_some(graph)
    }

    /// A plan that is sound is taken; where the model planned nothing, the usual one is. Other troubles are no plan.
    fn take_plan(&mut self, state: &mut OrchestrationState, end: &AttemptEnd) {
        // There is nothing yet that could be kept, or be left.
        let graph = self.answer(state, end).filter(|graph| graph.kept.is_empty() && graph.stop.is_none());
        let kind = end.error.as_ref().map_or("", |(kind, _)| kind.as_str());
        let planless = end.outcome == RunOutcome::Success || kind.starts_with("artifact");
        match graph {
            Some(graph) => {
                let by = PlanOrigin { by_model: true, problem: None };
                apply(state, OrchestrationEvent::Planned { graph, by });
            }
            None if planless => {
                let problem = end.error.as_ref().map(|(_, message)| message.clone());
                let problem = problem.or_else(|| Some("the model made no plan that could be used".into()));
                let why = problem.as_deref().unwrap_or_default();
                let message = format!(
                    "there is no usable plan of the model ({why}); taking architect, code, review, ethical"
                );
                self.journal.emit(EventBody::Warning { message });
                let by = PlanOrigin { by_model: false, problem };
                apply(state, OrchestrationEvent::Planned { graph: graph::usual(&state.goal), by });
            }
            None => {
                let (kind, reason) =
                    end.error.clone().unwrap_or_else(|| ("plan".into(), "there is no plan".into()));
                apply(state, OrchestrationEvent::PlanFailed { kind, reason });
            }
        }
        self.tell_plan(state);
    }

    /// What a run that planned the rest answered; nobody else plans it when that cannot be used.
    fn take_replan(&mut self, state: &mut OrchestrationState, end: &AttemptEnd) {
        let problem = || {
            let told = end.error.as_ref().map(|(_, message)| message.clone());
            told.unwrap_or_else(|| "there is no plan that could be used".into())
        };
        let answer = self.answer(state, end).ok_or_else(problem);
        self.replanned(state, answer);
    }

    fn replanned(&mut self, state: &mut OrchestrationState, answer: Result<OrchestrationGraph, String>) {
        let run = state.planning.last().and_then(|attempt| attempt.run.clone());
        apply(state, OrchestrationEvent::Replanned { run, answer });
        let Some(replan) = state.replans.last() else { return };
        self.journal.emit(EventBody::Replanned {
            number: state.replans.len() as u32,
            after: replan.after_task.clone(),
            reason: replan.reason.clone(),
            kept: replan.kept.clone(),
            dropped: replan.dropped.clone(),
            added: replan.added.clone(),
            no_plan: replan.answer.as_ref().and_then(ReplanAnswer::no_plan).map(str::to_owned),
        });
        self.tell_left(state);
        self.tell_plan(state);
    }

    /// Says that only a part goes on.
    fn tell_left(&mut self, state: &OrchestrationState) {
        let Some(left) = &state.left else { return };
        let names: Vec<&str> = left.nodes.iter().map(|node| node.task.id.as_str()).collect();
        let message = format!("only what is done is brought to its end; left: {}", names.join(", "));
        self.journal.emit(EventBody::Warning { message });
        self.tell_plan(state);
    }
}
