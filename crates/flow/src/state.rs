//! Where a flow is: everything that must survive the process, in one file that is replaced in one step.

use std::collections::BTreeMap;

use holon_core::ids::RunId;
use holon_core::manifest::{DecidedBy, ErrorInfo, FlowGate, GateDecision};
use holon_core::outcome::{RunOutcome, RunStatus};
use serde::{Deserialize, Serialize};

use crate::definition::{FlowDefinition, StepWork};
use crate::error::FlowError;

/// `flow.json`: where a flow is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowState {
    /// Version of this form.
    pub version: u32,
    /// The flow's id, also the name of its folder in the run store.
    pub id: RunId,
    /// The name of its definition.
    pub flow: String,
    /// What the caller needs to make the same request again; its form belongs to the caller.
    pub asked: serde_json::Value,
    /// Digest of the spec it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_sha256: Option<String>,
    /// What all steps together may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// What they have cost so far.
    #[serde(default)]
    pub spent_usd: f64,
    /// One entry per step of the definition, in order.
    pub steps: Vec<StepState>,
    /// How it ended, until it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<FlowEnd>,
    /// Whether its end was written down in full: manifest, artifacts and all.
    #[serde(default)]
    pub sealed: bool,
    /// Wall time spent in it so far.
    #[serde(default)]
    pub elapsed_ms: u64,
}

/// Where one step is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepState {
    /// Its name in the definition.
    pub name: String,
    /// How far it is.
    pub progress: FlowStepProgress,
    /// Every run that was started for it.
    #[serde(default)]
    pub runs: Vec<RunId>,
    /// The gate before it.
    #[serde(default)]
    pub gate: StepGate,
    /// What people want its agent to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Digests of what earlier steps handed to it, as `step/file`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handed: BTreeMap<String, String>,
    /// Whether a person went on although it asked for one.
    #[serde(default)]
    pub accepted: bool,
    /// A run of it that stopped midway: its next run goes on where that one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_on: Option<RunId>,
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FlowStepProgress {
    /// Its turn has not come.
    Waiting,
    /// It was started; what became of it is in the run, if it got that far.
    Running {
        /// The run, as soon as it has a name.
        #[serde(default)]
        run: Option<RunId>,
    },
    /// It has ended by itself.
    Done(FinishedStep),
    /// It is not needed.
    Skipped {
        /// Why.
        why: String,
    },
}

/// A step that has ended by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedStep {
    /// Its run, if it was one.
    #[serde(default)]
    pub run: Option<RunId>,
    /// What happened to the execution.
    pub status: RunStatus,
    /// What the result is worth.
    pub outcome: RunOutcome,
    /// Its wall time.
    pub duration_ms: u64,
    /// Digest of its manifest.
    #[serde(default)]
    pub manifest_sha256: Option<String>,
    /// Digest of each valid artifact.
    pub artifacts: BTreeMap<String, String>,
    /// How many findings it left, when it looked for any.
    #[serde(default)]
    pub findings: Option<u64>,
    /// Why it did not succeed.
    #[serde(default)]
    pub error: Option<ErrorInfo>,
}

/// A gate before a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum StepGate {
    /// Nobody has come this far.
    #[default]
    Ahead,
    /// The decision is due.
    Reached {
        /// What it is about, by digest.
        seen: BTreeMap<String, String>,
    },
    /// The decision was made.
    Decided(FlowGate),
}

/// How a flow ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum FlowEnd {
    /// Every step is done or was not needed.
    Complete,
    /// A gate is closed.
    Stopped {
        /// The step behind it.
        step: String,
    },
    /// A step asks for a person, and no gate follows at which one could decide.
    NeedsHuman {
        /// The step.
        step: String,
    },
    /// A step failed.
    Failed {
        /// The step.
        step: String,
        /// Why, when its run cannot tell.
        #[serde(default)]
        error: Option<ErrorInfo>,
    },
    /// All money is spent.
    OutOfMoney {
        /// The step that could not start.
        step: String,
    },
    /// Somebody asked it to stop.
    Cancelled,
}

impl FinishedStep {
    /// Whether its work was stopped for a person to look at, and is not done.
    pub fn stopped_midway(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.kind == "checkpoint")
    }
}

impl FlowState {
    /// A flow that has not begun.
    pub fn new(id: RunId, definition: &FlowDefinition, asked: serde_json::Value) -> Self {
        let steps = definition.steps.iter().map(|step| StepState {
            name: step.name.clone(),
            progress: FlowStepProgress::Waiting,
            runs: Vec::new(),
            gate: StepGate::Ahead,
            messages: Vec::new(),
            handed: BTreeMap::new(),
            accepted: false,
            goes_on: None,
        });
        Self {
            version: 1,
            id,
            flow: definition.name.clone(),
            asked,
            spec_sha256: None,
            max_cost_usd: None,
            spent_usd: 0.0,
            steps: steps.collect(),
            ended: None,
            sealed: false,
            elapsed_ms: 0,
        }
    }

    /// A finished step by its name.
    pub fn done(&self, step: &str) -> Option<&FinishedStep> {
        self.steps.iter().find(|s| s.name == step).and_then(StepState::done)
    }

    /// What is left of the money, when there is a limit.
    pub fn money_left(&self) -> Option<f64> {
        self.max_cost_usd.map(|limit| (limit - self.spent_usd).max(0.0))
    }

    /// The worst outcome of all steps; one that a person accepted counts as good.
    pub fn worst(&self) -> RunOutcome {
        let counted = self.steps.iter().filter_map(|s| Some((s, s.done()?)));
        counted.fold(RunOutcome::Success, |worst, (step, done)| match done.outcome {
            RunOutcome::NeedsHuman if step.accepted => worst,
            outcome => worst.worse(outcome),
        })
    }

    /// Opens a gate, or closes it, and passes on what was said; a person's word also accepts what came before.
    pub fn decide(&mut self, step: usize, decision: GateDecision, by: DecidedBy, comment: Option<String>) {
        let accepts = decision == GateDecision::Approved && by != DecidedBy::Rule;
        let (before, rest) = self.steps.split_at_mut(step);
        let Some(state) = rest.first_mut() else { return };
        let seen = match &state.gate {
            StepGate::Reached { seen } => seen.clone(),
            StepGate::Decided(gate) => gate.seen.clone(),
            StepGate::Ahead => BTreeMap::new(),
        };
        if decision == GateDecision::Approved {
            state.messages.extend(comment.clone());
        }
        state.gate = StepGate::Decided(FlowGate { decision, by, seen, comment });
        for earlier in before.iter_mut().filter(|_| accepts) {
            earlier.accepted |= earlier.done().is_some_and(|d| d.outcome == RunOutcome::NeedsHuman);
        }
    }

    /// The state a resumed flow starts with: a closed gate is open, a failed step is tried anew, and `message` goes to
    /// the next run. Finished steps stay finished.
    pub fn resumed(
        mut self,
        definition: &FlowDefinition,
        message: Option<String>,
    ) -> Result<Self, FlowError> {
        if self.version != 1 || !self.fits(definition) {
            return Err(FlowError::resume(
                format!("the flow {} was started by another version of Holon", self.id),
                "start it anew",
            ));
        }
        let place = |name: &str| definition.position(name).unwrap_or(0);
        let mut message = message.filter(|text| !text.trim().is_empty());
        let sealed = std::mem::take(&mut self.sealed);
        let midway = self.steps.iter().position(|step| step.done().is_some_and(FinishedStep::stopped_midway));
        match self.ended.take() {
            // Going on with a flow is going on with what was not done.
            Some(FlowEnd::Complete | FlowEnd::NeedsHuman { .. }) if midway.is_some() => {
                if let Some(step) = midway.and_then(|step| self.steps.get_mut(step)) {
                    step.goes_on = step.done().and_then(|done| done.run.clone());
                    step.progress = FlowStepProgress::Waiting;
                }
            }
            Some(FlowEnd::Complete) if !sealed => {}
            // Killed while it stopped: nobody was told, so nobody has decided.
            Some(FlowEnd::Stopped { step }) if !sealed => {
                let step = &mut self.steps[place(&step)];
                if let StepGate::Decided(gate) = &step.gate {
                    step.gate = StepGate::Reached { seen: gate.seen.clone() };
                }
            }
            Some(FlowEnd::Complete) => {
                return Err(FlowError::resume(
                    format!("the flow {} is over: there is nothing to go on with", self.id),
                    format!("see `holon runs show {}`", self.id),
                ));
            }
            Some(FlowEnd::Stopped { step }) => {
                self.decide(place(&step), GateDecision::Approved, DecidedBy::Resume, message.take());
            }
            Some(FlowEnd::NeedsHuman { step }) => self.steps[place(&step)].accepted = true,
            Some(FlowEnd::Failed { step, .. }) => {
                let step = &mut self.steps[place(&step)];
                if step.done().is_some_and(|d| d.outcome == RunOutcome::Failure) {
                    (step.progress, step.goes_on) = (FlowStepProgress::Waiting, None);
                }
            }
            Some(FlowEnd::Cancelled | FlowEnd::OutOfMoney { .. }) | None => {}
        }
        if let Some(text) = message {
            let next = definition.steps.iter().zip(&mut self.steps).find(|(step, state)| {
                matches!(step.work, StepWork::Run(_))
                    && matches!(state.progress, FlowStepProgress::Waiting | FlowStepProgress::Running { .. })
            });
            if let Some((_, state)) = next {
                state.messages.push(text);
            }
        }
        Ok(self)
    }

    fn fits(&self, definition: &FlowDefinition) -> bool {
        let names = definition.steps.iter().map(|step| &step.name);
        self.flow == definition.name && names.eq(self.steps.iter().map(|step| &step.name))
    }
}

impl StepState {
    /// What is known of it when it has ended by itself.
    pub fn done(&self) -> Option<&FinishedStep> {
        match &self.progress {
            FlowStepProgress::Done(done) => Some(done),
            _ => None,
        }
    }
}
