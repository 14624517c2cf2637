//! Carries out what the planner says, and writes the state down around everything that takes time.

use std::collections::BTreeMap;

use holon_core::event::Body;
use holon_core::manifest::{DecidedBy, ErrorInfo, GateDecision};
use holon_core::outcome::Status;

use crate::definition::{Definition, Step, Work};
use crate::error::FlowError;
use crate::gate::{Answer, GateMode};
use crate::planner::{Action, next};
use crate::state::{Done, Ended, Gate, Progress, State};

/// Everything outside the flow's own decisions; real in [`crate::live`], played in tests.
pub(crate) trait World {
    /// Makes the state survive whatever comes.
    fn save(&mut self, state: &State) -> Result<(), FlowError>;
    /// Tells whoever listens.
    fn tell(&mut self, body: Body);
    /// Whether somebody asked the flow to end.
    fn cancelled(&self) -> bool;
    /// How an interrupted run ended after all, if it did.
    fn ended_after_all(&mut self, state: &State, step: usize) -> Result<Option<Ran>, FlowError>;
    /// Digests of what earlier steps hand to a step, after checking that nobody changed it.
    fn handed(&mut self, state: &State, step: usize) -> Result<BTreeMap<String, String>, FlowError>;
    /// Runs a step; saves the state as soon as its run has a name.
    fn run(&mut self, state: &mut State, step: usize) -> Result<Ran, FlowError>;
    /// Looks what became of findings.
    fn look(&mut self, state: &State, step: usize) -> Result<Done, FlowError>;
    /// Asks somebody at a gate.
    fn ask(&mut self, state: &State, step: usize) -> Result<Answer, FlowError>;
}

/// What came of running a step.
pub(crate) struct Ran {
    pub(crate) done: Done,
    pub(crate) cost_usd: f64,
}

/// Goes on until there is nothing more to do; how it ended is in the state.
pub(crate) fn drive(
    definition: &Definition,
    state: &mut State,
    gates: GateMode,
    world: &mut dyn World,
) -> Result<(), FlowError> {
    while state.ended.is_none() {
        if world.cancelled() {
            state.ended = Some(Ended::Cancelled);
            break;
        }
        let action = next(definition, state, gates);
        carry_out(definition, state, world, action)?;
        world.save(state)?;
    }
    world.save(state)
}

fn carry_out(
    definition: &Definition,
    state: &mut State,
    world: &mut dyn World,
    action: Action,
) -> Result<(), FlowError> {
    match action {
        Action::End(ended) => state.ended = Some(ended),
        Action::Skip { step, why } => {
            world.tell(Body::StepSkipped { step: name(definition, step), reason: why.clone() });
            state.steps[step].progress = Progress::Skipped { why };
        }
        Action::Reach { step } => match world.handed(state, step) {
            Ok(seen) => {
                world.tell(Body::GateReached { step: name(definition, step), files: seen.clone() });
                state.steps[step].gate = Gate::Reached { seen };
            }
            Err(error) => state.ended = Some(failed(definition, step, &error)),
        },
        Action::Ask { step } => {
            let (decision, comment) = match world.ask(state, step)? {
                Answer::Go { comment } => (GateDecision::Approved, comment),
                Answer::Stop => (GateDecision::Stopped, None),
                // The gate stays as it is: whoever resumes is asked again.
                Answer::Cancelled => {
                    state.ended = Some(Ended::Cancelled);
                    return Ok(());
                }
            };
            decide(definition, state, world, step, decision, DecidedBy::Person, comment);
        }
        Action::Decide { step, decision } => {
            decide(definition, state, world, step, decision, DecidedBy::Rule, None);
        }
        Action::Work { step } => work(definition, state, world, step)?,
    }
    Ok(())
}

fn decide(
    definition: &Definition,
    state: &mut State,
    world: &mut dyn World,
    step: usize,
    decision: GateDecision,
    by: DecidedBy,
    comment: Option<String>,
) {
    world.tell(Body::GateDecided { step: name(definition, step), decision, by, comment: comment.clone() });
    state.decide(step, decision, by, comment);
}

fn work(
    definition: &Definition,
    state: &mut State,
    world: &mut dyn World,
    step: usize,
) -> Result<(), FlowError> {
    if let Some(Ran { done, cost_usd }) = world.ended_after_all(state, step)? {
        state.spent_usd += cost_usd;
        finish(definition, state, world, step, done);
        return Ok(());
    }
    let Step { name, work, .. } = &definition.steps[step];
    let mode = match work {
        Work::Run(run) => Some(run.mode.clone()),
        Work::Findings { .. } => None,
    };
    match world.handed(state, step) {
        Ok(handed) => state.steps[step].handed = handed,
        Err(error) => {
            state.ended = Some(failed(definition, step, &error));
            return Ok(());
        }
    }
    let attempt = state.steps[step].runs.len() as u32 + 1;
    world.tell(Body::StepStarted { step: name.clone(), mode: mode.clone(), attempt });
    state.steps[step].progress = Progress::Running { run: None };
    world.save(state)?;
    let worked = match work {
        Work::Run(_) => world.run(state, step),
        Work::Findings { .. } => world.look(state, step).map(|done| Ran { done, cost_usd: 0.0 }),
    };
    match worked {
        Ok(Ran { done, cost_usd }) => {
            state.spent_usd += cost_usd;
            finish(definition, state, world, step, done);
        }
        Err(error) => {
            state.steps[step].progress = Progress::Waiting;
            state.ended = Some(failed(definition, step, &error));
        }
    }
    Ok(())
}

/// Notes a step that has ended; one that was cancelled is as if it had not begun.
fn finish(definition: &Definition, state: &mut State, world: &mut dyn World, step: usize, done: Done) {
    world.tell(Body::StepFinished {
        step: name(definition, step),
        step_run: done.run.clone(),
        outcome: done.outcome,
        duration_ms: done.duration_ms,
    });
    if done.status == Status::Cancelled {
        state.steps[step].progress = Progress::Waiting;
        state.ended = Some(Ended::Cancelled);
    } else {
        state.steps[step].progress = Progress::Done(done);
    }
}

fn failed(definition: &Definition, step: usize, error: &FlowError) -> Ended {
    let info = ErrorInfo { hint: error.hint(), ..ErrorInfo::new(error.kind(), error.to_string()) };
    Ended::Failed { step: name(definition, step), error: Some(info) }
}

fn name(definition: &Definition, step: usize) -> String {
    definition.steps[step].name.clone()
}

#[cfg(test)]
mod tests;
