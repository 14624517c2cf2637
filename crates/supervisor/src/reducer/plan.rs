//! The plan: made, moved, degraded.

use serde_json::json;

use super::Step;
use crate::correction::CorrectionKind;
use crate::effect::{Effect, GraphChange, StopKind};
use crate::graph::{Fit, Ground, Moved, NodeStatus, Plan, TaskGraph, When};
use crate::mode::Signal;
use crate::retrospective::Rebuilt;
use crate::tier::Tier;
use crate::timeline::Kind;
use crate::wording;

impl Step<'_> {
    /// The first plan of a run that has one from the beginning.
    pub(super) fn first_graph(&mut self) {
        let s = &mut *self.s;
        let plan = Plan {
            number: s.graphs + 1,
            goal: &s.goal,
            intent: s.intent,
            complexity: s.complexity,
            checks: !s.checks.is_empty(),
            monorepo: s.monorepo,
            cases: &[],
        };
        let Some((mut graph, fits)) = plan.build() else { return };
        let moved = graph.start(Ground { known: &s.known, named: &s.named, round: s.round });
        self.install(graph, &fits, "first_round", moved);
    }

    /// A plan rebuilt from the past.
    pub(super) fn install_rebuilt(&mut self, rebuilt: Rebuilt) {
        let reason = if rebuilt.believed { "template_graph" } else { "strong_hint" };
        self.install(rebuilt.graph, &rebuilt.fits, reason, rebuilt.moved);
    }

    fn install(&mut self, graph: TaskGraph, fits: &[Fit], reason: &str, moved: Vec<Moved>) {
        let payload = json!({"graph": graph.graph_id, "template": graph.template, "ranking": fits,
            "unverified": graph.unverified, "progress": graph.progress()});
        self.log(Kind::TaskGraphInit, reason, payload);
        let boxed = Box::new(graph.clone());
        let change = if self.s.graphs == 0 {
            GraphChange::Init { graph: boxed }
        } else {
            GraphChange::Replaced { graph: boxed }
        };
        self.s.graphs += 1;
        self.s.graph = Some(graph);
        self.out.push(Effect::Graph(change));
        // What was proven on the way in is part of the graph just told; only an end is news.
        self.tell_ends(&moved);
    }

    fn tell_ends(&mut self, moved: &[Moved]) {
        if moved.contains(&Moved::Done) {
            self.graph_ended(true);
        }
    }

    pub(super) fn tick(&mut self, when: When) {
        let s = &mut *self.s;
        let Some(graph) = s.graph.as_mut().filter(|graph| graph.is_active()) else { return };
        let moved = graph.tick(when, Ground { known: &s.known, named: &s.named, round: s.round });
        self.tell(moved);
    }

    pub(super) fn graph_mutated(&mut self) {
        let s = &mut *self.s;
        let Some(graph) = s.graph.as_mut() else { return };
        let moved = graph.mutated(Ground { known: &s.known, named: &s.named, round: s.round });
        self.tell(moved);
    }

    /// The same after the end: nothing is told any more, and nothing stays proven that is not.
    pub(super) fn graph_outdated(&mut self) {
        let s = &mut *self.s;
        if let Some(graph) = s.graph.as_mut() {
            let _ = graph.mutated(Ground { known: &s.known, named: &s.named, round: s.round });
        }
    }

    /// The branch is given up: a new budget, a debt, and another way if the plan has one.
    pub(super) fn switch_branch(&mut self, reason: &'static str) {
        let s = &mut *self.s;
        let last_way = s.tier.tier() == Tier::WriteIntent;
        s.budget.switch();
        s.mode.raise(Signal::BranchSwitched);
        let (branch, debt) = (s.budget.branch(), s.budget.debt());
        let moved = match s.graph.as_mut() {
            Some(graph) => {
                graph.switch_branch(reason, Ground { known: &s.known, named: &s.named, round: s.round })
            }
            None => Vec::new(),
        };
        self.log(Kind::TaskGraphBranch, "branch_switched:budget", json!({"branch": branch, "debt": debt}));
        self.tell_moves(moved);
        // With the named files alone left, the next way is a person.
        if last_way && self.s.stopped.is_none() {
            self.lower_tier();
        }
    }

    /// Tells moves the evidence made; a branch given up by the plan itself costs the same as one by the budget.
    fn tell(&mut self, moved: Vec<Moved>) {
        for one in &moved {
            if let Moved::Branch { .. } = one {
                self.s.budget.switch();
                self.s.mode.raise(Signal::BranchSwitched);
            }
        }
        self.tell_moves(moved);
    }

    fn tell_moves(&mut self, moved: Vec<Moved>) {
        for one in moved {
            match one {
                Moved::Node { node, status, reason } => self.tell_node(node, status, reason),
                Moved::Branch { branch, reason } => {
                    self.log(Kind::TaskGraphBranch, &format!("branch:{reason}"), json!({"branch": branch}));
                    self.out.push(Effect::Graph(GraphChange::Branch { branch, reason: reason.to_owned() }));
                }
                Moved::Done => self.graph_ended(true),
                Moved::Failed => self.graph_ended(false),
            }
        }
    }

    fn tell_node(&mut self, node: String, status: NodeStatus, reason: &str) {
        let Some(graph) = &self.s.graph else { return };
        let (cursor, progress) = (graph.cursor.clone(), graph.progress());
        let evidence = graph.nodes.get(&node).map(|node| node.evidence.clone()).unwrap_or_default();
        let event = if status == NodeStatus::Pending { Kind::Rollback } else { Kind::TaskGraphNode };
        let payload = json!({"node": node, "status": status, "progress": progress, "evidence": evidence});
        self.log(event, &format!("node:{reason}"), payload);
        self.out.push(Effect::Graph(GraphChange::Node { node, status, cursor, progress }));
    }

    fn graph_ended(&mut self, done: bool) {
        self.log(
            Kind::TaskGraphDone,
            if done { "graph:done" } else { "graph:failed" },
            json!({"done": done}),
        );
        self.out.push(Effect::Graph(GraphChange::Ended { done }));
        if !done {
            self.lower_tier();
        } else if self.s.tier.reset() {
            self.log(Kind::Switch, "tier:graph", json!({"because": "done"}));
        }
    }

    /// One tier down; with nothing left, a person has to look.
    pub(super) fn lower_tier(&mut self) {
        // Without a decider there is nothing to enforce.
        if !self.s.config.level.decides_mode() {
            return;
        }
        // Less to choose from is another way: it gets its own budget, and leaves a debt.
        self.s.budget.switch();
        let mut tier = self.s.tier.lower();
        if tier == Tier::StepQueue && !self.queue_steps() {
            tier = self.s.tier.lower();
        }
        self.log(Kind::Switch, &format!("tier:{}", tier.name()), json!({"tier": tier}));
        match tier {
            Tier::Human => {
                let why =
                    "the plan, its steps and the named files are used up without a passing check".to_owned();
                self.stop(StopKind::UserCheckpoint, why, Kind::Failure, "tier:human");
            }
            Tier::Graph | Tier::StepQueue | Tier::WriteIntent => {
                let text = wording::recovery(self.s, "The plan failed; less is left to choose from.");
                self.say(CorrectionKind::Recovery, text);
            }
        }
    }

    /// What is left of the failed plan, in one line; false when nothing is.
    fn queue_steps(&mut self) -> bool {
        let s = &mut *self.s;
        let Some(failed) = s.graph.as_ref() else { return false };
        let mut line = failed.linear(s.graphs + 1);
        if line.main_branch.node_ids.is_empty() {
            return false;
        }
        let moved = line.start(Ground { known: &s.known, named: &s.named, round: s.round });
        self.install(line, &[], "step_queue", moved);
        true
    }

    /// A check passed afresh: whatever was degraded is good again.
    pub(super) fn verified(&mut self) {
        if self.s.tier.tier() == Tier::WriteIntent && self.s.tier.reset() {
            self.log(Kind::Switch, "tier:graph", json!({"because": "verified"}));
        }
    }

    /// The model leads again.
    pub(super) fn put_plan_aside(&mut self) {
        if self.s.tier.reset() {
            self.log(Kind::Switch, "tier:graph", json!({"because": "handed_back"}));
        }
        if self.s.graph.as_mut().is_some_and(|graph| graph.pause()) {
            self.log(Kind::TaskGraphUpdate, "graph:paused", json!({}));
            self.out.push(Effect::Graph(GraphChange::Paused));
        }
    }
}
