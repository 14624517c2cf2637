#![allow(clippy::unwrap_used)]

use super::*;
use crate::domain::{Complexity, GoalIntent};
use crate::event::{RoundEnd, SupervisorFact};
use crate::graph::GraphRecipe;
use crate::scene::{check_ran, read, search, write};

struct CursorWalk {
    graph: TaskGraph,
    known: EvidenceMemory,
    named: Vec<String>,
    round: u32,
    moved: Vec<GraphMove>,
}

impl CursorWalk {
    fn new(complexity: Complexity) -> Self {
        Self::with(GraphRecipe {
            number: 1,
            goal: "g",
            intent: GoalIntent::Edit,
            complexity,
            checks: true,
            monorepo: false,
            cases: &[],
        })
    }

    fn with(plan: GraphRecipe<'_>) -> Self {
        let (graph, _) = plan.build().unwrap();
        let mut walk =
            Self { graph, known: EvidenceMemory::default(), named: Vec::new(), round: 1, moved: Vec::new() };
        let ground = AdvanceContext { known: &walk.known, named: &walk.named, round: 1 };
        walk.moved = walk.graph.start(ground);
        walk
    }

    fn feed(&mut self, fact: &SupervisorFact) -> &mut Self {
        let brought = self.known.absorb(fact, self.round);
        let ground = AdvanceContext { known: &self.known, named: &self.named, round: self.round };
        self.moved.clear();
        if brought.mutations > 0 {
            self.moved.extend(self.graph.mutated(ground));
        }
        let when = match fact {
            SupervisorFact::CheckRan(check) => AdvanceTrigger::Check { ok: check.passed_whole() },
            _ => AdvanceTrigger::Tool,
        };
        self.moved.extend(self.graph.tick(when, ground));
        self
    }

    fn end(&mut self, wrote: bool, text: bool) -> &mut Self {
        self.known.absorb(&SupervisorFact::RoundEnded(RoundEnd { text, ..RoundEnd::default() }), self.round);
        let ground = AdvanceContext { known: &self.known, named: &self.named, round: self.round };
        self.moved = self.graph.tick(AdvanceTrigger::RoundEnd { wrote }, ground);
        self.round += 1;
        self
    }

    fn at(&self) -> &str {
        self.graph.current().map_or("-", |node| node.kind.name())
    }

    fn edit(&mut self) -> &mut Self {
        let version = self.known.version();
        self.feed(&write("c", "a.rs", &version.to_string(), &(version + 1).to_string()))
    }

    /// To the edit step of a standard plan.
    fn at_edit(mut self) -> Self {
        self.feed(&read("c", "a.rs", "0")).feed(&search("c", 1));
        assert_eq!(self.at(), "edit");
        self
    }

    fn red(&mut self) -> &mut Self {
        self.feed(&check_ran("t", 1, &["x"]))
    }

    fn green(&mut self) -> &mut Self {
        self.feed(&check_ran("t", 0, &[]))
    }
}

#[test]
fn the_straight_way_by_evidence_alone() {
    let mut walk = CursorWalk::new(Complexity::Simple);
    assert_eq!(walk.at(), "inspect");
    walk.feed(&search("c", 0));
    assert_eq!(walk.at(), "inspect", "no results, no evidence");
    walk.feed(&read("c", "a.rs", "0"));
    assert_eq!((walk.at(), walk.graph.progress()), ("search", 20));
    walk.feed(&search("c", 2));
    assert_eq!(walk.at(), "edit");
    walk.edit();
    assert_eq!(walk.at(), "edit", "more files may follow");
    walk.green();
    assert_eq!((walk.at(), walk.graph.progress()), ("summarize", 80));
    walk.end(true, true);
    assert_eq!(walk.at(), "summarize", "what was said before it began is no summary");
    walk.end(false, false);
    assert_eq!(
        (walk.at(), walk.graph.status),
        ("-", GraphStatus::Done),
        "a silent summary is left out in the end"
    );
    let done: Vec<_> = walk.graph.steps().map(|node| node.status).collect();
    assert_eq!(done[..4], [NodeStatus::Done; 4]);
    assert!(walk.graph.steps().take(4).all(|node| !node.evidence.is_empty()));
}

#[test]
fn a_summary_is_text_in_a_later_round() {
    let mut walk = CursorWalk::new(Complexity::Trivial);
    walk.edit().green();
    assert_eq!(walk.at(), "summarize");
    walk.end(true, false);
    walk.end(false, true);
    assert_eq!(walk.graph.status, GraphStatus::Done);
    assert!(walk.moved.contains(&GraphMove::Done));
    assert_eq!(walk.graph.cursor.completed_node_ids, ["node-01", "node-02", "node-03"]);
}

#[test]
fn two_files_read_are_a_search_too() {
    let mut walk = CursorWalk::new(Complexity::Simple);
    walk.feed(&read("c", "a.rs", "0"));
    assert_eq!(walk.at(), "search");
    walk.feed(&read("c", "b.rs", "0"));
    assert_eq!(walk.at(), "edit");
}

#[test]
fn named_files_are_what_inspecting_means() {
    let mut walk = CursorWalk::new(Complexity::Simple);
    walk.named = vec!["src/a.rs".into()];
    walk.feed(&read("c", "b.rs", "0"));
    assert_eq!(walk.at(), "inspect");
    walk.feed(&read("c", "src/a.rs", "0"));
    assert_eq!(walk.at(), "edit", "two files are known by now");
}

#[test]
fn a_round_without_writing_ends_the_edit() {
    let mut walk = CursorWalk::new(Complexity::Simple).at_edit();
    walk.edit().end(true, false);
    assert_eq!(walk.at(), "edit");
    walk.end(false, false);
    assert_eq!(walk.at(), "verify");
}

#[test]
fn an_old_green_check_proves_nothing_new() {
    let mut walk = CursorWalk::new(Complexity::Simple).at_edit();
    walk.green();
    assert_eq!(walk.at(), "edit", "nothing was edited");
    walk.edit().end(true, false).end(false, false);
    assert_eq!(walk.at(), "verify", "the check is from before");
}

#[test]
fn a_failing_check_leads_back_and_in_the_end_elsewhere() {
    let mut walk = CursorWalk::new(Complexity::Moderate).at_edit();
    for retries in 1..3 {
        walk.edit().red();
        assert_eq!(walk.at(), "edit", "retry {retries}");
        assert_eq!(walk.graph.nodes["node-04"].retries, retries);
        walk.red();
        assert_eq!(walk.graph.nodes["node-04"].retries, retries, "nothing was changed in between");
    }
    walk.edit().red();
    assert_eq!((walk.at(), walk.graph.cursor.branch_id.as_str()), ("fallback", "fallback-1"));
    assert!(walk.moved.contains(&GraphMove::Branch { branch: "fallback-1".into(), reason: "verify_failed" }));
    assert_eq!(walk.graph.nodes["node-04"].status, NodeStatus::Failed);
    assert_eq!(walk.graph.progress(), 0, "of the current branch");
    walk.edit().green();
    assert_eq!((walk.at(), walk.graph.cursor.branch_id.as_str()), ("summarize", MAIN));
    assert_eq!(walk.graph.nodes["node-04"].status, NodeStatus::Skipped);
    walk.end(false, false).end(false, true);
    assert_eq!(walk.graph.status, GraphStatus::Done);
}

#[test]
fn when_no_way_is_left_the_graph_has_failed() {
    let mut walk = CursorWalk::new(Complexity::Moderate).at_edit();
    for _ in 0..6 {
        walk.edit().red();
    }
    assert_eq!(walk.graph.status, GraphStatus::Failed);
    assert!(walk.moved.contains(&GraphMove::Failed) && !walk.graph.is_active());
    assert_eq!((walk.graph.open_steps(), walk.graph.open_edit(), walk.at()), (0, false, "-"));
    walk.edit().green();
    assert_eq!(walk.moved, []);
}

#[test]
fn steps_that_bring_nothing_are_left_when_their_budget_is_spent() {
    let mut walk = CursorWalk::new(Complexity::Simple);
    for _ in 0..4 {
        walk.end(false, false);
    }
    assert_eq!(walk.at(), "inspect");
    walk.end(false, false);
    assert_eq!(walk.at(), "search");
    assert_eq!(walk.graph.nodes["node-01"].status, NodeStatus::Skipped);
    walk.graph.current_mut().unwrap().calls = 6;
    walk.end(false, false);
    assert_eq!(walk.at(), "edit", "calls count as well");
    for _ in 0..8 {
        walk.end(false, false);
    }
    assert_eq!((walk.at(), walk.graph.current().unwrap().retries), ("edit", 1));
    for _ in 0..8 {
        walk.end(false, false);
    }
    assert_eq!(walk.graph.status, GraphStatus::Failed);
}

#[test]
fn an_edit_without_end_is_taken_as_done() {
    let mut walk = CursorWalk::new(Complexity::Simple).at_edit();
    for _ in 0..7 {
        walk.edit().end(true, false);
    }
    assert_eq!(walk.at(), "edit");
    walk.edit().end(true, false);
    assert_eq!(walk.at(), "verify");
}

#[test]
fn a_check_that_never_runs_is_a_failing_one() {
    let mut walk = CursorWalk::new(Complexity::Trivial);
    walk.edit().end(true, false).end(false, false);
    assert_eq!(walk.at(), "verify");
    for _ in 0..5 {
        walk.end(false, false);
    }
    assert_eq!((walk.at(), walk.graph.nodes["node-02"].retries), ("edit", 1));
}

#[test]
fn a_change_after_verification_takes_it_back() {
    let mut walk = CursorWalk::new(Complexity::Trivial);
    walk.edit().green();
    assert_eq!(walk.at(), "summarize");
    walk.edit();
    assert_eq!(walk.at(), "verify");
    assert!(walk.moved.contains(&GraphMove::Node {
        node: "node-02".into(),
        status: NodeStatus::Pending,
        reason: "stale"
    }));
    assert_eq!(walk.graph.cursor.completed_node_ids, ["node-01"]);
    assert!(walk.graph.nodes["node-02"].evidence.is_empty());
    walk.green();
    assert_eq!(walk.at(), "summarize");
}

#[test]
fn a_summary_that_is_worked_on_came_too_early() {
    let mut walk = CursorWalk::new(Complexity::Trivial);
    walk.edit().green();
    for reopened in 1..=2 {
        walk.graph.current_mut().unwrap().blocked = 1;
        walk.end(false, false).end(false, false);
        assert_eq!((walk.at(), walk.graph.nodes["node-03"].retries), ("edit", reopened));
        walk.edit().green();
    }
    walk.graph.current_mut().unwrap().blocked = 1;
    walk.end(false, false).end(false, false);
    assert_eq!(walk.graph.status, GraphStatus::Done, "not for ever");
}

#[test]
fn no_way_is_gone_twice() {
    let mut walk = CursorWalk::new(Complexity::Moderate).at_edit();
    for _ in 0..3 {
        walk.edit().red();
    }
    assert_eq!(walk.at(), "fallback");
    // Nothing is edited: the other way is given up before its check, and there is no third one.
    for _ in 0..8 {
        walk.end(false, false);
    }
    assert_eq!(walk.graph.status, GraphStatus::Failed);
}

#[test]
fn a_child_proves_a_delegation() {
    let mut walk = CursorWalk::new(Complexity::Hard);
    assert_eq!(walk.at(), "delegate");
    walk.feed(&read("c", "a.rs", "0"));
    assert_eq!(walk.at(), "delegate");
    let mut done = crate::scene::finished("c", true, Default::default());
    done.evidence.child = true;
    walk.feed(&SupervisorFact::ToolFinished(done));
    assert_eq!(walk.at(), "search", "the file was read before");
}

#[test]
fn the_past_proves_what_it_can() {
    let check = |facts: &[SupervisorFact], named: &[&str], cases: &[String], expect: &str| {
        let plan = GraphRecipe {
            number: 1,
            goal: "g",
            intent: GoalIntent::Edit,
            complexity: Complexity::Simple,
            checks: true,
            monorepo: false,
            cases,
        };
        let (mut graph, _) = plan.build().unwrap();
        let named: Vec<String> = named.iter().map(ToString::to_string).collect();
        let mut known = EvidenceMemory::default();
        for fact in facts {
            known.absorb(fact, 1);
        }
        graph.backfill(AdvanceContext { known: &known, named: &named, round: 3 });
        assert_eq!(graph.current().map_or("-", |node| node.kind.name()), expect, "{facts:?}");
        assert!(graph.steps().all(|node| (node.status == NodeStatus::Done) != node.evidence.is_empty()));
    };
    let case = ["x".to_owned()];
    let change = || write("c", "a.rs", "0", "1");
    check(&[], &[], &[], "inspect");
    check(&[read("c", "a.rs", "0")], &[], &[], "edit");
    check(&[change()], &[], &[], "verify");
    check(&[change()], &["a.rs"], &[], "verify");
    check(&[change()], &["a.rs", "b.rs"], &[], "edit");
    check(&[change()], &["a.rs", "src/"], &[], "verify");
    check(&[change(), check_ran("t", 0, &[])], &[], &[], "summarize");
    check(&[check_ran("t", 0, &[]), change()], &[], &[], "verify");
    check(&[change(), check_ran("t", 1, &["x"])], &[], &case, "edit");
}

#[test]
fn a_repair_is_over_when_a_check_says_so() {
    let cases = ["a::b".to_owned()];
    let mut walk = CursorWalk::with(GraphRecipe {
        number: 1,
        goal: "g",
        intent: GoalIntent::Edit,
        complexity: Complexity::Simple,
        checks: true,
        monorepo: false,
        cases: &cases,
    });
    assert_eq!(walk.at(), "edit");
    walk.edit().end(true, false);
    walk.feed(&read("c", "b.rs", "1")).end(false, false);
    assert_eq!(walk.at(), "edit", "there may be more to change");
    walk.feed(&check_ran("t", 1, &["a::b"]));
    assert_eq!(walk.at(), "edit", "and there is");
    walk.edit().feed(&check_ran("t", 0, &[]));
    assert_eq!(walk.at(), "summarize");
}
