#![allow(clippy::unwrap_used, clippy::panic)]
use std::collections::BTreeMap;

use holon_core::manifest::{DecidedBy, GateDecision};
use holon_core::outcome::RunStatus;
use proptest::prelude::*;

use super::*;
use crate::gate::GateMode;
use crate::planner::next;

const LOOP: &str = r#"
name = "f"
description = "x"
[[step]]
name = "review"
mode = "review"
[[step]]
name = "fix"
mode = "execute"
gate = true
when = "findings"
repeat = { from = "review", until = "no findings", most = 3 }
[[step]]
name = "last"
mode = "plan"
"#;

fn begin(text: &str) -> (FlowDefinition, FlowState) {
    let definition = FlowDefinition::parse(text, "f").unwrap();
    let state = FlowState::new(RunId::from_parts(0, [0; 4]), &definition, serde_json::Value::Null);
    (definition, state)
}

fn done(number: u64, outcome: RunOutcome, findings: Option<u64>, patch: Option<&str>) -> FlowStepProgress {
    let artifacts = patch.map(|text| (PATCH.to_owned(), sha256(text.as_bytes())));
    FlowStepProgress::Done(FinishedStep {
        run: Some(RunId::from_parts(number, [1; 4])),
        status: RunStatus::Completed,
        outcome,
        duration_ms: 1,
        manifest_sha256: None,
        artifacts: artifacts.into_iter().collect::<BTreeMap<_, _>>(),
        findings,
        error: None,
    })
}

fn good(number: u64, findings: Option<u64>, patch: Option<&str>) -> FlowStepProgress {
    done(number, RunOutcome::Success, findings, patch)
}

/// One round in which the review finds this much and the fix ends like this.
fn round(state: &mut FlowState, number: u64, found: u64, outcome: RunOutcome) {
    state.steps[0].progress = good(number, Some(found), None);
    state.decide(1, GateDecision::Approved, DecidedBy::Rule, None);
    state.steps[1].progress = done(number + 1, outcome, None, Some("a change"));
}

#[test]
fn rounds_go_on_until_the_goal_or_the_bound() {
    let (definition, mut state) = begin(LOOP);
    let what = |state: &FlowState| next(&definition, state, GateMode::Auto);
    let back = FlowAction::Repeat { first: 0, last: 1 };
    for number in 1..=2 {
        assert_eq!((state.steps[0].round(), state.steps[1].round()), (number, number));
        assert_eq!(what(&state), FlowAction::Work { step: 0 });
        round(&mut state, u64::from(number) * 10, 2, RunOutcome::Success);
        assert_eq!(what(&state), back);
        state.repeat(0, 1);
        assert_eq!(state.steps[1].gate, StepGate::Ahead, "the gate of each round is decided anew");
    }
    let before_the_last = state.clone();
    round(&mut state, 30, 1, RunOutcome::Success);
    let over = FlowEnd::LoopOver { step: "fix".into(), rounds: 3, until: "no findings".into() };
    assert_eq!(what(&state), FlowAction::End(over.clone()));
    assert!(over.to_string().contains("3 times"), "{over}");
    // Where a person goes on with it, the steps behind the loop follow; where nobody was told, nobody decided.
    state.ended = Some(over.clone());
    let untold = state.clone().resumed(&definition, None).unwrap();
    assert_eq!(what(&untold), FlowAction::End(over));
    state.sealed = true;
    let left = state.resumed(&definition, None).unwrap();
    assert_eq!(what(&left), FlowAction::Work { step: 2 });
    // Nothing found in the last round: the fix is left out, and what it did before still counts.
    let mut state = before_the_last;
    state.steps[0].progress = good(30, Some(0), None);
    assert!(matches!(what(&state), FlowAction::Skip { step: 1, .. }));
    state.steps[1].progress = FlowStepProgress::Skipped { why: "nothing was found".into() };
    assert_eq!(what(&state), FlowAction::Work { step: 2 });
    assert_eq!(state.done("fix").unwrap().run, Some(RunId::from_parts(21, [1; 4])));
    let order: Vec<(&str, u32)> =
        state.in_order(&definition).into_iter().map(|(step, round, _)| (step, round)).collect();
    assert_eq!(order, [("review", 1), ("fix", 1), ("review", 2), ("fix", 2), ("review", 3)]);
    assert_eq!(state.changes(&definition).len(), 2);
}

#[test]
fn no_changes_ends_a_loop_and_an_empty_change_is_none() {
    let text = LOOP.replace("no findings", "no changes");
    let (definition, mut state) = begin(&text);
    let what = |state: &FlowState| next(&definition, state, GateMode::Auto);
    round(&mut state, 1, 2, RunOutcome::Success);
    assert_eq!(what(&state), FlowAction::Repeat { first: 0, last: 1 });
    assert!(!state.is_combined(&definition), "one patch is the whole");
    state.repeat(0, 1);
    state.steps[0].progress = good(3, Some(1), None);
    state.steps[1].progress = good(4, None, Some(""));
    assert_eq!(what(&state), FlowAction::Work { step: 2 });
    assert_eq!(state.changes(&definition).len(), 1);
    assert!(state.is_combined(&definition), "the last patch is empty, and not the whole");
}

#[test]
fn a_run_that_asks_for_a_person_is_not_gone_on_from_until_one_did() {
    let (definition, mut state) = begin(LOOP);
    round(&mut state, 1, 2, RunOutcome::NeedsHuman);
    let asks = FlowEnd::NeedsHuman { step: "fix".into() };
    assert_eq!(next(&definition, &state, GateMode::Auto), FlowAction::End(asks.clone()));
    (state.ended, state.sealed) = (Some(asks), true);
    let mut state = state.resumed(&definition, None).unwrap();
    assert_eq!(next(&definition, &state, GateMode::Auto), FlowAction::Repeat { first: 0, last: 1 });
    state.steps[1].progress = done(2, RunOutcome::Failure, None, Some("a change"));
    let failed = FlowEnd::Failed { step: "fix".into(), error: None };
    assert_eq!(next(&definition, &state, GateMode::Auto), FlowAction::End(failed));
    assert!(state.changes(&definition).is_empty(), "what failed is no change to go on with");
}

#[test]
fn a_state_keeps_its_rounds_and_its_definition() {
    let (mut definition, _) = begin(LOOP);
    let source = holon_core::mode::ModeSource::User;
    definition.written =
        Some(crate::definition::FlowFile { source, file: "/x/f.toml".into(), text: LOOP.into() });
    let mut state = FlowState::new(RunId::from_parts(0, [0; 4]), &definition, serde_json::Value::Null);
    round(&mut state, 1, 2, RunOutcome::Success);
    state.repeat(0, 1);
    let text = serde_json::to_string(&state).unwrap();
    let read: FlowState = serde_json::from_str(&text).unwrap();
    assert_eq!(read, state);
    assert_eq!(read.definition().unwrap(), Some(definition));
    assert_eq!(read.steps[1].every_run().count(), 0);
    assert_eq!(read.steps[1].round(), 2);
}

proptest! {
    /// Whatever reviews find and however fixes end, no loop has more rounds than its bound, and no round is lost.
    #[test]
    fn no_loop_goes_beyond_its_bound(found in proptest::collection::vec(0u64..3, 12), most in 1u32..=10) {
        let text = LOOP.replace("most = 3", &format!("most = {most}"));
        let (definition, mut state) = begin(&text);
        let mut reviews = 0;
        for moment in 0..200u64 {
            match next(&definition, &state, GateMode::Auto) {
                FlowAction::Work { step } => {
                    let findings = (step == 0).then(|| found[reviews]);
                    reviews += usize::from(step == 0);
                    state.steps[step].progress = good(moment, findings, (step == 1).then_some("x"));
                }
                FlowAction::Skip { step, why } => state.steps[step].progress = FlowStepProgress::Skipped { why },
                FlowAction::Reach { step } => state.steps[step].gate = StepGate::Reached { seen: BTreeMap::new() },
                FlowAction::Decide { step, decision } => state.decide(step, decision, DecidedBy::Rule, None),
                FlowAction::Repeat { first, last } => state.repeat(first, last),
                FlowAction::Ask { .. } => panic!("nobody is asked"),
                FlowAction::End(end) => {
                    state.ended = Some(end);
                    break;
                }
            }
        }
        let clean = found.iter().take(most as usize).position(|found| *found == 0);
        prop_assert_eq!(reviews, clean.map_or(most as usize, |place| place + 1));
        let ended = state.ended.clone().unwrap();
        prop_assert_eq!(ended == FlowEnd::Complete, clean.is_some(), "{:?}", ended);
        prop_assert_eq!(state.changes(&definition).len(), clean.unwrap_or(most as usize));
    }
}
