//! What people say about single tasks while the others go on.

use super::*;
use crate::orchestrate::planner::word::{self, TaskWord};

fn stop() -> TaskWord {
    TaskWord::Stop { reason: Some("not now".into()) }
}

fn skip() -> TaskWord {
    TaskWord::Skip { reason: None }
}

fn cancelled() -> AttemptEnd {
    AttemptEnd { status: RunStatus::Cancelled, ..end(RunOutcome::Failure, ModeDecision::Approve, false) }
}

/// `a` and `b` side by side, `c` after `b`, a review of `a` and `c`, one of `c` alone.
fn four() -> OrchestrationState {
    state(OrchestrationGraph::of(vec![
        task("a", "code", &[]),
        task("b", "code", &[]),
        task("c", "code", &["b"]),
        task("both", "review", &["a", "c"]),
        task("alone", "review", &["c"]),
    ]))
}

/// One after the other; who looks at the end knows only the last.
fn chain() -> OrchestrationState {
    state(OrchestrationGraph::of(vec![
        task("a", "code", &[]),
        task("b", "code", &["a"]),
        task("c", "code", &["b"]),
        task("look", "review", &["c"]),
        task("assess", "ethical", &["look"]),
    ]))
}

fn place(state: &OrchestrationState, id: &str) -> usize {
    state.nodes.iter().position(|node| node.task.id == id).unwrap()
}

/// What each task waits for, directly or through others.
fn waits(state: &OrchestrationState) -> BTreeMap<String, Vec<String>> {
    let tasks: Vec<OrchestrationTask> = state.nodes.iter().map(|node| node.task.clone()).collect();
    let before = |task| graph::before(&tasks, task).into_iter().map(str::to_owned).collect();
    tasks.iter().map(|task| (task.id.clone(), before(task))).collect()
}

fn merged(state: &OrchestrationState) -> Vec<&str> {
    state.merges.iter().map(|merge| merge.task.as_str()).collect()
}

#[test]
fn what_is_left_out_takes_along_what_waits_for_it_and_the_others_go_on() {
    let mut state = four();
    let heard = word::hear(&mut state, 1, skip()).unwrap();
    assert!(!heard.ends_run);
    let (ended, _) = play(&mut state, good, |_| true);
    let left = vec!["b".to_owned(), "c".into(), "alone".into()];
    assert_eq!(
        ended,
        OrchestrationEnd::Partial { task: "b".into(), reason: "a person left it out".into(), left }
    );
    assert_eq!((merged(&state), state.replans.len()), (vec!["a"], 0));
    assert_eq!(state.nodes[place(&state, "both")].phase, TaskPhase::Done, "what there is is looked at");
}

#[test]
fn who_looks_at_others_work_still_comes_after_it() {
    let mut state = chain();
    word::hear(&mut state, 2, skip()).unwrap();
    let (ended, begun) = play(&mut state, good, |_| true);
    assert!(matches!(&ended, OrchestrationEnd::Partial { left, .. } if *left == ["c"]), "{ended:?}");
    let order: Vec<&str> = begun.iter().map(|start| state.nodes[start.node].task.id.as_str()).collect();
    assert_eq!(order, ["a", "b", "look", "assess"]);
}

#[test]
fn a_run_that_is_stopped_has_failed_and_the_rest_is_planned_again() {
    let mut state = four();
    let starts = match next(&state, 0) {
        OrchestrationAction::Begin(starts) => starts,
        other => panic!("{other:?}"),
    };
    assert_eq!(starts.iter().map(|start| start.node).collect::<Vec<_>>(), [0, 1]);
    starts.iter().for_each(|start| begin(&mut state, *start));
    assert!(word::hear(&mut state, 1, stop()).unwrap().ends_run);
    for start in starts {
        let end = if start.node == 1 { cancelled() } else { good(&state, start) };
        apply(&mut state, OrchestrationEvent::Ended { node: start.node, end: Box::new(end) });
    }
    let mut asked = 0;
    let (ended, _) = play_planned(
        &mut state,
        &[],
        good,
        |_| true,
        |state| {
            asked += 1;
            assert_eq!(state.replans.last().unwrap().reason, "a person stopped it: not now");
            Err("nothing".into())
        },
    );
    assert_eq!(asked, 1);
    assert!(matches!(ended, OrchestrationEnd::Partial { .. }), "{ended:?}");
    assert_eq!(merged(&state), ["a"]);
}

#[test]
fn words_that_cannot_be_taken_are_answered() {
    let mut state = four();
    let say = || TaskWord::Say { text: "mind".into() };
    let mut words = |node: usize, word: TaskWord| word::hear(&mut state, node, word).unwrap_err();
    assert!(words(0, TaskWord::Retry).contains("no run of it is under way"));
    assert!(words(0, TaskWord::Say { text: " ".into() }).contains("nothing to tell"));
    assert!(words(99, say()).contains("no such task"));
    let assessment = place(&state, "ethical");
    assert!(word::hear(&mut state, assessment, skip()).unwrap_err().contains("without an assessment"));
    word::hear(&mut state, 1, stop()).unwrap();
    assert!(word::hear(&mut state, 1, say()).unwrap_err().contains("being ended"));
    let mut single = super::state(OrchestrationGraph::of(vec![task("a", "code", &[])]));
    assert!(word::hear(&mut single, 0, skip()).unwrap_err().contains("nothing would be left"));
    play(&mut single, good, |_| true);
    assert!(word::hear(&mut single, 0, say()).is_err());
}

#[test]
fn a_review_that_found_something_is_not_left_out() {
    let mut state = state(graph::usual("g"));
    let mut looked = 0;
    let answer = |state: &OrchestrationState, start: ChildStart| {
        if state.nodes[start.node].task.mode == "review" && start.purpose == AttemptPurpose::Task {
            looked += 1;
            if looked == 1 {
                return end(RunOutcome::Success, ModeDecision::Block { reason: "no".into() }, false);
            }
        }
        if start.purpose == AttemptPurpose::Fix {
            let mut again = state.clone();
            for word in [stop(), skip()] {
                assert!(word::hear(&mut again, start.node, word).unwrap_err().contains("found something"));
            }
        }
        good(state, start)
    };
    assert_eq!(play(&mut state, answer, |_| true).0, OrchestrationEnd::Complete);
}

/// Stopped for good while nothing goes on: `a` is done, `b` could not be done, and everything else waits.
fn stuck() -> OrchestrationState {
    let mut state = four();
    (state.nodes[0].phase, state.nodes[1].phase) =
        (TaskPhase::Done, TaskPhase::Failed { reason: "no".into() });
    state
}

#[test]
fn what_was_kept_may_ask_again_for_what_could_not_be_done() {
    for (word, phase) in [
        (TaskWord::Retry, TaskPhase::Waiting),
        (TaskWord::Say { text: "mind".into() }, TaskPhase::Waiting),
        (skip(), TaskPhase::Waiting),
    ] {
        let mut state = stuck();
        assert!(
            word::hear(&mut state.clone(), 1, word.clone()).is_err(),
            "while it goes on that is being decided"
        );
        let heard = word::hear_before_going_on(&mut state, 1, word.clone()).unwrap();
        assert!(!heard.ends_run);
        assert_eq!(state.nodes[1].phase, phase, "{word:?}");
        word::settle(&mut state);
        assert_eq!(state.nodes.iter().any(|node| node.task.id == "b"), word != skip());
    }
}

#[test]
fn a_result_that_is_not_joined_is_made_again_when_a_person_wants_it() {
    let mut state = stuck();
    state.nodes[1].phase = TaskPhase::ToMerge { purpose: AttemptPurpose::Task };
    let heard = word::hear_before_going_on(&mut state, 1, TaskWord::Retry).unwrap();
    assert!(heard.says.contains("done again"), "{}", heard.says);
    assert_eq!(state.nodes[1].phase, TaskPhase::Waiting);
}

#[test]
fn what_was_kept_and_cannot_be_taken_changes_nothing() {
    let mut state = stuck();
    let assessment = place(&state, "ethical");
    for (node, word, why) in [
        (0, TaskWord::Retry, "done already"),
        (0, TaskWord::Say { text: "mind".into() }, "done already"),
        (1, TaskWord::Say { text: " ".into() }, "nothing to tell"),
        (assessment, skip(), "without an assessment"),
        (99, TaskWord::Retry, "no such task"),
    ] {
        let before = state.clone();
        let problem = word::hear_before_going_on(&mut state, node, word).unwrap_err();
        assert!(problem.contains(why), "{problem}");
        assert_eq!(state, before);
    }
}

#[test]
fn a_single_run_is_tried_once_and_nobody_plans_it_again() {
    let mut state = state(graph::single("g", true));
    state.single = true;
    let failed = |_: &OrchestrationState, _| end(RunOutcome::Failure, ModeDecision::Approve, false);
    let (ended, begun) = play(&mut state, failed, |_| true);
    assert!(matches!(&ended, OrchestrationEnd::Failed { task, .. } if task == "code"), "{ended:?}");
    assert_eq!((begun.len(), state.replans.len()), (1, 0));
}

proptest! {
    /// Whatever is said at whatever moment: it ends, nothing is joined twice, what was done stays, and what was left out
    /// is named.
    #[test]
    fn any_words_at_any_time_keep_what_is_done(
        in_a_row in any::<bool>(),
        said in prop::collection::vec((0..6usize, 0..4u8, 0..12usize), 0..12),
    ) {
        let mut state = if in_a_row { chain() } else { four() };
        let mut runs = 0;
        let mut done: Vec<String> = Vec::new();
        let mut ended = None;
        for _ in 0..300 {
            let before = waits(&state);
            word::settle(&mut state);
            let after = waits(&state);
            for (id, now) in &after {
                let lost = before[id].iter().find(|on| after.contains_key(*on) && !now.contains(*on));
                prop_assert!(lost.is_none(), "{id} does not wait for {lost:?} any more");
            }
            for id in &done {
                let stays = state.every_node().any(|node| node.task.id == *id && node.phase == TaskPhase::Done);
                prop_assert!(stays, "{id} was done");
            }
            match next(&state, 0) {
                OrchestrationAction::End(end) => { ended = Some(end); break }
                OrchestrationAction::Replan { node } => {
                    apply(&mut state, OrchestrationEvent::Replanning { node });
                    apply(&mut state, OrchestrationEvent::Replanned { run: None, answer: Err("no".into()) });
                }
                OrchestrationAction::Leave { node } => apply(&mut state, OrchestrationEvent::Left { node }),
                OrchestrationAction::Merge { node } => {
                    let task = state.nodes[node].task.id.clone();
                    prop_assert!(!merged(&state).contains(&task.as_str()), "{task} is joined twice");
                    done.push(task.clone());
                    let (file, sha256) = (String::new(), String::new());
                    let merge = MergedChange { task, how: MergeMethod::Clean, file, sha256, paths: vec![] };
                    apply(&mut state, OrchestrationEvent::Merged { node, merge: Some(merge) });
                }
                OrchestrationAction::Begin(starts) => {
                    starts.iter().for_each(|start| begin(&mut state, *start));
                    for (node, kind, at) in &said {
                        if *at == runs && *node < state.nodes.len() {
                            let word = match kind {
                                0 => stop(),
                                1 => skip(),
                                2 => TaskWord::Retry,
                                _ => TaskWord::Say { text: "mind".into() },
                            };
                            let before = state.nodes.len();
                            let _ = word::hear(&mut state, *node, word);
                            prop_assert_eq!(before, state.nodes.len(), "places are kept while runs are under way");
                        }
                    }
                    runs += 1;
                    for start in starts {
                        let end = if state.nodes[start.node].word.is_some() { cancelled() } else { good(&state, start) };
                        apply(&mut state, OrchestrationEvent::Ended { node: start.node, end: Box::new(end) });
                    }
                }
                OrchestrationAction::Plan | OrchestrationAction::Check { .. } => prop_assert!(false),
            }
        }
        prop_assert!(ended.is_some(), "it ends");
        if let Some(OrchestrationEnd::Complete) = ended {
            prop_assert!(state.left.is_none());
        }
    }
}
