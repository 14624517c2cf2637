//! From a template to a graph: numbered steps, fallback branches, no verify step where nothing can verify.

use std::collections::BTreeMap;

use super::template::{TemplateFit, TemplateNeeds, rank};
use super::{
    EdgeKind, GraphBranch, GraphCursor, GraphEdge, GraphNode, GraphStatus, MAIN, NodeKind, NodeStatus,
    TaskGraph,
};
use crate::domain::{Complexity, GoalIntent};
use crate::key::clip;

/// Most failing cases a step names.
const CASES: usize = 8;

/// What a graph is made from.
#[derive(Debug, Clone)]
pub(crate) struct GraphRecipe<'a> {
    /// Which graph of the run this is, from 1.
    pub number: u32,
    pub goal: &'a str,
    pub intent: GoalIntent,
    pub complexity: Complexity,
    /// Whether any check is known.
    pub checks: bool,
    pub monorepo: bool,
    /// Cases known to fail: the plan is a repair then.
    pub cases: &'a [String],
}

impl GraphRecipe<'_> {
    /// The graph of the best template, and how all of them fit; nothing when there is none.
    pub(crate) fn build(&self) -> Option<(TaskGraph, Vec<TemplateFit>)> {
        let wanted = TemplateNeeds {
            intent: self.intent,
            complexity: self.complexity,
            checks: self.checks,
            monorepo: self.monorepo,
            repair: !self.cases.is_empty(),
        };
        let (template, fits) = rank(&wanted);
        let template = template?;
        let has_verify = template.nodes.iter().any(|step| step.kind == NodeKind::Verify);
        let mut nodes = BTreeMap::new();
        let mut main = Vec::new();
        for step in template.nodes.iter().filter(|step| self.checks || step.kind != NodeKind::Verify) {
            let id = format!("node-{:02}", main.len() + 1);
            let mut node = GraphNode::new(&id, step.kind, &step.title);
            if step.kind.writes() {
                node.cases = self.cases.iter().take(CASES).map(|case| clip(case, 100)).collect();
            }
            nodes.insert(id.clone(), node);
            main.push(id);
        }
        let fallback_branches = self.fallbacks(&mut nodes);
        let edges = edges(&main, &fallback_branches, &nodes);
        let first = main.first().cloned()?;
        let graph = TaskGraph {
            graph_id: format!("graph-{}", self.number),
            goal: clip(self.goal, 300),
            intent: self.intent,
            template: template.id.clone(),
            nodes,
            edges,
            main_branch: GraphBranch { id: MAIN.to_owned(), node_ids: main },
            fallback_branches,
            cursor: GraphCursor { branch_id: MAIN.to_owned(), node_id: first, ..GraphCursor::default() },
            status: GraphStatus::Ready,
            unverified: has_verify && !self.checks,
        };
        Some((graph, fits))
    }

    fn fallbacks(&self, nodes: &mut BTreeMap<String, GraphNode>) -> Vec<GraphBranch> {
        if !nodes.values().any(|node| node.kind.writes()) {
            return Vec::new();
        }
        let mut number = 0;
        let mut add = |nodes: &mut BTreeMap<String, GraphNode>, kind: NodeKind, title: &str| {
            number += 1;
            let id = format!("node-fb{number:02}");
            nodes.insert(id.clone(), GraphNode::new(&id, kind, title));
            id
        };
        let mut branches = Vec::new();
        for at in 1..=self.complexity.fallbacks() {
            let mut node_ids = vec![add(nodes, NodeKind::Fallback, &format!("Another way, number {at}"))];
            if self.checks {
                node_ids.push(add(nodes, NodeKind::Verify, "Run the checks"));
            }
            branches.push(GraphBranch { id: format!("fallback-{at}"), node_ids });
        }
        branches
    }
}

fn edges(main: &[String], fallbacks: &[GraphBranch], nodes: &BTreeMap<String, GraphNode>) -> Vec<GraphEdge> {
    let chain = |ids: &[String]| -> Vec<GraphEdge> {
        let edge = |pair: &[String]| GraphEdge {
            from: pair[0].clone(),
            to: pair[1].clone(),
            kind: EdgeKind::Normal,
        };
        ids.windows(2).map(edge).collect()
    };
    let mut edges = chain(main);
    let failing = |ids: &[String]| -> Option<String> {
        let risky = |id: &&String| nodes.get(*id).is_some_and(|node| node.kind == NodeKind::Verify);
        let writing = |id: &&String| nodes.get(*id).is_some_and(|node| node.kind.writes());
        ids.iter().rev().find(risky).or_else(|| ids.iter().rev().find(writing)).cloned()
    };
    let mut from = failing(main);
    for branch in fallbacks {
        if let (Some(from), Some(to)) = (from, branch.node_ids.first()) {
            edges.push(GraphEdge { from, to: to.clone(), kind: EdgeKind::Fallback });
        }
        edges.extend(chain(&branch.node_ids));
        from = failing(&branch.node_ids);
    }
    edges
}

impl GraphNode {
    pub(crate) fn new(id: &str, kind: NodeKind, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            title: title.to_owned(),
            phase: kind.phase(),
            status: NodeStatus::Pending,
            retries: 0,
            evidence: Vec::new(),
            cases: Vec::new(),
            rounds: 0,
            calls: 0,
            blocked: 0,
            opened: 0,
            opened_round: 0,
        }
    }
}

impl TaskGraph {
    /// What is left of the current way as one line of steps, without branches.
    pub(crate) fn linear(&self, number: u32) -> Self {
        let mut nodes = BTreeMap::new();
        let mut main = Vec::new();
        let past = |node: &GraphNode| matches!(node.status, NodeStatus::Done | NodeStatus::Skipped);
        let all: Vec<&GraphNode> =
            self.main_branch.node_ids.iter().filter_map(|id| self.nodes.get(id)).collect();
        // What could not be verified has to be edited once more.
        let unverified = all.iter().any(|node| node.kind == NodeKind::Verify && !past(node));
        for step in all.into_iter().filter(|node| !past(node) || (unverified && node.kind.writes())) {
            let id = format!("node-{:02}", main.len() + 1);
            let mut node = GraphNode::new(&id, step.kind, &step.title);
            node.cases.clone_from(&step.cases);
            nodes.insert(id.clone(), node);
            main.push(id);
        }
        let edges = edges(&main, &[], &nodes);
        let cursor = GraphCursor {
            branch_id: MAIN.to_owned(),
            node_id: main.first().cloned().unwrap_or_default(),
            ..GraphCursor::default()
        };
        Self {
            graph_id: format!("graph-{number}"),
            nodes,
            edges,
            main_branch: GraphBranch { id: MAIN.to_owned(), node_ids: main },
            fallback_branches: Vec::new(),
            cursor,
            status: GraphStatus::Ready,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn plan(complexity: Complexity) -> GraphRecipe<'static> {
        GraphRecipe {
            number: 1,
            goal: "g",
            intent: GoalIntent::Edit,
            complexity,
            checks: true,
            monorepo: false,
            cases: &[],
        }
    }

    fn kinds(graph: &TaskGraph) -> Vec<&'static str> {
        graph.steps().map(|node| node.kind.name()).collect()
    }

    #[test]
    fn steps_are_numbered_and_chained() {
        let (graph, fits) = plan(Complexity::Simple).build().unwrap();
        assert_eq!(graph.main_branch.node_ids, ["node-01", "node-02", "node-03", "node-04", "node-05"]);
        assert_eq!(kinds(&graph), ["inspect", "search", "edit", "verify", "summarize"]);
        assert_eq!((graph.edges.len(), graph.open_steps(), graph.progress()), (4, 5, 0));
        assert!(graph.is_active() && graph.open_edit() && !graph.unverified);
        assert_eq!(fits[0].template, graph.template);
    }

    #[test]
    fn fallback_branches_follow_the_complexity() {
        for (complexity, expect) in [
            (Complexity::Trivial, 0),
            (Complexity::Simple, 0),
            (Complexity::Moderate, 1),
            (Complexity::Complex, 2),
            (Complexity::Hard, 3),
        ] {
            let (graph, _) = plan(complexity).build().unwrap();
            assert_eq!(graph.fallback_branches.len(), expect, "{complexity:?}");
            let ways = graph.edges.iter().filter(|edge| edge.kind == EdgeKind::Fallback).count();
            assert_eq!(ways, expect);
        }
        let (graph, _) = plan(Complexity::Complex).build().unwrap();
        assert_eq!(graph.fallback_branches[1].node_ids, ["node-fb03", "node-fb04"]);
        assert_eq!(graph.nodes["node-fb01"].kind, NodeKind::Fallback);
    }

    #[test]
    fn without_checks_there_is_nothing_to_verify_and_it_is_said() {
        let (graph, _) = GraphRecipe { checks: false, ..plan(Complexity::Moderate) }.build().unwrap();
        assert_eq!(kinds(&graph), ["inspect", "search", "edit", "summarize"]);
        assert_eq!(graph.fallback_branches[0].node_ids, ["node-fb01"]);
        assert!(graph.unverified);
        let (docs, _) = GraphRecipe { intent: GoalIntent::Docs, checks: false, ..plan(Complexity::Moderate) }
            .build()
            .unwrap();
        assert!(!docs.unverified, "nothing was to be verified");
    }

    #[test]
    fn failing_cases_make_a_repair() {
        let cases = ["a::b".to_owned(), "c::d".to_owned()];
        let (graph, _) = GraphRecipe { cases: &cases, ..plan(Complexity::Simple) }.build().unwrap();
        assert_eq!(graph.template, "debug-repair");
        let edit = graph.nodes.values().find(|node| node.kind == NodeKind::Edit).unwrap();
        assert_eq!(edit.cases, cases);
    }

    #[test]
    fn nothing_to_edit_needs_no_other_way() {
        let (graph, _) =
            GraphRecipe { intent: GoalIntent::Inspect, ..plan(Complexity::Hard) }.build().unwrap();
        assert!(graph.fallback_branches.is_empty());
    }

    #[test]
    fn what_is_left_makes_one_line() {
        let (mut graph, _) = plan(Complexity::Moderate).build().unwrap();
        graph.nodes.get_mut("node-01").unwrap().status = NodeStatus::Done;
        graph.nodes.get_mut("node-03").unwrap().status = NodeStatus::Done;
        graph.nodes.get_mut("node-04").unwrap().status = NodeStatus::Failed;
        let line = graph.linear(2);
        assert_eq!(kinds(&line), ["search", "edit", "verify", "summarize"]);
        graph.nodes.get_mut("node-04").unwrap().status = NodeStatus::Done;
        assert_eq!(kinds(&graph.linear(2)), ["search", "summarize"]);
        assert!(line.fallback_branches.is_empty() && line.graph_id == "graph-2");
        assert_eq!((line.progress(), line.cursor.node_index), (0, 0));
    }
}
