//! Rounds of a loop: what comes after its last step, what is put aside when the flow goes back, and everything that was
//! done in order. All of it is decided from definition and state alone.

use holon_core::digest::sha256;
use holon_core::ids::RunId;
use holon_core::outcome::RunOutcome;
use serde::{Deserialize, Serialize};

use crate::definition::{FlowDefinition, LoopGoal, StepWork};
use crate::planner::FlowAction;
use crate::state::{FinishedStep, FlowEnd, FlowState, FlowStepProgress, StepGate, StepState};

/// The artifact that holds a step's changes.
pub(crate) const PATCH: &str = "diff.patch";

/// What a step came to in a round that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRound {
    /// How it ended.
    pub progress: FlowStepProgress,
    /// Every run that was started for it in that round.
    #[serde(default)]
    pub runs: Vec<RunId>,
    /// What was decided at the gate before it.
    #[serde(default)]
    pub gate: StepGate,
}

impl StepRound {
    /// What is known of it when the step ended by itself.
    pub fn done(&self) -> Option<&FinishedStep> {
        match &self.progress {
            FlowStepProgress::Done(done) => Some(done),
            _ => None,
        }
    }
}

/// What the loop that ends with a step demands once that step is over; `None` where the flow goes on with the next one.
pub(crate) fn after(definition: &FlowDefinition, state: &FlowState, place: usize) -> Option<FlowAction> {
    let (first, _, terms) = definition.loops().find(|(_, end, _)| *end == place)?;
    let last = state.steps.get(place)?;
    if last.left_loop || is_reached(terms.until, state, first, place) {
        return None;
    }
    let round = last.round();
    if round >= terms.most {
        let end =
            FlowEnd::LoopOver { step: last.name.clone(), rounds: round, until: terms.until.name().into() };
        return Some(FlowAction::End(end));
    }
    // Nobody stands between the rounds who could decide about a run that asks for a person.
    let inside = definition.steps.iter().zip(&state.steps).take(place + 1).skip(first);
    let mut runs = inside.filter(|(step, _)| matches!(step.work, StepWork::Run(_))).map(|(_, now)| now);
    let asks = |now: &&StepState| {
        !now.accepted && now.done().is_some_and(|done| done.outcome == RunOutcome::NeedsHuman)
    };
    if let Some(asking) = runs.find(asks) {
        return Some(FlowAction::End(FlowEnd::NeedsHuman { step: asking.name.clone() }));
    }
    Some(FlowAction::Repeat { first, last: place })
}

fn is_reached(goal: LoopGoal, state: &FlowState, first: usize, last: usize) -> bool {
    let round = || state.steps.iter().take(last + 1).skip(first);
    match goal {
        LoopGoal::NoFindings => round().rev().find_map(|step| step.done()?.findings) == Some(0),
        LoopGoal::NoChanges => !round().filter_map(StepState::done).any(FinishedStep::changed_files),
    }
}

impl FinishedStep {
    /// Whether it handed over a change that is not empty.
    pub fn changed_files(&self) -> bool {
        self.artifacts.get(PATCH).is_some_and(|digest| *digest != sha256(b""))
    }
}

impl StepState {
    /// Which round of its loop it is in; 1 outside of loops.
    pub fn round(&self) -> u32 {
        self.earlier.len() as u32 + 1
    }

    /// Every run that was started for it, in whatever round.
    pub fn every_run(&self) -> impl Iterator<Item = &RunId> {
        self.earlier.iter().flat_map(|round| &round.runs).chain(&self.runs)
    }

    /// The newest result there is of it: that of an earlier round where this one did not need it.
    pub fn result(&self) -> Option<&FinishedStep> {
        let before = || self.earlier.iter().rev().find_map(StepRound::done);
        match &self.progress {
            FlowStepProgress::Done(done) => Some(done),
            FlowStepProgress::Skipped { .. } => before(),
            FlowStepProgress::Waiting | FlowStepProgress::Running { .. } => None,
        }
    }
}

impl FlowState {
    /// Puts the round of a loop aside that is over, so that its steps begin anew.
    pub(crate) fn repeat(&mut self, first: usize, last: usize) {
        for step in self.steps.iter_mut().take(last + 1).skip(first) {
            step.earlier.push(StepRound {
                progress: std::mem::replace(&mut step.progress, FlowStepProgress::Waiting),
                runs: std::mem::take(&mut step.runs),
                gate: std::mem::take(&mut step.gate),
            });
            step.messages.clear();
            step.handed.clear();
            (step.accepted, step.goes_on) = (false, None);
        }
    }

    /// Everything that was done in all rounds, in the order it was done: each step's name, its round, and its result.
    pub(crate) fn in_order<'s>(
        &'s self,
        definition: &FlowDefinition,
    ) -> Vec<(&'s str, u32, &'s FinishedStep)> {
        let mut all = Vec::new();
        let mut place = 0;
        while place < self.steps.len() {
            let last = definition.loop_from(place).map_or(place, |(end, _)| end);
            let part = self.steps.get(place..=last).unwrap_or_default();
            let rounds = part.iter().map(|step| step.earlier.len()).max().unwrap_or(0);
            for round in 0..rounds {
                let of_round = part.iter().filter_map(|step| Some((step, step.earlier.get(round)?.done()?)));
                all.extend(of_round.map(|(step, done)| (step.name.as_str(), round as u32 + 1, done)));
            }
            let now = part.iter().filter_map(|step| Some((step.name.as_str(), step.round(), step.done()?)));
            all.extend(now);
            place = last + 1;
        }
        all
    }

    /// The changes that later steps find in their workspace, and that leave as one: each step's name and result, in order.
    pub(crate) fn changes<'s>(&'s self, definition: &FlowDefinition) -> Vec<(&'s str, &'s FinishedStep)> {
        let counts = |done: &FinishedStep| {
            done.run.is_some()
                && done.outcome != RunOutcome::Failure
                && !done.stopped_midway()
                && done.changed_files()
        };
        let all = self.in_order(definition).into_iter();
        all.filter(|(_, _, done)| counts(done)).map(|(step, _, done)| (step, done)).collect()
    }

    /// Whether the flow's change is more than the patch of the last step that handed one over: that of several steps, or of
    /// one that is not the last.
    pub(crate) fn is_combined(&self, definition: &FlowDefinition) -> bool {
        let changes = self.changes(definition);
        let patched = |done: &FinishedStep| done.run.is_some() && done.artifacts.contains_key(PATCH);
        let last = self.in_order(definition).into_iter().map(|(_, _, done)| done).rfind(|done| patched(done));
        match changes.as_slice() {
            [] => false,
            [(_, only)] => last.is_some_and(|last| last.run != only.run),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
