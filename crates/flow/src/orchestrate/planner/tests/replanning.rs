//! What is planned when a task could not be done, and what is delivered when nothing more can be.

use super::*;
use crate::orchestrate::state::ReplanAnswer;

fn ids(nodes: &[TaskNode]) -> Vec<&str> {
    nodes.iter().map(|node| node.task.id.as_str()).collect()
}

fn worded(goal: &str, task: OrchestrationTask) -> OrchestrationTask {
    OrchestrationTask { goal: goal.into(), ..task }
}

fn kept(ids: &[&str], tasks: Vec<OrchestrationTask>) -> Result<OrchestrationGraph, String> {
    Ok(OrchestrationGraph {
        kept: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..OrchestrationGraph::of(tasks)
    })
}

fn stop() -> Result<OrchestrationGraph, String> {
    Ok(OrchestrationGraph { stop: Some("enough".into()), ..OrchestrationGraph::default() })
}

/// Runs of these tasks fail; everything else is good.
fn failing<'a>(names: &'a [&'a str]) -> impl FnMut(&OrchestrationState, ChildStart) -> AttemptEnd + 'a {
    |state, start| match names.contains(&state.nodes[start.node].task.goal.as_str()) {
        true => end(RunOutcome::Failure, ModeDecision::Escalate { reason: "cannot".into() }, false),
        false => good(state, start),
    }
}

/// `a` is done, `b` cannot be done after it, `c` waits for both.
fn stuck() -> OrchestrationState {
    let (b, c) = (worded("bad", task("b", "code", &["a"])), task("c", "code", &["a", "b"]));
    state(OrchestrationGraph::of(vec![task("a", "code", &[]), b, c, task("r", "review", &["c"])]))
}

#[test]
fn what_cannot_be_done_is_planned_again_and_what_is_done_stays() {
    let mut state = stuck();
    let (ended, begun) = play_planned(
        &mut state,
        &[],
        failing(&["bad"]),
        |_| true,
        |state| {
            let replan = state.replans.last().unwrap();
            assert_eq!((replan.after_task.as_str(), replan.reason.as_str()), ("b", "cannot"));
            kept(&["a"], vec![worded("other", task("b", "code", &["a"])), task("d", "review", &["b"])])
        },
    );
    assert_eq!(ended, OrchestrationEnd::Complete);
    assert_eq!(ids(&state.nodes), ["a", "b", "d", "ethical"]);
    assert_eq!(ids(&state.dropped), ["b", "c", "r"]);
    let replan = &state.replans[0];
    assert_eq!(
        (replan.kept.as_slice(), replan.answer.as_ref()),
        (&["a".to_owned()][..], Some(&ReplanAnswer::Taken))
    );
    assert_eq!((replan.added.len(), replan.dropped.len()), (2, 3));
    // Once for a, three times for the first b, then b, d and the assessment.
    assert_eq!((begun.len(), state.children), (7, 7));
    assert_eq!(state.merges.iter().map(|m| m.task.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn what_is_done_cannot_be_planned_again_and_what_is_not_cannot_be_kept() {
    let mut state = stuck();
    let redo = |_: &OrchestrationState| {
        kept(&[], vec![worded("a again", task("a", "code", &[])), task("z", "code", &["a"])])
    };
    let (ended, _) = play_planned(&mut state, &[], failing(&["bad"]), |_| true, redo);
    assert_eq!(ended, OrchestrationEnd::Complete);
    assert_eq!(state.node("a").unwrap().task.goal, "x", "it is the one that was done");
    assert_eq!(state.node("a").unwrap().attempts.len(), 1);

    let mut state = stuck();
    let wrong = |_: &OrchestrationState| kept(&["b"], vec![task("z", "code", &["b"])]);
    let (ended, _) = play_planned(&mut state, &[], failing(&["bad"]), |_| true, wrong);
    assert!(matches!(ended, OrchestrationEnd::Partial { .. }), "{ended:?}");
    let Some(ReplanAnswer::Unusable { problem }) = &state.replans[0].answer else {
        panic!("{:?}", state.replans)
    };
    assert!(problem.contains("`b` is not done"), "{problem}");
}

#[test]
fn the_same_again_word_for_word_is_no_plan() {
    let mut state = stuck();
    let first = state.nodes.iter().filter(|n| n.task.mode != "ethical").map(|n| n.task.clone());
    let first: Vec<OrchestrationTask> = first.collect();
    let (ended, _) = play_planned(&mut state, &[], failing(&["bad"]), |_| true, |_| kept(&[], first.clone()));
    assert!(matches!(&ended, OrchestrationEnd::Partial { task, .. } if task == "b"), "{ended:?}");
    assert!(
        matches!(&state.replans[0].answer, Some(ReplanAnswer::Unusable { problem }) if problem.contains("word"))
    );
}

#[test]
fn it_is_planned_again_twice_and_then_the_finished_part_goes_out() {
    let mut state = stuck();
    let mut round = 0;
    let (ended, _) = play_planned(
        &mut state,
        &[],
        failing(&["bad", "bad 1", "bad 2"]),
        |_| true,
        |_| {
            round += 1;
            kept(&["a"], vec![worded(&format!("bad {round}"), task("b", "debug", &["a"]))])
        },
    );
    let OrchestrationEnd::Partial { task, reason, left } = ended else { panic!("{ended:?}") };
    assert_eq!((task.as_str(), reason.as_str(), left), ("b", "cannot", vec!["b".to_owned()]));
    assert_eq!((round, state.replans.len()), (2, 2));
    assert_eq!(ids(&state.nodes), ["a", "ethical"]);
    assert_eq!(ids(&state.dropped), ["b", "c", "r", "b"], "every run is still told");
}

#[test]
fn the_finished_part_is_looked_at_and_assessed_before_it_goes_out() {
    // The review covers what is done through what is not.
    let mut state = stuck();
    let (ended, begun) = play_planned(&mut state, &[], failing(&["bad"]), |_| true, |_| stop());
    assert!(matches!(&ended, OrchestrationEnd::Partial { left, .. } if *left == ["b", "c"]), "{ended:?}");
    assert_eq!(ids(&state.nodes), ["a", "r", "ethical"]);
    let modes: Vec<&str> =
        begun.iter().rev().take(2).map(|s| state.nodes[s.node].task.mode.as_str()).collect();
    assert_eq!(modes, ["ethical", "review"]);
    assert!(state.node("r").unwrap().task.goal.contains("left out is: b, c"));

    // Without an approval it does not.
    let mut state = stuck();
    let answer =
        |state: &OrchestrationState, start: ChildStart| match state.nodes[start.node].task.mode.as_str() {
            "ethical" => end(RunOutcome::Success, ModeDecision::Block { reason: "risky".into() }, false),
            _ => failing(&["bad"])(state, start),
        };
    let (ended, _) = play_planned(&mut state, &[], answer, |_| true, |_| stop());
    assert!(matches!(ended, OrchestrationEnd::EthicsBlocked { .. }), "{ended:?}");

    // And the host's checks still count.
    let mut state = stuck();
    let answer =
        |state: &OrchestrationState, start: ChildStart| match state.nodes[start.node].task.mode.as_str() {
            CHECK if start.purpose == AttemptPurpose::Task => {
                end(RunOutcome::Failure, ModeDecision::Block { reason: "red".into() }, false)
            }
            _ => failing(&["bad"])(state, start),
        };
    let (ended, _) = play_planned(&mut state, &["make test".into()], answer, |_| true, |_| stop());
    assert!(matches!(&ended, OrchestrationEnd::Failed { task, .. } if task == "checks"), "{ended:?}");
}

#[test]
fn where_nothing_is_done_it_ends_as_what_failed() {
    let graph =
        OrchestrationGraph::of(vec![worded("bad", task("a", "code", &[])), task("b", "code", &["a"])]);
    let mut state = state(graph);
    let (ended, _) = play_planned(&mut state, &[], failing(&["bad"]), |_| true, |_| stop());
    assert!(
        matches!(&ended, OrchestrationEnd::Failed { task, reason, .. } if task == "a" && reason == "cannot"),
        "{ended:?}"
    );
    assert_eq!(ids(&state.nodes), ["a", "b", "ethical"], "everything is as it was");
}

/// A review that says no as long as it is asked in these words.
fn blocked(state: &OrchestrationState, start: ChildStart) -> AttemptEnd {
    let task = &state.nodes[start.node].task;
    match task.mode == "review" && task.goal.starts_with("strict") && start.purpose == AttemptPurpose::Task {
        true => end(RunOutcome::Success, ModeDecision::Block { reason: "no".into() }, false),
        false => good(state, start),
    }
}

fn reviewed() -> OrchestrationState {
    state(OrchestrationGraph::of(vec![task("a", "code", &[]), worded("strict", task("r", "review", &["a"]))]))
}

#[test]
fn no_plan_gets_around_a_review_that_says_no() {
    // Nothing more, and only the rest without it.
    for rest in [stop(), kept(&["a"], vec![task("d", "debug", &["a"])])] {
        let mut state = reviewed();
        let (ended, _) = play_planned(&mut state, &[], blocked, |_| true, |_| rest.clone());
        assert!(matches!(&ended, OrchestrationEnd::Escalated { task, .. } if task == "r"), "{ended:?}");
    }
    // Another change without another review: the same review looks at it.
    let mut state = reviewed();
    let mut rest = vec![stop(), kept(&["a"], vec![task("d", "code", &["a"])])];
    let (ended, _) = play_planned(&mut state, &[], blocked, |_| true, |_| rest.pop().unwrap());
    assert!(matches!(&ended, OrchestrationEnd::Escalated { task, .. } if task == "r"), "{ended:?}");
    assert_eq!(state.node("r").unwrap().task.depends_on, ["d"]);
    // What fails afterwards lets nothing out either.
    let mut state = reviewed();
    let mut rest = vec![stop(), kept(&["a"], vec![worded("bad", task("d", "code", &[]))])];
    let answer =
        |state: &OrchestrationState, start: ChildStart| match state.nodes[start.node].task.goal.as_str() {
            "bad" => failing(&["bad"])(state, start),
            _ => blocked(state, start),
        };
    let (ended, _) = play_planned(&mut state, &[], answer, |_| true, |_| rest.pop().unwrap());
    assert!(!matches!(ended, OrchestrationEnd::Complete | OrchestrationEnd::Partial { .. }), "{ended:?}");
    // A change and a review that lets it in.
    let mut state = reviewed();
    let tasks = vec![task("d", "code", &["a"]), task("s", "review", &["d"])];
    let (ended, _) = play_planned(&mut state, &[], blocked, |_| true, |_| kept(&["a"], tasks.clone()));
    assert_eq!(ended, OrchestrationEnd::Complete);
}

#[test]
fn what_must_not_go_out_and_what_is_spent_is_not_planned_again() {
    let never = |_: &OrchestrationState| -> Result<OrchestrationGraph, String> { panic!("asked") };
    let mut state_ = state(graph::usual("g"));
    let answer =
        |state: &OrchestrationState, start: ChildStart| match state.nodes[start.node].task.mode.as_str() {
            "ethical" => end(RunOutcome::Success, ModeDecision::Block { reason: "risky".into() }, false),
            _ => good(state, start),
        };
    let (ended, _) = play_planned(&mut state_, &[], answer, |_| true, never);
    assert!(matches!(ended, OrchestrationEnd::EthicsBlocked { .. }), "{ended:?}");
    // Money for nothing but what was begun.
    let mut poor = stuck();
    poor.max_cost_usd = Some(0.41);
    let (ended, _) = play_planned(&mut poor, &[], failing(&["bad"]), |_| true, never);
    assert!(!matches!(ended, OrchestrationEnd::Complete), "{ended:?}");
    // A wall that did not hold.
    let mut broken = stuck();
    let answer = |state: &OrchestrationState, start: ChildStart| {
        let mut end = failing(&["bad"])(state, start);
        if end.outcome == RunOutcome::Failure {
            end.error = Some(("breach".into(), "out".into()));
        }
        end
    };
    let (ended, _) = play_planned(&mut broken, &[], answer, |_| true, never);
    assert!(matches!(&ended, OrchestrationEnd::Failed { kind, .. } if kind == "breach"), "{ended:?}");
}

#[test]
fn checks_that_stay_red_can_be_planned_for() {
    let mut state = state(OrchestrationGraph::of(vec![task("a", "code", &[])]));
    let answer = |state: &OrchestrationState, start: ChildStart| {
        let node = &state.nodes[start.node];
        let glued = state.merges.iter().any(|merge| merge.task == "glue");
        match node.task.mode == CHECK && start.purpose == AttemptPurpose::Task && !glued {
            true => end(RunOutcome::Failure, ModeDecision::Block { reason: "red".into() }, false),
            false => good(state, start),
        }
    };
    let rest = |_: &OrchestrationState| kept(&["a"], vec![task("glue", "code", &["a"])]);
    let (ended, _) = play_planned(&mut state, &["make test".into()], answer, |_| true, rest);
    assert_eq!((ended, state.replans.len()), (OrchestrationEnd::Complete, 1));
    assert_eq!(state.replans[0].after_task, "checks");
}

#[test]
fn runs_that_are_used_up_leave_enough_for_the_assessment() {
    // Twelve tasks, each of which needs two runs: more than there may be.
    let tasks = (0..12).map(|n| worded(&format!("g{n}"), task(&format!("t{n}"), "code", &[]))).collect();
    let mut state = state(OrchestrationGraph::of(tasks));
    let answer = |state: &OrchestrationState, start: ChildStart| {
        let node = &state.nodes[start.node];
        match node.task.mode == "execute" && node.attempts.len() == 1 {
            true => end(RunOutcome::Failure, ModeDecision::Escalate { reason: "once".into() }, false),
            false => good(state, start),
        }
    };
    let (ended, begun) = play_planned(&mut state, &[], answer, |_| true, |_| panic!("asked"));
    let OrchestrationEnd::Partial { left, reason, .. } = &ended else { panic!("{ended:?}") };
    assert!(!left.is_empty() && reason.contains("of 16 runs"), "{ended:?}");
    assert!(begun.len() <= MAX_CHILDREN as usize && !state.merges.is_empty());
    // A plan for the rest that needs more runs than there are is none.
    let mut state = stuck();
    let many = (0..12).map(|n| worded(&format!("g{n}"), task(&format!("t{n}"), "code", &[]))).collect();
    let mut rest = vec![kept(&[], many)];
    let (ended, _) = play_planned(&mut state, &[], failing(&["bad"]), |_| true, |_| rest.pop().unwrap());
    assert!(matches!(ended, OrchestrationEnd::Partial { .. }), "{ended:?}");
    let Some(ReplanAnswer::Unusable { problem }) = &state.replans[0].answer else {
        panic!("{:?}", state.replans)
    };
    assert!(problem.contains("it needs 13 runs, and 12 of 16 are left"), "{problem}");
}

#[test]
fn a_state_from_before_there_were_second_plans_can_be_read() {
    let text = serde_json::to_value(stuck()).unwrap();
    let object = text.as_object().unwrap();
    assert!(!object.contains_key("replans") && !object.contains_key("left"), "{object:?}");
    let mut old = text.clone();
    for node in old["nodes"].as_array_mut().unwrap() {
        node.as_object_mut().unwrap().remove("plan");
    }
    assert_eq!(serde_json::from_value::<OrchestrationState>(old).unwrap(), stuck());
}
