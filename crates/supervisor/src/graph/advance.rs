//! How the cursor moves: forward by evidence, back by a failing check, sideways when a way is given up.

use super::{GraphBranch, GraphNode, GraphStatus, MAIN, NodeKind, NodeStatus, TaskGraph, proof};
use crate::gate::contract;
use crate::known::EvidenceMemory;
use crate::ledger::EvidenceId;

/// So many failed verifications, or unproductive edits, end a branch.
const VERIFY_RETRIES: u32 = 3;
const EDIT_RETRIES: u32 = 2;
/// So often a summary may turn out to be too early.
const REOPENINGS: u32 = 2;

/// Why it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdvanceTrigger {
    /// A call came back.
    Tool,
    /// A check came back.
    Check {
        /// Whether it passed.
        ok: bool,
    },
    /// A round ended; whether something was written in it.
    RoundEnd {
        /// See above.
        wrote: bool,
    },
}

/// What moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GraphMove {
    /// A step changed.
    Node { node: String, status: NodeStatus, reason: &'static str },
    /// Another branch is followed.
    Branch { branch: String, reason: &'static str },
    /// All is done.
    Done,
    /// No way is left.
    Failed,
}

/// What the cursor is moved by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdvanceContext<'a> {
    pub known: &'a EvidenceMemory,
    pub named: &'a [String],
    pub round: u32,
}

impl TaskGraph {
    /// Begins with the first step.
    pub(crate) fn start(&mut self, ground: AdvanceContext<'_>) -> Vec<GraphMove> {
        let mut moved = Vec::new();
        self.open(ground, &mut moved);
        moved
    }

    /// Marks what the past proves, and puts the cursor on the first step it does not.
    pub(crate) fn backfill(&mut self, ground: AdvanceContext<'_>) -> Vec<GraphMove> {
        let mut moved = Vec::new();
        self.status = GraphStatus::Running;
        while let Some(evidence) =
            self.current().and_then(|node| proof::past(node, ground.known, ground.named))
        {
            self.complete(evidence, "proven_before", ground, &mut moved);
        }
        self.open(ground, &mut moved);
        moved
    }

    /// Moves as far as the evidence carries.
    pub(crate) fn tick(&mut self, when: AdvanceTrigger, ground: AdvanceContext<'_>) -> Vec<GraphMove> {
        let mut moved = Vec::new();
        if !self.is_active() {
            return moved;
        }
        match when {
            AdvanceTrigger::Tool => self.follow(ground, &mut moved, |kind| {
                matches!(kind, NodeKind::Inspect | NodeKind::Search | NodeKind::Delegate)
            }),
            AdvanceTrigger::Check { ok } => {
                self.follow(ground, &mut moved, |kind| kind.writes() || kind == NodeKind::Verify);
                if !ok && self.current().is_some_and(|node| node.kind == NodeKind::Verify) {
                    self.fail_verify("check_failed", ground, &mut moved);
                }
            }
            AdvanceTrigger::RoundEnd { wrote } => self.end_round(wrote, ground, &mut moved),
        }
        moved
    }

    /// The workspace changed: a verification that was done is not any more.
    pub(crate) fn mutated(&mut self, ground: AdvanceContext<'_>) -> Vec<GraphMove> {
        let mut moved = Vec::new();
        let index = self.cursor.node_index;
        let stale = self
            .steps()
            .take(index)
            .position(|node| node.kind == NodeKind::Verify && node.status == NodeStatus::Done);
        if let Some(at) = stale.filter(|_| self.is_active()) {
            self.go_back(at, "stale", ground, &mut moved);
        }
        moved
    }

    fn follow(
        &mut self,
        ground: AdvanceContext<'_>,
        moved: &mut Vec<GraphMove>,
        these: impl Fn(NodeKind) -> bool,
    ) {
        while let Some(node) = self.current().filter(|node| these(node.kind)) {
            let Some(evidence) = proof::live(node, ground.known, ground.named) else { break };
            self.complete(evidence, "evidence", ground, moved);
        }
    }

    fn end_round(&mut self, wrote: bool, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        let Some(node) = self.current_mut() else { return };
        node.rounds = node.rounds.saturating_add(1);
        let before = node.id.clone();
        // A repair is over when a check says so, not after the first change.
        let repairs = !node.cases.is_empty() && self.steps().any(|node| node.kind == NodeKind::Verify);
        self.follow(ground, moved, |kind| !(kind.writes() && (wrote || repairs)));
        if let Some(node) = self.current().filter(|node| node.id == before && is_spent(node)) {
            let kind = node.kind;
            self.overspent(kind, ground, moved);
        }
    }

    fn overspent(&mut self, kind: NodeKind, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        match kind {
            NodeKind::Inspect | NodeKind::Search | NodeKind::Delegate => self.skip("budget", ground, moved),
            NodeKind::Edit | NodeKind::Fallback => {
                let proven = self.current().and_then(|node| proof::live(node, ground.known, ground.named));
                match proven {
                    Some(evidence) => self.complete(evidence, "budget", ground, moved),
                    None => self.fail_edit(ground, moved),
                }
            }
            NodeKind::Verify => self.fail_verify("budget", ground, moved),
            NodeKind::Summarize => self.reconsider(ground, moved),
        }
    }

    /// A summary that was tried to be worked on came too early.
    fn reconsider(&mut self, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        let wants_more = self.current().is_some_and(|node| node.blocked > 0 && node.retries < REOPENINGS);
        let edit = self.last_edit();
        match edit.filter(|_| wants_more) {
            Some(at) => {
                if let Some(node) = self.current_mut() {
                    node.retries += 1;
                }
                self.go_back(at, "more_to_do", ground, moved);
            }
            None => self.skip("budget", ground, moved),
        }
    }

    fn fail_edit(&mut self, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        let retries = self.count_retry();
        if retries >= EDIT_RETRIES {
            self.give_up("edit_failed", ground, moved);
        } else {
            self.open(ground, moved);
        }
    }

    fn fail_verify(&mut self, reason: &'static str, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        let retries = self.count_retry();
        self.set(NodeStatus::Failed, reason, moved);
        if retries >= VERIFY_RETRIES {
            self.give_up("verify_failed", ground, moved);
        } else if let Some(edit) = self.last_edit() {
            self.go_back(edit, "verify_failed", ground, moved);
        } else {
            self.open(ground, moved);
        }
    }

    fn count_retry(&mut self) -> u32 {
        self.current_mut().map_or(0, |node| {
            node.retries = node.retries.saturating_add(1);
            node.retries
        })
    }

    fn give_up(&mut self, reason: &'static str, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        self.set(NodeStatus::Failed, reason, moved);
        let unused = |id: &String| self.nodes.get(id).is_some_and(|node| node.status == NodeStatus::Pending);
        let next = self.fallback_branches.iter().find(|branch| branch.node_ids.iter().all(unused));
        let next = next.map(|branch| branch.id.clone());
        match next {
            Some(branch) => {
                moved.push(GraphMove::Branch { branch: branch.clone(), reason });
                self.cursor.branch_id = branch;
                self.place(0);
                self.open(ground, moved);
            }
            None => {
                self.status = GraphStatus::Failed;
                moved.push(GraphMove::Failed);
            }
        }
    }

    fn complete(
        &mut self,
        evidence: Vec<EvidenceId>,
        reason: &'static str,
        ground: AdvanceContext<'_>,
        moved: &mut Vec<GraphMove>,
    ) {
        let Some(node) = self.current_mut() else { return };
        node.evidence = evidence;
        let id = node.id.clone();
        self.set(NodeStatus::Done, reason, moved);
        self.cursor.completed_node_ids.retain(|done| *done != id);
        self.cursor.completed_node_ids.push(id);
        self.forward(ground, moved);
    }

    fn skip(&mut self, reason: &'static str, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        self.set(NodeStatus::Skipped, reason, moved);
        self.forward(ground, moved);
    }

    /// To the next open step of the branch; at the end of a fallback, to what is left of the main branch.
    fn forward(&mut self, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        let next = self.steps().skip(self.cursor.node_index + 1).position(|node| node.status.is_open());
        if let Some(ahead) = next {
            self.place(self.cursor.node_index + 1 + ahead);
            self.open(ground, moved);
        } else if self.cursor.branch_id == MAIN {
            self.status = GraphStatus::Done;
            moved.push(GraphMove::Done);
        } else {
            self.rejoin(ground, moved);
        }
    }

    fn rejoin(&mut self, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        MAIN.clone_into(&mut self.cursor.branch_id);
        let ids = self.main_branch.node_ids.clone();
        for (at, id) in ids.iter().enumerate() {
            let Some(node) = self.nodes.get(id) else { continue };
            self.cursor.node_index = at;
            self.cursor.node_id.clone_from(id);
            match (node.kind, node.status) {
                (_, NodeStatus::Done | NodeStatus::Skipped) => {}
                (NodeKind::Summarize, _) => return self.open(ground, moved),
                _ => self.set(NodeStatus::Skipped, "other_branch", moved),
            }
        }
        self.status = GraphStatus::Done;
        moved.push(GraphMove::Done);
    }

    /// Back to an earlier step; everything from there on is open again.
    fn go_back(
        &mut self,
        at: usize,
        reason: &'static str,
        ground: AdvanceContext<'_>,
        moved: &mut Vec<GraphMove>,
    ) {
        let ids: Vec<String> = self.branch().node_ids.iter().skip(at).cloned().collect();
        for id in ids {
            self.cursor.completed_node_ids.retain(|done| *done != id);
            let Some(node) = self.nodes.get_mut(&id).filter(|node| node.status != NodeStatus::Pending) else {
                continue;
            };
            node.status = NodeStatus::Pending;
            node.evidence.clear();
            moved.push(GraphMove::Node { node: id, status: NodeStatus::Pending, reason });
        }
        self.place(at);
        self.open(ground, moved);
    }

    /// The current step begins: its evidence and its budget count from here.
    fn open(&mut self, ground: AdvanceContext<'_>, moved: &mut Vec<GraphMove>) {
        self.status = GraphStatus::Running;
        let Some(node) = self.current_mut() else { return };
        node.opened = ground.known.entries();
        node.opened_round = ground.round;
        (node.rounds, node.calls, node.blocked) = (0, 0, 0);
        self.set(NodeStatus::Running, "current", moved);
    }

    fn place(&mut self, index: usize) {
        let id = self.branch().node_ids.get(index).cloned().unwrap_or_default();
        self.cursor.node_index = index;
        self.cursor.node_id = id;
    }

    fn set(&mut self, status: NodeStatus, reason: &'static str, moved: &mut Vec<GraphMove>) {
        let Some(node) = self.nodes.get_mut(&self.cursor.node_id) else { return };
        if node.status != status {
            node.status = status;
            moved.push(GraphMove::Node { node: node.id.clone(), status, reason });
        }
    }

    fn last_edit(&self) -> Option<usize> {
        let GraphBranch { node_ids, .. } = self.branch();
        let writes = |id: &String| self.nodes.get(id).is_some_and(|node| node.kind.writes());
        node_ids.iter().take(self.cursor.node_index + 1).rposition(writes)
    }
}

/// Whether a step has used up its rounds or calls.
fn is_spent(node: &GraphNode) -> bool {
    let contract = contract(node.kind);
    node.rounds >= contract.rounds || (contract.calls > 0 && node.calls >= contract.calls)
}

#[cfg(test)]
mod tests;
