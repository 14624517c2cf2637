#![allow(clippy::unwrap_used, clippy::panic)]
use std::collections::BTreeMap;

use holon_core::artifact::orchestration::OrchestrationTask;
use holon_core::ids::RunId;
use holon_core::manifest::EthicsOverride;
use proptest::prelude::*;

mod money;
mod replanning;
mod words;

use super::*;
use crate::orchestrate::graph::tests::task;
use crate::orchestrate::replan::REPLANS;
use crate::orchestrate::state::MergeMethod;

fn state(graph: OrchestrationGraph) -> OrchestrationState {
    let mut state = OrchestrationState {
        version: 1,
        id: RunId::from_parts(0, [0; 4]),
        asked: serde_json::Value::Null,
        spec_sha256: None,
        goal: "g".into(),
        single: false,
        max_cost_usd: None,
        max_ms: 1000,
        spent_usd: 0.0,
        estimate: None,
        elapsed_ms: 0,
        children: 0,
        planned: None,
        planning: Vec::new(),
        nodes: Vec::new(),
        merges: Vec::new(),
        replans: Vec::new(),
        dropped: Vec::new(),
        left: None,
        ethics_override: None,
        overruled: false,
        messages: Vec::new(),
        last_word: None,
        ended: None,
        sealed: false,
    };
    assert_eq!(next(&state, 0), OrchestrationAction::Plan);
    apply(
        &mut state,
        OrchestrationEvent::Planned { graph, by: PlanOrigin { by_model: true, problem: None } },
    );
    state
}

fn end(outcome: RunOutcome, decision: ModeDecision, changed: bool) -> AttemptEnd {
    AttemptEnd {
        status: RunStatus::Completed,
        outcome,
        decision,
        error: None,
        manifest_sha256: None,
        artifacts: BTreeMap::new(),
        changed,
        cost_usd: 0.1,
        duration_ms: 1,
    }
}

fn begin(state: &mut OrchestrationState, start: ChildStart) {
    let mode = match start.purpose {
        AttemptPurpose::Task => state.nodes[start.node].task.mode.clone(),
        _ => "execute".into(),
    };
    let attempt = TaskAttempt {
        purpose: start.purpose,
        mode,
        run: None,
        folder: None,
        request: String::new(),
        end: None,
        joined: None,
        killed_cost_usd: None,
    };
    apply(state, OrchestrationEvent::Begun { node: start.node, attempt });
}

/// Goes on until the end; `answer` says how each run ends, `fits` whether changes do.
fn play(
    state: &mut OrchestrationState,
    answer: impl FnMut(&OrchestrationState, ChildStart) -> AttemptEnd,
    fits: impl FnMut(usize) -> bool,
) -> (OrchestrationEnd, Vec<ChildStart>) {
    play_checked(state, &[], answer, fits)
}

/// The same where commands check everything together; they end as `answer` says, and are no runs.
fn play_checked(
    state: &mut OrchestrationState,
    commands: &[String],
    answer: impl FnMut(&OrchestrationState, ChildStart) -> AttemptEnd,
    fits: impl FnMut(usize) -> bool,
) -> (OrchestrationEnd, Vec<ChildStart>) {
    play_planned(state, commands, answer, fits, |_| Err("no answer".into()))
}

/// The same where `rest` says what is planned when a task could not be done.
fn play_planned(
    state: &mut OrchestrationState,
    commands: &[String],
    mut answer: impl FnMut(&OrchestrationState, ChildStart) -> AttemptEnd,
    mut fits: impl FnMut(usize) -> bool,
    mut rest: impl FnMut(&OrchestrationState) -> Result<OrchestrationGraph, String>,
) -> (OrchestrationEnd, Vec<ChildStart>) {
    let mut begun = Vec::new();
    for _ in 0..200 {
        word::settle(state);
        match next(state, 0) {
            OrchestrationAction::Replan { node } => {
                apply(state, OrchestrationEvent::Replanning { node });
                // Killed and gone on with, it is asked for the same.
                assert_eq!(next(state, 0), OrchestrationAction::Replan { node });
                apply(state, OrchestrationEvent::Replanning { node });
                let answer = rest(state);
                apply(state, OrchestrationEvent::Replanned { run: None, answer });
            }
            OrchestrationAction::Leave { node } => apply(state, OrchestrationEvent::Left { node }),
            OrchestrationAction::Plan => panic!("planned twice"),
            OrchestrationAction::End(ended) => return (ended, begun),
            OrchestrationAction::Merge { node } => {
                let task = state.nodes[node].task.id.clone();
                let (file, sha256) = (String::new(), String::new());
                let merge = MergedChange { task, how: MergeMethod::Clean, file, sha256, paths: vec![] };
                let event = match fits(node) {
                    true => OrchestrationEvent::Merged { node, merge: Some(merge) },
                    false => OrchestrationEvent::Conflicted { node, paths: vec!["a".into()] },
                };
                apply(state, event);
                if !state.merges.is_empty() {
                    apply(state, OrchestrationEvent::ToCheck { commands: commands.to_vec() });
                }
            }
            OrchestrationAction::Check { node } => {
                let start = ChildStart { node, purpose: AttemptPurpose::Task };
                begin(state, start);
                let end = answer(state, start);
                apply(state, OrchestrationEvent::Ended { node, end: Box::new(end) });
            }
            OrchestrationAction::Begin(starts) => {
                for start in &starts {
                    begin(state, *start);
                }
                for start in starts {
                    let end = answer(state, start);
                    begun.push(start);
                    apply(state, OrchestrationEvent::Ended { node: start.node, end: Box::new(end) });
                }
            }
        }
    }
    panic!("it never ends: {state:?}")
}

fn good(state: &OrchestrationState, start: ChildStart) -> AttemptEnd {
    let writes = start.purpose != AttemptPurpose::Task || state.nodes[start.node].task.mode == "execute";
    end(RunOutcome::Success, ModeDecision::Approve, writes)
}

#[test]
fn the_usual_plan_goes_from_one_end_to_the_other() {
    let mut state = state(graph::usual("g"));
    let (ended, begun) = play(&mut state, good, |_| true);
    assert_eq!(ended, OrchestrationEnd::Complete);
    assert_eq!(begun.iter().map(|s| s.node).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(state.merges.iter().map(|m| m.task.as_str()).collect::<Vec<_>>(), ["code"]);
}

#[test]
fn a_review_that_blocks_is_heard_twice_and_then_a_person_is_asked() {
    for (blocks, expected) in [
        (2, OrchestrationEnd::Complete),
        (3, OrchestrationEnd::Escalated { task: "review".into(), reason: "no".into() }),
    ] {
        let mut state = state(graph::usual("g"));
        let mut reviews = 0;
        let answer = |state: &OrchestrationState, start: ChildStart| {
            if start.node == 2 && start.purpose == AttemptPurpose::Task {
                reviews += 1;
                if reviews <= blocks {
                    return end(RunOutcome::Success, ModeDecision::Block { reason: "no".into() }, false);
                }
            }
            good(state, start)
        };
        let (ended, begun) = play(&mut state, answer, |_| true);
        assert_eq!(ended, expected);
        assert_eq!(begun.iter().filter(|s| s.purpose == AttemptPurpose::Fix).count(), 2);
    }
}

#[test]
fn a_conflict_becomes_work_and_then_a_persons() {
    let graph = || OrchestrationGraph::of(vec![task("a", "code", &[]), task("b", "code", &[])]);
    let mut once = state(graph());
    let mut refused = false;
    let (ended, begun) = play(&mut once, good, |node| node == 0 || std::mem::replace(&mut refused, true));
    assert_eq!(ended, OrchestrationEnd::Complete);
    assert_eq!(begun[2], ChildStart { node: 1, purpose: AttemptPurpose::Conflict });
    let mut twice = state(graph());
    // Nobody knows another way: what fits goes out without what does not, assessed.
    let (ended, begun) = play(&mut twice, good, |node| node == 0);
    assert!(matches!(ended, OrchestrationEnd::Partial { task, left, .. } if task == "b" && left == ["b"]));
    assert_eq!(twice.nodes[begun.last().unwrap().node].task.mode, "ethical");
}

/// A plan with two tasks side by side, whose changes are wrong together for the first `red` times they are checked.
fn checked(red: usize) -> (OrchestrationState, OrchestrationEnd, Vec<ChildStart>, usize) {
    let tasks = vec![task("a", "code", &[]), task("b", "code", &[]), task("r", "review", &["a", "b"])];
    let mut state = state(OrchestrationGraph::of(tasks));
    let mut looked = 0;
    let answer = |state: &OrchestrationState, start: ChildStart| {
        if state.nodes[start.node].task.mode == CHECK && start.purpose == AttemptPurpose::Task {
            // Everything that was to be joined is, and nobody has looked at it.
            assert!(state.merges.len() >= 2 && state.node("r").unwrap().attempts.is_empty());
            looked += 1;
            if looked <= red {
                return end(
                    RunOutcome::Failure,
                    ModeDecision::Block { reason: "red together".into() },
                    false,
                );
            }
        }
        good(state, start)
    };
    let (ended, begun) = play_checked(&mut state, &["make test".into()], answer, |_| true);
    (state, ended, begun, looked)
}

#[test]
fn what_is_red_together_is_mended_twice_and_then_it_has_failed() {
    let mending = |begun: &[ChildStart]| begun.iter().filter(|s| s.purpose == AttemptPurpose::Fix).count();
    for red in 0..=2 {
        let (state, ended, begun, looked) = checked(red);
        assert_eq!((ended, mending(&begun), looked), (OrchestrationEnd::Complete, red, red + 1));
        assert_eq!(state.children as usize, begun.len(), "the host's own work is no child");
    }
    let (_, ended, begun, looked) = checked(3);
    let OrchestrationEnd::Failed { task, reason, .. } = ended else { panic!("{ended:?}") };
    assert_eq!((task.as_str(), reason.as_str()), ("checks", "red together"));
    assert_eq!((mending(&begun), looked), (2, 3));
}

#[test]
fn what_a_review_had_mended_is_checked_again() {
    let mut state = state(graph::usual("g"));
    let (mut reviews, mut checks) = (0, 0);
    let answer = |state: &OrchestrationState, start: ChildStart| {
        let mode = state.nodes[start.node].task.mode.as_str();
        if start.purpose == AttemptPurpose::Task && mode == CHECK {
            checks += 1;
        }
        if start.purpose == AttemptPurpose::Task && mode == "review" {
            reviews += 1;
            if reviews == 1 {
                return end(RunOutcome::Success, ModeDecision::Block { reason: "no".into() }, false);
            }
        }
        good(state, start)
    };
    let (ended, _) = play_checked(&mut state, &["make test".into()], answer, |_| true);
    assert_eq!((ended, reviews, checks), (OrchestrationEnd::Complete, 2, 2));
}

#[test]
fn checks_that_cannot_be_run_are_no_pass() {
    let mut state = state(graph::usual("g"));
    let answer =
        |state: &OrchestrationState, start: ChildStart| match state.nodes[start.node].task.mode.as_str() {
            CHECK => end(RunOutcome::Failure, ModeDecision::Escalate { reason: "no walls".into() }, false),
            _ => good(state, start),
        };
    let (ended, begun) = play_checked(&mut state, &["make test".into()], answer, |_| true);
    assert!(
        matches!(ended, OrchestrationEnd::Failed { ref reason, .. } if reason == "no walls"),
        "{ended:?}"
    );
    assert!(begun.iter().all(|start| start.purpose == AttemptPurpose::Task));
}

#[test]
fn inv_12_without_a_clear_approval_nothing_is_complete() {
    let answers = [
        end(RunOutcome::Success, ModeDecision::Block { reason: "risky".into() }, false),
        end(RunOutcome::NeedsHuman, ModeDecision::Approve, false),
        end(RunOutcome::Failure, ModeDecision::Escalate { reason: "broken".into() }, false),
        end(RunOutcome::Success, ModeDecision::Next { proposals: vec![] }, false),
    ];
    for answer in answers {
        let ethical = |state: &OrchestrationState, start: ChildStart| {
            if start.node == 3 { answer.clone() } else { good(state, start) }
        };
        let mut plain = state(graph::usual("g"));
        let (ended, _) = play(&mut plain, ethical, |_| true);
        assert!(matches!(ended, OrchestrationEnd::EthicsBlocked { .. }), "{answer:?}: {ended:?}");
        let mut overruled = state(graph::usual("g"));
        overruled.ethics_override =
            Some(EthicsOverride { reason: "r".into(), person: String::new(), uid: 0, terminal: None });
        assert_eq!(play(&mut overruled, ethical, |_| true).0, OrchestrationEnd::Complete);
    }
}

#[test]
fn budgets_end_it_before_the_next_run() {
    let mut poor = state(graph::usual("g"));
    poor.max_cost_usd = Some(0.15);
    let (ended, begun) = play(&mut poor, good, |_| true);
    assert_eq!((ended, begun.len()), (OrchestrationEnd::OutOfMoney, 2));
    let late = state(graph::usual("g"));
    assert_eq!(next(&late, 1000), OrchestrationAction::End(OrchestrationEnd::OutOfTime));
    let mut many = state(graph::usual("g"));
    many.children = MAX_CHILDREN;
    assert_eq!(next(&many, 0), OrchestrationAction::End(OrchestrationEnd::TooManyChildren));
}

fn any_graph() -> impl Strategy<Value = OrchestrationGraph> {
    let modes = prop::collection::vec((0usize..5, any::<u16>()), 1..9);
    modes.prop_map(|specs| {
        let names = ["architect", "code", "review", "debug", "ethical"];
        let tasks = specs.iter().enumerate().map(|(n, (mode, edges))| OrchestrationTask {
            id: format!("t{n}"),
            mode: names[*mode].into(),
            goal: "x".into(),
            acceptance: vec!["y".into()],
            depends_on: (0..n).filter(|m| edges & (1 << m) != 0).map(|m| format!("t{m}")).collect(),
            ..OrchestrationTask::default()
        });
        OrchestrationGraph::of(tasks.collect())
    })
}

fn any_end() -> impl Strategy<Value = AttemptEnd> {
    let outcome = prop_oneof![
        6 => Just(RunOutcome::Success),
        1 => Just(RunOutcome::Failure),
        1 => Just(RunOutcome::NeedsHuman),
    ];
    (outcome, 0u8..5, any::<bool>()).prop_map(|(outcome, decision, changed)| {
        let decision = match decision {
            0 => ModeDecision::Block { reason: "b".into() },
            1 => ModeDecision::Next { proposals: vec![] },
            _ => ModeDecision::Approve,
        };
        end(outcome, decision, changed && outcome == RunOutcome::Success)
    })
}

proptest! {
    #[test]
    fn every_story_ends_and_keeps_its_promises(
        graph in any_graph(),
        ends in prop::collection::vec(any_end(), 1..40),
        fits in prop::collection::vec(any::<bool>(), 1..40),
        checked in any::<bool>(),
        plans in prop::collection::vec(any_graph(), 1..3),
    ) {
        prop_assert!(graph.check().is_empty());
        let commands = if checked { vec!["make test".to_owned()] } else { Vec::new() };
        let mut state = state(graph);
        let (mut answers, mut merges) = (ends.iter().cycle(), fits.iter().cycle());
        let mut early = Vec::new();
        let mut joined_when_checked = None;
        let mut plans = plans.into_iter();
        let (ended, begun) = play_planned(&mut state, &commands, |state, start| {
            let node = &state.nodes[start.node];
            if node.task.mode == CHECK && start.purpose == AttemptPurpose::Task {
                joined_when_checked = Some(state.merges.len());
            }
            let waits = |id: &String| state.node(id).is_some_and(|n| n.phase != TaskPhase::Done);
            if node.task.depends_on.iter().any(waits) {
                early.push(start);
            }
            answers.next().unwrap().clone()
        }, |_| *merges.next().unwrap(), |_| plans.next().ok_or_else(|| "no answer".to_owned()));
        prop_assert!(state.replans.len() <= REPLANS);
        prop_assert!(early.is_empty(), "started before what it waits for: {early:?}");
        prop_assert!(state.children <= MAX_CHILDREN && begun.len() == state.children as usize);
        prop_assert!(state.nodes.iter().all(|node| node.fixes <= FIXES));
        if matches!(ended, OrchestrationEnd::Complete | OrchestrationEnd::Partial { .. }) {
            for node in &state.nodes {
                prop_assert_eq!(&node.phase, &TaskPhase::Done);
                if node.task.mode == "ethical" {
                    prop_assert_eq!(node.decision(), Some(&ModeDecision::Approve));
                }
            }
            let changed = !state.merges.is_empty();
            prop_assert!(
                !(checked && changed) || joined_when_checked == Some(state.merges.len()),
                "what goes out was checked as it is"
            );
            let assessed = state.nodes.iter().any(|node| node.task.mode == "ethical");
            prop_assert!(!changed || assessed);
            let runs: usize = state.every_node().map(|node| node.attempts.len()).sum();
            prop_assert!(runs >= begun.len(), "what was replaced is still told");
        }
        // Asked again, it says the same.
        state.ended = Some(ended.clone());
        prop_assert_eq!(next(&state, 0), OrchestrationAction::End(ended));
    }
}
