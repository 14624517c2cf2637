//! The task graph: a main branch of steps, fallback branches, and a cursor that only evidence moves.

mod advance;
mod build;
mod proof;
mod template;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use advance::{AdvanceContext, AdvanceTrigger, GraphMove};
pub(crate) use build::GraphRecipe;
pub use template::TemplateFit;

use crate::domain::GoalIntent;
use crate::ledger::EvidenceId;

/// Name of the main branch.
pub const MAIN: &str = "main";

/// What a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Look at what the goal is about.
    Inspect,
    /// Find what belongs to it.
    Search,
    /// Change it.
    Edit,
    /// Run the checks.
    Verify,
    /// Say what was done.
    Summarize,
    /// Have a child look around.
    Delegate,
    /// Another way to the same end.
    Fallback,
}

impl NodeKind {
    /// The name, as in template files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inspect => "inspect",
            Self::Search => "search",
            Self::Edit => "edit",
            Self::Verify => "verify",
            Self::Summarize => "summarize",
            Self::Delegate => "delegate",
            Self::Fallback => "fallback",
        }
    }

    /// Whether it is about changing files.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Edit | Self::Fallback)
    }

    const fn phase(self) -> NodePhase {
        match self {
            Self::Inspect => NodePhase::Intent,
            Self::Search | Self::Delegate => NodePhase::Context,
            Self::Edit | Self::Fallback => NodePhase::Editing,
            Self::Verify => NodePhase::Verification,
            Self::Summarize => NodePhase::Final,
        }
    }
}

/// The part of the work a step belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the explanation")]
pub enum NodePhase {
    Intent,
    Context,
    Editing,
    Verification,
    Final,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// Not begun.
    #[default]
    Pending,
    /// The current one.
    Running,
    /// Proven by evidence.
    Done,
    /// Given up on this branch.
    Failed,
    /// Left out.
    Skipped,
}

impl NodeStatus {
    /// Whether something is still to be done.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Running)
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphNode {
    /// `node-01`, `node-fb01`.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: NodeKind,
    /// In words.
    pub title: String,
    /// The part of the work.
    pub phase: NodePhase,
    /// How far it is.
    pub status: NodeStatus,
    /// How often it failed.
    pub retries: u32,
    /// The ledger entries that prove it.
    pub evidence: Vec<EvidenceId>,
    /// The failing cases it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// Rounds used of its budget.
    pub rounds: u32,
    /// Calls used of its budget.
    pub calls: u32,
    /// Calls its contract did not let through.
    pub blocked: u32,
    /// Evidence counts from this entry on.
    opened: u64,
    /// The round in which it became the current one.
    opened_round: u32,
}

/// How one step leads to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// From.
    pub from: String,
    /// To.
    pub to: String,
    /// Which way.
    pub kind: EdgeKind,
}

/// The two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// After it is done.
    Normal,
    /// After it failed.
    Fallback,
}

/// Steps in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphBranch {
    /// `main`, `fallback-1`.
    pub id: String,
    /// Its steps.
    pub node_ids: Vec<String>,
}

/// Where the plan stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphCursor {
    /// The branch.
    pub branch_id: String,
    /// The step.
    pub node_id: String,
    /// Its place on the branch.
    pub node_index: usize,
    /// Every step that is done, in the order it was.
    pub completed_node_ids: Vec<String>,
}

/// How far the plan is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphStatus {
    /// Made, not begun.
    #[default]
    Ready,
    /// Under way.
    Running,
    /// Put aside.
    Paused,
    /// All proven or left out.
    Done,
    /// No branch is left.
    Failed,
}

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskGraph {
    /// `graph-1` is a run's first.
    pub graph_id: String,
    /// What it is for.
    pub goal: String,
    /// What kind of work.
    pub intent: GoalIntent,
    /// The template it was made from.
    pub template: String,
    /// All steps.
    pub nodes: BTreeMap<String, GraphNode>,
    /// How they lead to each other.
    pub edges: Vec<GraphEdge>,
    /// The way it should go.
    pub main_branch: GraphBranch,
    /// The other ways, in order.
    pub fallback_branches: Vec<GraphBranch>,
    /// Where it stands.
    pub cursor: GraphCursor,
    /// How far it is.
    pub status: GraphStatus,
    /// Whether nothing can vouch for the result: no check is known.
    pub unverified: bool,
}

impl TaskGraph {
    /// Whether it is followed.
    pub const fn is_active(&self) -> bool {
        matches!(self.status, GraphStatus::Ready | GraphStatus::Running)
    }

    /// The current step, while it is followed.
    pub fn current(&self) -> Option<&GraphNode> {
        if self.is_active() { self.nodes.get(&self.cursor.node_id) } else { None }
    }

    pub(crate) fn current_mut(&mut self) -> Option<&mut GraphNode> {
        if self.is_active() { self.nodes.get_mut(&self.cursor.node_id) } else { None }
    }

    /// The steps of the branch the cursor is on.
    pub fn branch(&self) -> &GraphBranch {
        let fallback = self.fallback_branches.iter().find(|branch| branch.id == self.cursor.branch_id);
        fallback.unwrap_or(&self.main_branch)
    }

    /// Those steps themselves, in order.
    pub fn steps(&self) -> impl Iterator<Item = &GraphNode> {
        self.branch().node_ids.iter().filter_map(|id| self.nodes.get(id))
    }

    /// Steps of the main branch that are still to be done.
    pub fn open_steps(&self) -> u32 {
        if !self.is_active() {
            return 0;
        }
        let open = |id: &&String| self.nodes.get(*id).is_some_and(|node| node.status.is_open());
        self.main_branch.node_ids.iter().filter(open).count().try_into().unwrap_or(u32::MAX)
    }

    /// Whether an edit is still to be done on the current branch.
    pub fn open_edit(&self) -> bool {
        self.is_active() && self.steps().any(|node| node.kind.writes() && node.status.is_open())
    }

    /// Done or skipped, of 100, on the current branch.
    pub fn progress(&self) -> u8 {
        let all = self.steps().count();
        let past =
            self.steps().filter(|node| matches!(node.status, NodeStatus::Done | NodeStatus::Skipped)).count();
        (past * 100).checked_div(all).and_then(|share| u8::try_from(share).ok()).unwrap_or(100)
    }

    /// Puts it aside: the model leads again.
    pub(crate) fn pause(&mut self) -> bool {
        let was_active = self.is_active();
        if was_active {
            self.status = GraphStatus::Paused;
        }
        was_active
    }
}
