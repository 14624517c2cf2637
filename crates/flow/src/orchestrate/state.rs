//! Where an orchestration is: everything that must survive the process, in one file that is replaced in one step.

use std::collections::BTreeMap;

use holon_core::artifact::orchestration::OrchestrationTask;
use holon_core::cost_estimate::CostEstimate;
use holon_core::ids::RunId;
use holon_core::manifest::EthicsOverride;
use holon_core::mode_run::ModeDecision;
use holon_core::outcome::{RunOutcome, RunStatus};
use serde::{Deserialize, Serialize};

use super::planner::word::TaskWord;

/// `orchestrate.json`: where an orchestration is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrchestrationState {
    /// Version of this form.
    pub version: u32,
    /// Its id, also the name of its folder in the run store.
    pub id: RunId,
    /// What the caller needs to make the same request again; its form belongs to the caller.
    pub asked: serde_json::Value,
    /// Digest of the spec it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_sha256: Option<String>,
    /// What is wanted.
    pub goal: String,
    /// Whether it is a single run in mode code with its edges to review and ethical, which nobody plans.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub single: bool,
    /// What all children together may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// How long all of it may take.
    pub max_ms: u64,
    /// Money spent so far.
    pub spent_usd: f64,
    /// What it was estimated to cost when it was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<CostEstimate>,
    /// Time spent so far.
    pub elapsed_ms: u64,
    /// Runs that were started for tasks.
    pub children: u32,
    /// Who made the plan; nobody has, as long as there are no tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<PlanOrigin>,
    /// Runs that were started to make the plan.
    pub planning: Vec<TaskAttempt>,
    /// The tasks.
    pub nodes: Vec<TaskNode>,
    /// Changes that were joined, in order.
    pub merges: Vec<MergedChange>,
    /// Every time the rest of the work was planned again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replans: Vec<Replan>,
    /// Tasks that a later plan took the place of, as they were then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<TaskNode>,
    /// What is not done, once only the finished part is to be delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<UnfinishedPart>,
    /// A person lets the result out whatever the assessment says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ethics_override: Option<EthicsOverride>,
    /// Whether that has let something out which the assessment blocks; it is in the audit log then.
    #[serde(default)]
    pub overruled: bool,
    /// What people want the next agent to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The last word about a task that was taken: should it still be in the inbox after a kill, it counts no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_word: Option<String>,
    /// How it ended, until it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<OrchestrationEnd>,
    /// Whether its end was written down in full.
    pub sealed: bool,
}

/// Who made the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanOrigin {
    /// Whether it is the model's; else it is the usual order of modes.
    pub by_model: bool,
    /// Why the model's was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One task, and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskNode {
    /// The task, with the canonical name of its mode.
    pub task: OrchestrationTask,
    /// How far it is.
    pub phase: TaskPhase,
    /// Every run that was started for it, also to mend it.
    pub attempts: Vec<TaskAttempt>,
    /// How often its findings went back to be mended.
    pub fixes: u32,
    /// The plan it is of: 0 for the first, else the number of the replan.
    #[serde(default)]
    pub plan: u32,
    /// What a person said about it; it counts as soon as no run is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<TaskWord>,
    /// What people want its next agent to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
}

/// A plan that was made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replan {
    /// The task that could not be done.
    pub after_task: String,
    /// Why: a stable short word.
    pub kind: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The run that was asked, as soon as it has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Tasks that were done, and stay done.
    #[serde(default)]
    pub kept: Vec<String>,
    /// Tasks that were replaced.
    #[serde(default)]
    pub dropped: Vec<String>,
    /// Tasks that it is made of.
    #[serde(default)]
    pub added: Vec<String>,
    /// What was answered; nobody knows before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ReplanAnswer>,
}

/// What a planner that was asked again said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ReplanAnswer {
    /// A plan for the rest.
    Taken,
    /// Nothing more should be done.
    Stop {
        /// Why.
        reason: String,
    },
    /// Nothing that could be used.
    Unusable {
        /// Why not.
        problem: String,
    },
}

impl ReplanAnswer {
    /// Why there are no new tasks.
    pub fn no_plan(&self) -> Option<&str> {
        match self {
            Self::Taken => None,
            Self::Stop { reason } => Some(reason),
            Self::Unusable { problem } => Some(problem),
        }
    }
}

/// What is not done when only the finished part is delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnfinishedPart {
    /// The task because of which.
    pub task: String,
    /// Why.
    pub reason: String,
    /// The tasks, as they were left.
    pub nodes: Vec<TaskNode>,
    /// Whether a person left them out, and the rest goes on as planned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
    /// What tasks that go on waited for before, where a part of that was left out: by task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waited_for: BTreeMap<String, Vec<String>>,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TaskPhase {
    /// Its turn has not come.
    Waiting,
    /// A run for it was started.
    Running {
        /// What for.
        purpose: AttemptPurpose,
    },
    /// Its changes wait to be joined with the others'.
    ToMerge {
        /// Where the changes come from.
        purpose: AttemptPurpose,
    },
    /// Its changes do not fit those that were joined before; both sides have to be brought together.
    Conflict {
        /// Where they meet.
        paths: Vec<String>,
    },
    /// What it found has to be mended.
    ToFix,
    /// It is done.
    Done,
    /// It failed, and is not tried again.
    Failed {
        /// Why.
        reason: String,
    },
    /// A person has to decide.
    Blocked {
        /// Why.
        reason: String,
    },
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptPurpose {
    /// The task itself.
    Task,
    /// To bring changes together that met.
    Conflict,
    /// To mend what a review or the host's checks found.
    Fix,
}

impl AttemptPurpose {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Conflict => "conflict",
            Self::Fix => "fix",
        }
    }
}

/// One run, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskAttempt {
    /// What it is for.
    pub purpose: AttemptPurpose,
    /// The mode it runs in.
    pub mode: String,
    /// The run, as soon as it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its folder, relative to the orchestration's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The request, under which its log is found.
    #[serde(default)]
    pub request: String,
    /// What came of it; nobody knows before it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<AttemptEnd>,
    /// How many changes were joined when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<usize>,
    /// Money it had spent when it was killed; nobody else told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_cost_usd: Option<f64>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// What happened to the execution.
    pub status: RunStatus,
    /// What the result is worth.
    pub outcome: RunOutcome,
    /// What follows from it.
    pub decision: ModeDecision,
    /// Why it did not succeed: a stable short word and a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<(String, String)>,
    /// Digest of its manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_sha256: Option<String>,
    /// Digest of each valid artifact.
    #[serde(default)]
    pub artifacts: BTreeMap<String, String>,
    /// Whether it changed anything that can be joined.
    pub changed: bool,
    /// Money spent.
    pub cost_usd: f64,
    /// Its wall time.
    pub duration_ms: u64,
}

/// A change that was joined with those before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedChange {
    /// The task.
    pub task: String,
    /// How it went.
    pub how: MergeMethod,
    /// The file with the change as it was joined, in the orchestration's folder.
    pub file: String,
    /// Digest of that file.
    pub sha256: String,
    /// Paths it touches.
    pub paths: Vec<String>,
}

/// How a change was joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMethod {
    /// The files were as it knew them.
    Clean,
    /// With other changes to the same files.
    Merged,
    /// After a conflict.
    Resolved,
}

impl MergeMethod {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Merged => "merged",
            Self::Resolved => "resolved",
        }
    }
}

/// How an orchestration ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum OrchestrationEnd {
    /// Every task is done.
    Complete,
    /// What was done of it is delivered; something is left.
    Partial {
        /// The task because of which.
        task: String,
        /// Why.
        reason: String,
        /// Every task that is left.
        left: Vec<String>,
    },
    /// A task failed for good.
    Failed {
        /// The task, or `plan`.
        task: String,
        /// A stable short word.
        kind: String,
        /// Why.
        reason: String,
    },
    /// A person has to decide about a task.
    Escalated {
        /// The task.
        task: String,
        /// Why.
        reason: String,
    },
    /// The assessment of purpose and risks does not let the result out.
    EthicsBlocked {
        /// The task.
        task: String,
        /// Why.
        reason: String,
    },
    /// All money is spent.
    OutOfMoney,
    /// All time is spent.
    OutOfTime,
    /// There were as many children as there may be.
    TooManyChildren,
    /// Somebody asked it to stop.
    Cancelled,
}

impl TaskAttempt {
    /// Money it spent.
    pub fn cost_usd(&self) -> f64 {
        let told = self.end.as_ref().map(|end| end.cost_usd);
        told.or(self.killed_cost_usd).unwrap_or(0.0).max(0.0)
    }
}

impl AttemptEnd {
    /// Whether a person interrupted it to say something.
    pub fn is_interrupted(&self) -> bool {
        self.error.as_ref().is_some_and(|(kind, _)| kind == INTERRUPTED)
    }

    /// Whether it was cut short because its money was spent.
    pub fn is_out_of_money(&self) -> bool {
        self.error.as_ref().is_some_and(|(kind, _)| ["cost_usd", "cost", "max_cost"].contains(&kind.as_str()))
    }
}

/// A run that a person interrupted to say something.
pub(super) const INTERRUPTED: &str = "interrupted";

impl TaskNode {
    /// A task that nobody has begun.
    pub fn fresh(task: OrchestrationTask, plan: u32) -> Self {
        Self {
            task,
            phase: TaskPhase::Waiting,
            attempts: Vec::new(),
            fixes: 0,
            plan,
            word: None,
            told: Vec::new(),
        }
    }

    /// Whether it can change files by itself.
    pub fn writes(&self) -> bool {
        matches!(self.task.mode.as_str(), "execute" | "architect")
    }

    /// The last run of a purpose that ended.
    pub fn last_end(&self, purpose: AttemptPurpose) -> Option<&AttemptEnd> {
        self.attempts.iter().rev().find(|a| a.purpose == purpose).and_then(|a| a.end.as_ref())
    }

    /// The run whose result counts as the task's own.
    pub fn result(&self) -> Option<&TaskAttempt> {
        self.attempts.iter().rev().find(|a| a.purpose == AttemptPurpose::Task && a.end.is_some())
    }

    /// What the task decided.
    pub fn decision(&self) -> Option<&ModeDecision> {
        self.last_end(AttemptPurpose::Task).map(|end| &end.decision)
    }
}

impl OrchestrationState {
    /// What is left of the money, when there is a limit.
    pub fn money_left(&self) -> Option<f64> {
        self.max_cost_usd.map(|limit| (limit - self.spent_usd).max(0.0))
    }

    /// Whether only what is done is brought to its end.
    pub fn is_leaving(&self) -> bool {
        self.left.as_ref().is_some_and(|left| !left.by_person)
    }

    /// Every task there ever was: those that were replaced, those that were left, and those of the plan.
    pub fn every_node(&self) -> impl Iterator<Item = &TaskNode> {
        let left = self.left.iter().flat_map(|left| &left.nodes);
        self.dropped.iter().chain(left).chain(&self.nodes)
    }

    /// Every run that was started, also to plan.
    pub fn every_attempt(&self) -> impl Iterator<Item = &TaskAttempt> {
        self.planning.iter().chain(self.every_node().flat_map(|node| &node.attempts))
    }

    /// A task by its name.
    pub fn node(&self, id: &str) -> Option<&TaskNode> {
        self.nodes.iter().find(|node| node.task.id == id)
    }
}
