//! What the manifest of a flow says besides: its steps, its gates, and how to go on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::RunId;
use crate::outcome::{RunOutcome, RunStatus};

/// A file that was handed to an agent beside its goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFile {
    /// Path below `/holon/input/context/`.
    pub path: String,
    /// Digest of its bytes.
    pub sha256: String,
}

/// The steps of a flow, in order, and how to go on when it stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FlowInfo {
    /// Every step, in order.
    pub steps: Vec<FlowStep>,
    /// The command that goes on from here, when there is something to go on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// One step of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowStep {
    /// Its name in the flow.
    pub name: String,
    /// The mode it runs in; absent for a step that the host itself takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How far it is.
    pub state: StepProgress,
    /// The run that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// How often it was started.
    #[serde(default)]
    pub attempts: u32,
    /// What happened to the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// What its result is worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// Its wall time.
    #[serde(default)]
    pub duration_ms: u64,
    /// Digests of what earlier steps handed to it, as `step/file`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub context: BTreeMap<String, String>,
    /// What was decided at the gate before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<FlowGate>,
    /// Why it was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepProgress {
    /// Its turn has not come.
    Waiting,
    /// It was started and has not ended.
    Running,
    /// It has ended, well or not.
    Done,
    /// It was not needed.
    Skipped,
}

/// What was decided at a gate, by whom, and what they had seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowGate {
    /// The decision.
    pub decision: GateDecision,
    /// Who made it.
    pub by: DecidedBy,
    /// Digests of the files the decision was about, as `step/file`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, String>,
    /// What a person said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What was decided at a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateDecision {
    /// The next step may start.
    Approved,
    /// The flow stops here and can be resumed.
    Stopped,
}

/// Who decided at a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// Someone who was asked.
    Person,
    /// The rule of `--gate auto` or `--gate stop`.
    Rule,
    /// Whoever resumed the flow.
    Resume,
}
