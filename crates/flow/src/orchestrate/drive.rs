//! Carries out what the planner says, and writes the state down around everything that takes time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use holon_core::event::{EventBody, PlannedTask};
use holon_core::ids::TaskId;
use holon_core::mode::ModeCatalog;
use holon_core::outcome::RunStatus;
use holon_host::store::{RunFolder, usage_so_far, write_atomic};
use holon_host::{FinishedRun, HolonFolders, ModelCancel, SharedBudget};
use serde_json::json;

use super::child_builder::ChildBuilder;
use super::folder::OrchestrationFolder;
use super::graph::CHECK;
use super::merge_tree::MergeTree;
use super::planner::{OrchestrationAction, OrchestrationEvent, apply, is_overruled, next, word};
use super::release_gate::{self, ReleaseGate};
use super::report;
use super::state::{AttemptEnd, AttemptPurpose, OrchestrationEnd, OrchestrationState, TaskPhase};
use super::task_activity::TaskActivity;
use crate::conductor::MakeHost;
use crate::dispatch::Dispatcher;
use crate::error::FlowError;
use crate::journal::FlowJournal;
use crate::step::FlowRequest;

pub(super) struct OrchestrationDriver<'a, 's> {
    pub(super) places: &'a HolonFolders,
    pub(super) host: &'a MakeHost<'a>,
    pub(super) dispatcher: &'a Dispatcher,
    pub(super) conscience: &'a ReleaseGate,
    pub(super) asked: &'a FlowRequest,
    pub(super) catalog: &'a ModeCatalog,
    pub(super) held: OrchestrationFolder,
    pub(super) workspace: PathBuf,
    pub(super) trunk: MergeTree,
    pub(super) journal: FlowJournal<'s>,
    pub(super) cancel: &'a ModelCancel,
    pub(super) began: Instant,
    /// The money, which all children share.
    pub(super) budget: Option<SharedBudget>,
    /// What the runs of tasks are doing, by task.
    pub(super) activities: BTreeMap<String, TaskActivity>,
}

impl OrchestrationDriver<'_, '_> {
    /// Goes on until there is nothing more to do; how it ended is in the state.
    pub(super) fn go(&mut self, state: &mut OrchestrationState) -> Result<(), FlowError> {
        self.settle(state)?;
        if state.planned.is_some() {
            self.tell_plan(state);
        }
        self.hear_kept(state)?;
        while state.ended.is_none() {
            self.note_override(state)?;
            self.estimate(state);
            self.save(state)?;
            if self.cancel.is_cancelled() {
                state.ended = Some(OrchestrationEnd::Cancelled);
                break;
            }
            self.hear_people(state, &[])?;
            word::settle(state);
            let action = next(state, self.spent(state));
            tracing::debug!(?action, "goes on");
            let starts = matches!(
                action,
                OrchestrationAction::Plan
                    | OrchestrationAction::Begin(_)
                    | OrchestrationAction::Replan { .. }
            );
            if starts && let Some(reason) = self.dispatcher.today().reached() {
                let (task, kind) = ("budget".to_owned(), "day_limit".to_owned());
                state.ended = Some(OrchestrationEnd::Failed { task, kind, reason });
                break;
            }
            match action {
                OrchestrationAction::End(ended) => state.ended = Some(ended),
                OrchestrationAction::Plan => match self.harm_in_goal(state)? {
                    Some(reason) => {
                        let task = release_gate::GOAL.to_owned();
                        state.ended = Some(OrchestrationEnd::EthicsBlocked { task, reason });
                    }
                    None => self.plan(state)?,
                },
                OrchestrationAction::Begin(starts) => self.begin(state, &starts)?,
                OrchestrationAction::Merge { node } => self.join(state, node)?,
                OrchestrationAction::Check { node } => self.check(state, node)?,
                OrchestrationAction::Replan { node } => self.replan(state, node)?,
                OrchestrationAction::Leave { node } => self.leave(state, node),
            }
        }
        self.save(state)
    }

    /// Why a goal is not even planned, unless a person has said that it shall be.
    fn harm_in_goal(&self, state: &mut OrchestrationState) -> Result<Option<String>, FlowError> {
        let Some(harm) = release_gate::harm_in_goal(&state.goal) else { return Ok(None) };
        if state.ethics_override.is_none() {
            return Ok(Some(harm));
        }
        self.overrule(state)?;
        Ok(None)
    }

    /// A person's word against an assessment is written down when it counts, before anything follows from it.
    fn note_override(&self, state: &mut OrchestrationState) -> Result<(), FlowError> {
        if is_overruled(state) { self.overrule(state) } else { Ok(()) }
    }

    fn overrule(&self, state: &mut OrchestrationState) -> Result<(), FlowError> {
        let Some(given) = state.ethics_override.as_ref().filter(|_| !state.overruled) else { return Ok(()) };
        let detail = json!({
            "run_id": state.id, "reason": given.reason, "uid": given.uid, "terminal": given.terminal,
        });
        let person =
            if given.person.is_empty() { format!("uid {}", given.uid) } else { given.person.clone() };
        self.dispatcher.audit().append(&person, "ethics_overridden", detail, true)?;
        state.overruled = true;
        Ok(())
    }

    pub(super) fn save(&self, state: &OrchestrationState) -> Result<(), FlowError> {
        self.held.save(state)?;
        // Should the process die now, whoever marks it as interrupted finds how to go on in here.
        let manifest = report::begun(state, &self.held.run().record()?);
        let path = self.held.run().output().join("manifest.json");
        Ok(write_atomic(&path, manifest.to_json().as_bytes())?)
    }

    fn spent(&self, state: &OrchestrationState) -> u64 {
        state.elapsed_ms + self.began.elapsed().as_millis() as u64
    }

    /// Runs that were under way when the process before ended: those that came to their end count, others begin anew.
    fn settle(&mut self, state: &mut OrchestrationState) -> Result<(), FlowError> {
        for workspace in [self.workspace.clone(), self.trunk.path()] {
            self.held.runs_of(self.places, &workspace).sweep()?;
        }
        self.settle_plan(state);
        for number in 0..state.nodes.len() {
            let TaskPhase::Running { purpose } = state.nodes[number].phase else { continue };
            match self.ended_after_all(state, number)? {
                Some(end) => {
                    self.tell_end(state, number, &end);
                    apply(state, OrchestrationEvent::Ended { node: number, end: Box::new(end) });
                }
                None => {
                    state.nodes[number].phase = match purpose {
                        AttemptPurpose::Task => TaskPhase::Waiting,
                        AttemptPurpose::Conflict => TaskPhase::Conflict { paths: Vec::new() },
                        AttemptPurpose::Fix => TaskPhase::ToFix,
                    };
                }
            }
        }
        // What a run that was killed had paid for is paid, whoever does its work now.
        let mut paid = 0.0;
        let attempts = state.nodes.iter_mut().flat_map(|node| &mut node.attempts);
        for attempt in state.planning.iter_mut().chain(attempts) {
            let Some(at) = attempt.folder.as_ref().filter(|_| attempt.end.is_none()) else { continue };
            if attempt.killed_cost_usd.is_none() {
                let cost = usage_so_far(&self.held.own(at)).cost_usd.unwrap_or(0.0).max(0.0);
                attempt.killed_cost_usd = Some(cost);
                paid += cost;
            }
        }
        state.spent_usd += paid;
        if let Some(budget) = &self.budget {
            budget.spent_at_least(state.spent_usd);
        }
        Ok(())
    }

    fn ended_after_all(
        &mut self,
        state: &OrchestrationState,
        number: usize,
    ) -> Result<Option<AttemptEnd>, FlowError> {
        let Some(attempt) = state.nodes[number].attempts.last() else { return Ok(None) };
        if attempt.mode == CHECK {
            // Costs nothing, and what it was about is there again.
            return Ok(None);
        }
        let Some(at) = &attempt.folder else { return Ok(None) };
        let folder = RunFolder::open(self.held.own(at));
        let Some(manifest) = folder.manifest().filter(|_| folder.record().is_ok_and(|r| r.finished)) else {
            return Ok(None);
        };
        if matches!(manifest.status, RunStatus::Interrupted | RunStatus::Cancelled) {
            return Ok(None);
        }
        let finished = FinishedRun { manifest, folder: folder.path().to_owned(), out: None, applied: None };
        let result = crate::dispatch::result_of(&finished);
        self.end(state, number, attempt, &finished, result, &attempt.request).map(Some)
    }

    pub(super) fn tell_plan(&mut self, state: &OrchestrationState) {
        let tasks = state.nodes.iter().map(|node| PlannedTask {
            id: node.task.id.clone(),
            mode: node.task.mode.clone(),
            goal: node.task.goal.clone(),
            depends_on: node.task.depends_on.clone(),
        });
        let tasks: Vec<PlannedTask> = tasks.collect();
        if !tasks.is_empty() {
            self.journal.emit(EventBody::TasksPlanned { tasks });
        }
    }

    /// Says in the log of the orchestration what became of its children.
    pub(super) fn log_children(&self, state: &OrchestrationState) {
        let Some(plan) = state.planning.last() else { return };
        let whole = report::orchestration(state);
        let children: Vec<_> = whole
            .nodes
            .iter()
            .map(|node| json!({ "task": node.id, "status": node.status, "runs": node.attempts.len() }))
            .collect();
        let task = self.task(state, "orchestrate");
        self.dispatcher.tell_children(&task, &plan.request, json!(children), &whole.decision);
    }

    pub(super) fn child_builder(&self) -> ChildBuilder<'_> {
        ChildBuilder { asked: self.asked, catalog: self.catalog, folder: self.held.path() }
    }

    /// The folders of the children's hosts.
    pub(super) fn inside(&self) -> HolonFolders {
        HolonFolders { state: self.held.children(), ..self.places.clone() }
    }

    pub(super) fn bases(&self, run: &str) -> PathBuf {
        self.held.own("bases").join(run)
    }

    pub(super) fn time_left(&self, state: &OrchestrationState) -> Duration {
        Duration::from_millis(state.max_ms.saturating_sub(self.spent(state)).max(1))
    }

    /// The name of a task across retries and resumptions.
    pub(super) fn task(&self, state: &OrchestrationState, name: &str) -> TaskId {
        let text: String = format!("{}.{name}", state.id).chars().take(64).collect();
        // Ids and names of tasks are made of the same few characters.
        text.parse().unwrap_or_else(|_| crate::dispatch::new_task())
    }
}
