//! The plan: made, moved, put aside.

use serde_json::json;

use super::ReducerStep;
use crate::effect::{GraphChange, SupervisorEffect};
use crate::graph::{
    AdvanceContext, AdvanceTrigger, GraphMove, GraphRecipe, NodeStatus, TaskGraph, TemplateFit,
};
use crate::retrospective::RebuiltGraph;
use crate::timeline::TimelineKind;

impl ReducerStep<'_> {
    /// The first plan of a run that has one from the beginning.
    pub(super) fn first_graph(&mut self) {
        let s = &mut *self.s;
        let plan = GraphRecipe {
            number: s.graphs + 1,
            goal: &s.goal,
            intent: s.intent,
            complexity: s.complexity,
            checks: !s.checks.is_empty(),
            monorepo: s.monorepo,
            cases: &[],
        };
        let Some((mut graph, fits)) = plan.build() else { return };
        let moved = graph.start(AdvanceContext { known: &s.known, named: &s.named, round: s.round });
        self.install(graph, &fits, "first_round", moved);
    }

    /// A plan rebuilt from the past.
    pub(super) fn install_rebuilt(&mut self, rebuilt: RebuiltGraph) {
        let reason = if rebuilt.believed { "template_graph" } else { "strong_hint" };
        self.install(rebuilt.graph, &rebuilt.fits, reason, rebuilt.moved);
    }

    fn install(&mut self, graph: TaskGraph, fits: &[TemplateFit], reason: &str, moved: Vec<GraphMove>) {
        let payload = json!({"graph": graph.graph_id, "template": graph.template, "ranking": fits,
            "unverified": graph.unverified, "progress": graph.progress()});
        self.log(TimelineKind::TaskGraphInit, reason, payload);
        let boxed = Box::new(graph.clone());
        let change = if self.s.graphs == 0 {
            GraphChange::Init { graph: boxed }
        } else {
            GraphChange::Replaced { graph: boxed }
        };
        self.s.graphs += 1;
        self.s.graph = Some(graph);
        self.out.push(SupervisorEffect::Graph(change));
        // What was proven on the way in is part of the graph just told; only an end is news.
        self.tell_ends(&moved);
    }

    fn tell_ends(&mut self, moved: &[GraphMove]) {
        if moved.contains(&GraphMove::Done) {
            self.graph_ended(true);
        }
    }

    pub(super) fn tick(&mut self, when: AdvanceTrigger) {
        let s = &mut *self.s;
        let Some(graph) = s.graph.as_mut().filter(|graph| graph.is_active()) else { return };
        let moved = graph.tick(when, AdvanceContext { known: &s.known, named: &s.named, round: s.round });
        self.tell(moved);
    }

    pub(super) fn graph_mutated(&mut self) {
        let s = &mut *self.s;
        let Some(graph) = s.graph.as_mut() else { return };
        let moved = graph.mutated(AdvanceContext { known: &s.known, named: &s.named, round: s.round });
        self.tell(moved);
    }

    /// The same after the end: nothing is told any more, and nothing stays proven that is not.
    pub(super) fn graph_outdated(&mut self) {
        let s = &mut *self.s;
        if let Some(graph) = s.graph.as_mut() {
            let _ = graph.mutated(AdvanceContext { known: &s.known, named: &s.named, round: s.round });
        }
    }

    /// Tells moves the evidence made.
    fn tell(&mut self, moved: Vec<GraphMove>) {
        for one in moved {
            match one {
                GraphMove::Node { node, status, reason } => self.tell_node(node, status, reason),
                GraphMove::Branch { branch, reason } => {
                    self.log(
                        TimelineKind::TaskGraphBranch,
                        &format!("branch:{reason}"),
                        json!({"branch": branch}),
                    );
                    self.out.push(SupervisorEffect::Graph(GraphChange::Branch {
                        branch,
                        reason: reason.to_owned(),
                    }));
                }
                GraphMove::Done => self.graph_ended(true),
                GraphMove::Failed => self.graph_ended(false),
            }
        }
    }

    fn tell_node(&mut self, node: String, status: NodeStatus, reason: &str) {
        let Some(graph) = &self.s.graph else { return };
        let (cursor, progress) = (graph.cursor.clone(), graph.progress());
        let evidence = graph.nodes.get(&node).map(|node| node.evidence.clone()).unwrap_or_default();
        let event =
            if status == NodeStatus::Pending { TimelineKind::Rollback } else { TimelineKind::TaskGraphNode };
        let payload = json!({"node": node, "status": status, "progress": progress, "evidence": evidence});
        self.log(event, &format!("node:{reason}"), payload);
        self.out.push(SupervisorEffect::Graph(GraphChange::Node { node, status, cursor, progress }));
    }

    fn graph_ended(&mut self, done: bool) {
        self.log(
            TimelineKind::TaskGraphDone,
            if done { "graph:done" } else { "graph:failed" },
            json!({"done": done}),
        );
        self.out.push(SupervisorEffect::Graph(GraphChange::Ended { done }));
    }

    /// The model leads again.
    pub(super) fn put_plan_aside(&mut self) {
        if self.s.graph.as_mut().is_some_and(|graph| graph.pause()) {
            self.log(TimelineKind::TaskGraphUpdate, "graph:paused", json!({}));
            self.out.push(SupervisorEffect::Graph(GraphChange::Paused));
        }
    }
}
