#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::BTreeMap;

use holon_core::ids::RunId;
use holon_core::manifest::DecidedBy;
use holon_core::outcome::RunStatus;
use proptest::prelude::*;

use super::*;
use crate::builtin;
use crate::state::FinishedStep;

fn flow(name: &str) -> FlowDefinition {
    builtin::find(name).unwrap().unwrap()
}

fn state(definition: &FlowDefinition) -> FlowState {
    FlowState::new(RunId::from_parts(0, [0; 4]), definition, serde_json::Value::Null)
}

fn done(outcome: RunOutcome, findings: Option<u64>) -> FlowStepProgress {
    FlowStepProgress::Done(FinishedStep {
        run: Some(RunId::from_parts(1, [1; 4])),
        status: RunStatus::Completed,
        outcome,
        duration_ms: 1,
        manifest_sha256: None,
        artifacts: BTreeMap::new(),
        findings,
        error: None,
    })
}

fn reached() -> StepGate {
    StepGate::Reached { seen: BTreeMap::new() }
}

fn decided(decision: GateDecision, by: DecidedBy) -> StepGate {
    StepGate::Decided(holon_core::manifest::FlowGate { decision, by, seen: BTreeMap::new(), comment: None })
}

/// What comes next in `plan-then-execute`, from where plan, gate and execute are.
#[track_caller]
fn check(
    plan: FlowStepProgress,
    gate: StepGate,
    execute: FlowStepProgress,
    gates: GateMode,
    expected: FlowAction,
) {
    let definition = flow("plan-then-execute");
    let mut state = state(&definition);
    (state.steps[0].progress, state.steps[1].gate, state.steps[1].progress) = (plan, gate, execute);
    assert_eq!(next(&definition, &state, gates), expected);
}

fn midway() -> FlowStepProgress {
    let FlowStepProgress::Done(done) = done(RunOutcome::NeedsHuman, None) else { panic!("it is done") };
    let error = holon_core::manifest::ErrorInfo::new("checkpoint", "the supervisor stopped to ask a person");
    FlowStepProgress::Done(FinishedStep { error: Some(error), ..done })
}

#[test]
fn a_step_that_stopped_midway_is_gone_on_with_also_when_it_is_the_last() {
    for (last, name) in [(true, "execute"), (false, "plan")] {
        let definition = flow("plan-then-execute");
        let mut now = state(&definition);
        now.steps[1].gate = decided(GateDecision::Approved, DecidedBy::Person);
        (now.steps[0].progress, now.steps[1].progress) = match last {
            true => (done(RunOutcome::Success, None), midway()),
            false => (midway(), FlowStepProgress::Waiting),
        };
        let ended = FlowEnd::NeedsHuman { step: name.into() };
        assert_eq!(next(&definition, &now, GateMode::Auto), FlowAction::End(ended.clone()), "{name}");
        // A flow that an earlier version took for complete can be gone on with as well.
        for ended in [ended, FlowEnd::Complete] {
            (now.ended, now.sealed) = (Some(ended), true);
            let resumed = now.clone().resumed(&definition, Some("use tabs".into())).unwrap();
            let place = usize::from(last);
            assert_eq!(resumed.steps[place].goes_on, Some(RunId::from_parts(1, [1; 4])));
            assert_eq!(resumed.steps[place].messages, ["use tabs"]);
            assert_eq!(next(&definition, &resumed, GateMode::Auto), FlowAction::Work { step: place });
        }
    }
}

#[test]
fn plan_then_execute_step_by_step() {
    use FlowStepProgress::Waiting;
    use GateDecision::{Approved, Stopped};
    use GateMode::{Ask, Auto, Stop};
    use RunOutcome::{Failure, NeedsHuman, Success};
    let good = || done(Success, None);
    let end = |how| FlowAction::End(how);
    let stopped = || FlowEnd::Stopped { step: "execute".into() };
    for gates in [Ask, Auto, Stop] {
        check(Waiting, StepGate::Ahead, Waiting, gates, FlowAction::Work { step: 0 });
        check(
            FlowStepProgress::Running { run: None },
            StepGate::Ahead,
            Waiting,
            gates,
            FlowAction::Work { step: 0 },
        );
        check(good(), StepGate::Ahead, Waiting, gates, FlowAction::Reach { step: 1 });
        let failed = FlowEnd::Failed { step: "plan".into(), error: None };
        check(done(Failure, None), StepGate::Ahead, Waiting, gates, end(failed));
        check(good(), decided(Approved, DecidedBy::Person), Waiting, gates, FlowAction::Work { step: 1 });
        check(good(), decided(Stopped, DecidedBy::Rule), Waiting, gates, end(stopped()));
        let open = || decided(Approved, DecidedBy::Rule);
        check(good(), open(), FlowStepProgress::Running { run: None }, gates, FlowAction::Work { step: 1 });
        check(good(), open(), good(), gates, end(FlowEnd::Complete));
        check(good(), open(), done(NeedsHuman, None), gates, end(FlowEnd::Complete));
        let failed = FlowEnd::Failed { step: "execute".into(), error: None };
        check(good(), open(), done(Failure, None), gates, end(failed));
        // A plan that asks for a person still comes to the gate: that is where a person decides.
        check(done(NeedsHuman, None), StepGate::Ahead, Waiting, gates, FlowAction::Reach { step: 1 });
    }
    check(good(), reached(), Waiting, Ask, FlowAction::Ask { step: 1 });
    check(good(), reached(), Waiting, Stop, FlowAction::Decide { step: 1, decision: Stopped });
    check(good(), reached(), Waiting, Auto, FlowAction::Decide { step: 1, decision: Approved });
    check(
        done(NeedsHuman, None),
        reached(),
        Waiting,
        Auto,
        FlowAction::Decide { step: 1, decision: Stopped },
    );
    check(done(NeedsHuman, None), reached(), Waiting, Ask, FlowAction::Ask { step: 1 });
}

#[test]
fn a_review_without_findings_needs_no_repair() {
    let definition = flow("review-fix");
    let mut now = state(&definition);
    now.steps[0].progress = done(RunOutcome::Success, Some(0));
    let skip = FlowAction::Skip { step: 1, why: "nothing was found".into() };
    assert_eq!(next(&definition, &now, GateMode::Stop), skip, "and nobody is bothered at the gate");
    now.steps[1].progress = FlowStepProgress::Skipped { why: String::new() };
    assert_eq!(next(&definition, &now, GateMode::Stop), FlowAction::Work { step: 2 });
    now.steps[2].progress = done(RunOutcome::Success, Some(0));
    assert_eq!(next(&definition, &now, GateMode::Stop), FlowAction::End(FlowEnd::Complete));
    now.steps[1].progress = FlowStepProgress::Waiting;
    now.steps[2].progress = FlowStepProgress::Waiting;
    now.steps[0].progress = done(RunOutcome::Success, Some(3));
    assert_eq!(next(&definition, &now, GateMode::Auto), FlowAction::Reach { step: 1 });
}

#[test]
fn findings_are_looked_up_also_when_the_repair_asks_for_a_person() {
    let definition = flow("review-fix");
    let mut now = state(&definition);
    now.steps[0].progress = done(RunOutcome::Success, Some(1));
    now.steps[1].gate = decided(GateDecision::Approved, DecidedBy::Rule);
    now.steps[1].progress = done(RunOutcome::NeedsHuman, None);
    assert_eq!(next(&definition, &now, GateMode::Auto), FlowAction::Work { step: 2 });
    now.steps[2].progress = done(RunOutcome::Success, Some(0));
    assert_eq!(next(&definition, &now, GateMode::Auto), FlowAction::End(FlowEnd::Complete));
    assert_eq!(now.worst(), RunOutcome::NeedsHuman);
}

#[test]
fn without_a_gate_nobody_could_decide() {
    let text = "name = \"f\"\ndescription = \"x\"\n[[step]]\nname = \"a\"\nmode = \"plan\"\n[[step]]\nname = \"b\"\nmode = \"execute\"\n";
    let definition = FlowDefinition::parse(text, "f").unwrap();
    let mut now = state(&definition);
    now.steps[0].progress = done(RunOutcome::NeedsHuman, None);
    let ended = FlowEnd::NeedsHuman { step: "a".into() };
    assert_eq!(next(&definition, &now, GateMode::Auto), FlowAction::End(ended.clone()));
    now.ended = Some(ended);
    let now = now.resumed(&definition, None).unwrap();
    assert_eq!(next(&definition, &now, GateMode::Stop), FlowAction::Work { step: 1 });
}

#[test]
fn no_money_no_run() {
    let definition = flow("plan-then-execute");
    let mut now = state(&definition);
    (now.max_cost_usd, now.spent_usd) = (Some(1.0), 1.5);
    now.steps[0].progress = done(RunOutcome::Success, None);
    now.steps[1].gate = decided(GateDecision::Approved, DecidedBy::Rule);
    let ended = FlowEnd::OutOfMoney { step: "execute".into() };
    assert_eq!(next(&definition, &now, GateMode::Auto), FlowAction::End(ended));
    now.spent_usd = 0.25;
    assert_eq!(now.money_left(), Some(0.75));
    assert_eq!(next(&definition, &now, GateMode::Auto), FlowAction::Work { step: 1 });
}

#[test]
fn resuming_opens_a_closed_gate_and_only_that() {
    let definition = flow("plan-then-execute");
    let mut now = state(&definition);
    now.steps[0].progress = done(RunOutcome::NeedsHuman, None);
    now.steps[1].gate = decided(GateDecision::Stopped, DecidedBy::Rule);
    (now.ended, now.sealed) = (Some(FlowEnd::Stopped { step: "execute".into() }), true);
    let resumed = now.clone().resumed(&definition, Some("use tabs".into())).unwrap();
    assert_eq!(next(&definition, &resumed, GateMode::Stop), FlowAction::Work { step: 1 });
    assert_eq!(resumed.steps[1].messages, ["use tabs"]);
    assert!(resumed.steps[0].accepted, "whoever resumes has seen that the plan asks for a person");
    assert_eq!(resumed.steps[0].progress, now.steps[0].progress, "what is done stays done");

    // Killed while it stopped: nobody was told, so nobody has decided.
    let resumed = FlowState { sealed: false, ..now.clone() }.resumed(&definition, None).unwrap();
    let decide = FlowAction::Decide { step: 1, decision: GateDecision::Stopped };
    assert_eq!(next(&definition, &resumed, GateMode::Stop), decide);

    // Killed or cancelled while somebody was asked: nobody has decided anything.
    now.steps[1].gate = reached();
    for ended in [None, Some(FlowEnd::Cancelled)] {
        let resumed = FlowState { ended, ..now.clone() }.resumed(&definition, Some("m".into())).unwrap();
        assert_eq!(next(&definition, &resumed, GateMode::Ask), FlowAction::Ask { step: 1 });
        assert_eq!(resumed.steps[1].messages, ["m"]);
    }
}

#[test]
fn resuming_tries_a_failed_step_anew_and_refuses_a_flow_that_is_over() {
    let definition = flow("plan-then-execute");
    let mut now = state(&definition);
    now.steps[0].progress = done(RunOutcome::Success, None);
    now.steps[1].gate = decided(GateDecision::Approved, DecidedBy::Person);
    now.steps[1].progress = done(RunOutcome::Failure, None);
    now.ended = Some(FlowEnd::Failed { step: "execute".into(), error: None });
    let resumed = now.clone().resumed(&definition, None).unwrap();
    assert_eq!(next(&definition, &resumed, GateMode::Stop), FlowAction::Work { step: 1 });
    (now.ended, now.sealed) = (Some(FlowEnd::Complete), false);
    assert!(now.clone().resumed(&definition, None).is_ok(), "its end was not written down");
    now.sealed = true;
    assert!(now.clone().resumed(&definition, None).unwrap_err().to_string().contains("is over"));
    let error = now.resumed(&flow("review-fix"), None).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
}

#[test]
fn the_state_survives_being_written_down() {
    let definition = flow("review-fix");
    let mut now = state(&definition);
    now.steps[0].progress = done(RunOutcome::Success, Some(2));
    now.steps[1].progress = FlowStepProgress::Running { run: Some(RunId::from_parts(2, [2; 4])) };
    now.steps[1].gate = decided(GateDecision::Approved, DecidedBy::Resume);
    now.steps[2].progress = FlowStepProgress::Skipped { why: "x".into() };
    for ended in [
        None,
        Some(FlowEnd::Complete),
        Some(FlowEnd::Failed {
            step: "a".into(),
            error: Some(holon_core::manifest::ErrorInfo::new("k", "m")),
        }),
        Some(FlowEnd::Cancelled),
    ] {
        now.ended = ended;
        let text = serde_json::to_string(&now).unwrap();
        assert_eq!(serde_json::from_str::<FlowState>(&text).unwrap(), now);
    }
}

fn any_progress() -> impl Strategy<Value = FlowStepProgress> {
    let outcome =
        prop_oneof![Just(RunOutcome::Success), Just(RunOutcome::NeedsHuman), Just(RunOutcome::Failure)];
    prop_oneof![
        Just(FlowStepProgress::Waiting),
        Just(FlowStepProgress::Running { run: None }),
        Just(FlowStepProgress::Skipped { why: String::new() }),
        (outcome, prop::option::of(0u64..3)).prop_map(|(outcome, findings)| done(outcome, findings)),
    ]
}

fn any_gate() -> impl Strategy<Value = StepGate> {
    prop_oneof![
        Just(StepGate::Ahead),
        Just(reached()),
        Just(decided(GateDecision::Approved, DecidedBy::Person)),
        Just(decided(GateDecision::Stopped, DecidedBy::Rule)),
    ]
}

proptest! {
    /// Whatever the state: no work behind a gate that is not open, none after a failure, and nothing that is done.
    #[test]
    fn never_past_a_closed_gate(
        name in prop_oneof![Just("plan-then-execute"), Just("review-fix")],
        steps in prop::collection::vec((any_progress(), any_gate(), any::<bool>()), 3),
        gates in prop_oneof![Just(GateMode::Ask), Just(GateMode::Auto), Just(GateMode::Stop)],
    ) {
        let definition = flow(name);
        let mut now = state(&definition);
        for (step, (progress, gate, accepted)) in now.steps.iter_mut().zip(steps) {
            (step.progress, step.gate, step.accepted) = (progress, gate, accepted);
        }
        let action = next(&definition, &now, gates);
        prop_assert_eq!(&action, &next(&definition, &now, gates), "the same state gives the same answer");
        if let FlowAction::Work { step } = action {
            let running = matches!(now.steps[step].progress, FlowStepProgress::Running { .. });
            prop_assert!(running || now.steps[step].progress == FlowStepProgress::Waiting);
            let open = matches!(&now.steps[step].gate, StepGate::Decided(g) if g.decision == GateDecision::Approved);
            prop_assert!(running || open || !definition.steps[step].gate);
            for earlier in &now.steps[..step] {
                let ended = !matches!(earlier.progress, FlowStepProgress::Waiting | FlowStepProgress::Running { .. });
                prop_assert!(ended);
                prop_assert!(earlier.done().is_none_or(|d| d.outcome != RunOutcome::Failure));
            }
        }
        if let (FlowAction::Decide { decision: GateDecision::Approved, .. }, true) = (&action, gates != GateMode::Auto) {
            prop_assert!(false, "only `auto` opens a gate by rule");
        }
    }
}
