//! Carries out what the planner says, and writes the state down around everything that takes time.

use std::collections::BTreeMap;

use holon_core::event::EventBody;
use holon_core::manifest::{DecidedBy, ErrorInfo, GateDecision};
use holon_core::outcome::RunStatus;

use crate::definition::{FlowDefinition, StepDefinition, StepWork};
use crate::error::FlowError;
use crate::gate::{GateAnswer, GateMode};
use crate::planner::{FlowAction, next};
use crate::state::{FinishedStep, FlowEnd, FlowState, FlowStepProgress, StepGate};

/// Everything outside the flow's own decisions; real in [`crate::live`], played in tests.
pub(crate) trait FlowWorld {
    /// Makes the state survive whatever comes.
    fn save(&mut self, state: &FlowState) -> Result<(), FlowError>;
    /// Tells whoever listens.
    fn tell(&mut self, body: EventBody);
    /// Whether somebody asked the flow to end.
    fn cancelled(&self) -> bool;
    /// How an interrupted run ended after all, if it did.
    fn ended_after_all(
        &mut self,
        state: &FlowState,
        step: usize,
    ) -> Result<Option<FinishedStepRun>, FlowError>;
    /// Digests of what earlier steps hand to a step, after checking that nobody changed it.
    fn handed(&mut self, state: &FlowState, step: usize) -> Result<BTreeMap<String, String>, FlowError>;
    /// Runs a step; saves the state as soon as its run has a name.
    fn run(&mut self, state: &mut FlowState, step: usize) -> Result<FinishedStepRun, FlowError>;
    /// Looks what became of findings.
    fn look(&mut self, state: &FlowState, step: usize) -> Result<FinishedStep, FlowError>;
    /// Asks somebody at a gate.
    fn ask(&mut self, state: &FlowState, step: usize) -> Result<GateAnswer, FlowError>;
}

/// What came of running a step.
pub(crate) struct FinishedStepRun {
    pub(crate) done: FinishedStep,
    pub(crate) cost_usd: f64,
}

/// Goes on until there is nothing more to do; how it ended is in the state.
pub(crate) fn drive(
    definition: &FlowDefinition,
    state: &mut FlowState,
    gates: GateMode,
    world: &mut dyn FlowWorld,
) -> Result<(), FlowError> {
    while state.ended.is_none() {
        if world.cancelled() {
            state.ended = Some(FlowEnd::Cancelled);
            break;
        }
        let action = next(definition, state, gates);
        carry_out(definition, state, world, action)?;
        world.save(state)?;
    }
    world.save(state)
}

fn carry_out(
    definition: &FlowDefinition,
    state: &mut FlowState,
    world: &mut dyn FlowWorld,
    action: FlowAction,
) -> Result<(), FlowError> {
    tracing::debug!(flow = %definition.name, ?action, "goes on");
    match action {
        FlowAction::End(ended) => state.ended = Some(ended),
        FlowAction::Skip { step, why } => {
            world.tell(EventBody::StepSkipped { step: name(definition, step), reason: why.clone() });
            state.steps[step].progress = FlowStepProgress::Skipped { why };
        }
        FlowAction::Reach { step } => match world.handed(state, step) {
            Ok(seen) => {
                world.tell(EventBody::GateReached { step: name(definition, step), files: seen.clone() });
                state.steps[step].gate = StepGate::Reached { seen };
            }
            Err(error) => state.ended = Some(failed(definition, step, &error)),
        },
        FlowAction::Ask { step } => {
            let (decision, comment) = match world.ask(state, step)? {
                GateAnswer::Go { comment } => (GateDecision::Approved, comment),
                GateAnswer::Stop => (GateDecision::Stopped, None),
                // The gate stays as it is: whoever resumes is asked again.
                GateAnswer::Cancelled => {
                    state.ended = Some(FlowEnd::Cancelled);
                    return Ok(());
                }
            };
            decide(definition, state, world, step, decision, DecidedBy::Person, comment);
        }
        FlowAction::Decide { step, decision } => {
            decide(definition, state, world, step, decision, DecidedBy::Rule, None);
        }
        FlowAction::Repeat { first, last } => state.repeat(first, last),
        FlowAction::Work { step } => work(definition, state, world, step)?,
    }
    Ok(())
}

fn decide(
    definition: &FlowDefinition,
    state: &mut FlowState,
    world: &mut dyn FlowWorld,
    step: usize,
    decision: GateDecision,
    by: DecidedBy,
    comment: Option<String>,
) {
    world.tell(EventBody::GateDecided {
        step: name(definition, step),
        decision,
        by,
        comment: comment.clone(),
    });
    state.decide(step, decision, by, comment);
}

fn work(
    definition: &FlowDefinition,
    state: &mut FlowState,
    world: &mut dyn FlowWorld,
    step: usize,
) -> Result<(), FlowError> {
    if let Some(FinishedStepRun { done, cost_usd }) = world.ended_after_all(state, step)? {
        state.spent_usd += cost_usd;
        finish(definition, state, world, step, done);
        return Ok(());
    }
    let StepDefinition { name, work, .. } = &definition.steps[step];
    let mode = match work {
        StepWork::Run(run) => Some(run.mode.clone()),
        StepWork::Findings { .. } => None,
    };
    match world.handed(state, step) {
        Ok(handed) => state.steps[step].handed = handed,
        Err(error) => {
            state.ended = Some(failed(definition, step, &error));
            return Ok(());
        }
    }
    let attempt = state.steps[step].every_run().count() as u32 + 1;
    world.tell(EventBody::StepStarted { step: name.clone(), mode: mode.clone(), attempt });
    state.steps[step].progress = FlowStepProgress::Running { run: None };
    world.save(state)?;
    let worked = match work {
        StepWork::Run(_) => world.run(state, step),
        StepWork::Findings { .. } => {
            world.look(state, step).map(|done| FinishedStepRun { done, cost_usd: 0.0 })
        }
    };
    match worked {
        Ok(FinishedStepRun { done, cost_usd }) => {
            state.spent_usd += cost_usd;
            finish(definition, state, world, step, done);
        }
        Err(error) => {
            state.steps[step].progress = FlowStepProgress::Waiting;
            state.ended = Some(failed(definition, step, &error));
        }
    }
    Ok(())
}

/// Notes a step that has ended; one that was cancelled is as if it had not begun.
fn finish(
    definition: &FlowDefinition,
    state: &mut FlowState,
    world: &mut dyn FlowWorld,
    step: usize,
    done: FinishedStep,
) {
    world.tell(EventBody::StepFinished {
        step: name(definition, step),
        step_run: done.run.clone(),
        outcome: done.outcome,
        duration_ms: done.duration_ms,
    });
    if done.status == RunStatus::Cancelled {
        state.steps[step].progress = FlowStepProgress::Waiting;
        state.ended = Some(FlowEnd::Cancelled);
    } else {
        state.steps[step].progress = FlowStepProgress::Done(done);
    }
}

fn failed(definition: &FlowDefinition, step: usize, error: &FlowError) -> FlowEnd {
    let info = ErrorInfo { hint: error.hint(), ..ErrorInfo::new(error.kind(), error.to_string()) };
    FlowEnd::Failed { step: name(definition, step), error: Some(info) }
}

fn name(definition: &FlowDefinition, step: usize) -> String {
    definition.steps[step].name.clone()
}

#[cfg(test)]
mod tests;
