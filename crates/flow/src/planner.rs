//! What comes next: a pure function of definition, state and the rule for gates. It touches nothing and knows no clock.

use std::fmt;

use holon_core::manifest::GateDecision;
use holon_core::outcome::RunOutcome;

use crate::definition::{FlowDefinition, StepCondition, StepDefinition, StepWork};
use crate::gate::GateMode;
use crate::state::{FlowEnd, FlowState, FlowStepProgress, StepGate};

/// The next thing to do; steps are named by their place in the definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowAction {
    /// Leave a step out.
    Skip {
        /// The step.
        step: usize,
        /// Why.
        why: String,
    },
    /// Look at what the gate before a step is about.
    Reach {
        /// The step behind the gate.
        step: usize,
    },
    /// Ask somebody whether a step may start.
    Ask {
        /// The step behind the gate.
        step: usize,
    },
    /// Decide by rule whether a step may start.
    Decide {
        /// The step behind the gate.
        step: usize,
        /// The decision.
        decision: GateDecision,
    },
    /// Do a step's work: for the first time, or anew because nobody knows how it ended.
    Work {
        /// The step.
        step: usize,
    },
    /// Nothing more to do.
    End(FlowEnd),
}

/// The next thing to do. Steps are taken in order; nothing is ever done twice unless it was interrupted.
pub fn next(definition: &FlowDefinition, state: &FlowState, gates: GateMode) -> FlowAction {
    for (place, (step, now)) in definition.steps.iter().zip(&state.steps).enumerate() {
        match &now.progress {
            FlowStepProgress::Skipped { .. } => {}
            FlowStepProgress::Done(done) => match done.outcome {
                RunOutcome::Success => {}
                RunOutcome::Failure => {
                    return FlowAction::End(FlowEnd::Failed { step: now.name.clone(), error: None });
                }
                // No word at a gate makes up for work that is not done.
                RunOutcome::NeedsHuman if done.stopped_midway() => {
                    return FlowAction::End(FlowEnd::NeedsHuman { step: now.name.clone() });
                }
                // A gate is where a person decides about it; the host may always look at it.
                RunOutcome::NeedsHuman if now.accepted || !rushes_on(&definition.steps[place + 1..]) => {}
                RunOutcome::NeedsHuman => {
                    return FlowAction::End(FlowEnd::NeedsHuman { step: now.name.clone() });
                }
            },
            FlowStepProgress::Running { .. } => return FlowAction::Work { step: place },
            FlowStepProgress::Waiting => return open(definition, state, place, step, gates),
        }
    }
    FlowAction::End(FlowEnd::Complete)
}

/// Whether the next run would start without a gate before it.
fn rushes_on(rest: &[StepDefinition]) -> bool {
    rest.iter().find(|step| matches!(step.work, StepWork::Run(_))).is_some_and(|step| !step.gate)
}

/// What stands between a step and its start.
fn open(
    definition: &FlowDefinition,
    state: &FlowState,
    place: usize,
    step: &StepDefinition,
    gates: GateMode,
) -> FlowAction {
    if step.when == Some(StepCondition::Findings) && findings_before(state, place) == Some(0) {
        return FlowAction::Skip { step: place, why: "nothing was found".into() };
    }
    if step.gate {
        match &state.steps[place].gate {
            StepGate::Ahead => return FlowAction::Reach { step: place },
            StepGate::Reached { .. } => return at_gate(definition, state, place, gates),
            StepGate::Decided(gate) if gate.decision == GateDecision::Stopped => {
                return FlowAction::End(FlowEnd::Stopped { step: step.name.clone() });
            }
            StepGate::Decided(_) => {}
        }
    }
    if matches!(step.work, StepWork::Run(_)) && state.money_left().is_some_and(|left| left <= 0.0) {
        return FlowAction::End(FlowEnd::OutOfMoney { step: step.name.clone() });
    }
    FlowAction::Work { step: place }
}

fn at_gate(definition: &FlowDefinition, state: &FlowState, place: usize, gates: GateMode) -> FlowAction {
    let decide = |decision| FlowAction::Decide { step: place, decision };
    match gates {
        GateMode::Ask => FlowAction::Ask { step: place },
        GateMode::Stop => decide(GateDecision::Stopped),
        GateMode::Auto => {
            let before = definition.steps[..place].iter().zip(&state.steps);
            let clean = before.filter_map(|(_, s)| s.done()).all(|done| done.outcome == RunOutcome::Success);
            decide(if clean { GateDecision::Approved } else { GateDecision::Stopped })
        }
    }
}

/// How much the last step that looked for something found.
fn findings_before(state: &FlowState, place: usize) -> Option<u64> {
    state.steps[..place].iter().rev().find_map(|step| step.done()?.findings)
}

impl fmt::Display for FlowEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("all steps are done"),
            Self::Stopped { step } => write!(f, "stopped at the gate before {step}"),
            Self::NeedsHuman { step } => write!(f, "the step {step} asks for a person"),
            Self::Failed { step, .. } => write!(f, "the step {step} failed"),
            Self::OutOfMoney { step } => write!(f, "all money is spent, so {step} was not started"),
            Self::Cancelled => f.write_str("cancelled by request"),
        }
    }
}

#[cfg(test)]
mod tests;
