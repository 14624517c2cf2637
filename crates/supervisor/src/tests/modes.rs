//! L1 in whole runs: each signal fires from facts, and stays quiet without them.

use holon_core::policy::ToolClass;

use crate::config::Config;
use crate::effect::{Effect, Verdict};
use crate::event::{Evidence, Fact};
use crate::level::Level;
use crate::mode::{Mode, Signal};
use crate::scene::{Scene, finished, proposal, setup};
use crate::timeline::Kind;

fn adaptive() -> Scene {
    Scene::new(Level::Adaptive, "improve the parser please")
}

/// Forced by a failing call in round 1.
fn forced() -> Scene {
    let mut scene = adaptive();
    scene.round(|s| {
        s.exec("ls x", Some("no such file"));
    });
    assert_eq!(scene.mode(), Mode::Forced);
    scene
}

#[test]
fn a_healthy_run_stays_free() {
    let mut scene = adaptive();
    for i in 0..20 {
        scene.round(|s| {
            s.read(&format!("src/{i}.rs"));
            s.write(&format!("src/{i}.rs"));
            s.check(&[]);
        });
    }
    scene.start();
    scene.feed(Fact::ModelDone);
    assert_eq!(scene.gate().verdict, Verdict::Allow);
    assert_eq!((scene.mode(), scene.texts().len(), scene.logs().len()), (Mode::Free, 0, 0));
}

#[test]
fn a_failed_call_forces_at_the_end_of_its_round() {
    let mut scene = adaptive();
    scene.start();
    scene.exec("ls x", Some("no such file"));
    assert_eq!(scene.mode(), Mode::Free);
    scene.end();
    assert_eq!((scene.mode(), scene.state.entered_by()), (Mode::Forced, vec![Signal::ToolFailure]));
    assert!(scene.logged(Kind::Switch, "mode:enter:tool_failure"));
}

#[test]
fn a_failing_check_is_information() {
    let mut scene = adaptive();
    scene.round(|s| {
        s.check(&["a", "b"]);
    });
    assert_eq!(scene.mode(), Mode::Free);
}

#[test]
fn two_files_in_a_round_force_and_one_twice_does_not() {
    let mut scene = adaptive();
    scene.round(|s| {
        s.write("a.rs");
        s.write("a.rs");
    });
    assert_eq!(scene.mode(), Mode::Free);
    scene.round(|s| {
        s.write("a.rs");
        s.write("b.rs");
    });
    assert_eq!(scene.state.entered_by(), [Signal::MultiWrite]);
}

#[test]
fn a_large_diff_forces() {
    let mut scene = adaptive();
    scene.diff(200);
    scene.round(|s| {
        s.read("a.rs");
    });
    assert_eq!(scene.mode(), Mode::Free);
    scene.diff(201);
    scene.round(|s| {
        s.read("b.rs");
    });
    assert_eq!(scene.state.entered_by(), [Signal::LargeDiff]);
}

#[test]
fn resuming_forces_at_once() {
    let mut scene = adaptive();
    scene.feed(Fact::CheckpointResumed);
    assert_eq!(scene.state.entered_by(), [Signal::CheckpointResumed]);
}

#[test]
fn an_engine_error_forces_and_says_so() {
    let mut scene = adaptive();
    scene.feed(Fact::EngineError { what: "no hashes".into() });
    assert_eq!(scene.state.entered_by(), [Signal::EngineFailSafe]);
    assert!(scene.logged(Kind::Failure, "engine_fail_safe"));
    let mut off = Scene::new(Level::Off, "x");
    off.feed(Fact::EngineError { what: "no hashes".into() });
    assert_eq!(off.mode(), Mode::Free);
}

#[test]
fn forced_is_left_after_the_lock_with_evidence() {
    let mut scene = forced();
    scene.round(|s| {
        s.read("a.rs");
    });
    assert_eq!(scene.mode(), Mode::Forced, "the lock");
    scene.round(|s| {
        s.read("b.rs");
    });
    assert_eq!(scene.mode(), Mode::Free);
    assert!(scene.logged(Kind::Switch, "mode:exit:stable"));
}

#[test]
fn rounds_without_evidence_or_work_do_not_count() {
    let mut scene = forced();
    for _ in 0..6 {
        scene.round(|s| {
            s.read("a.rs");
        });
    }
    assert_eq!(scene.mode(), Mode::Forced, "nothing new after the first");
    let mut scene = forced();
    for _ in 0..6 {
        scene.start();
        scene.end_with(true);
    }
    assert_eq!(scene.mode(), Mode::Forced, "text is no work");
}

#[test]
fn debt_is_made_good_by_verified_success() {
    let mut scene = forced();
    // The same failing command: blocked once, and going on costs the branch.
    for expect in [Verdict::Allow, Verdict::Block, Verdict::Warn] {
        scene.start();
        assert_eq!(scene.exec("ls x", Some("no such file")), expect);
        scene.end();
    }
    assert_eq!(scene.state.budget().debt(), 1);
    assert!(scene.state.entered_by().contains(&Signal::BranchSwitched));
    for i in 0..4 {
        scene.round(|s| {
            s.read(&format!("{i}.rs"));
        });
    }
    assert_eq!(scene.mode(), Mode::Forced);
    scene.round(|s| {
        s.write("a.rs");
        s.check(&[]);
    });
    assert_eq!((scene.state.budget().debt(), scene.mode()), (0, Mode::Free));
}

#[test]
fn strict_is_forced_from_the_start_and_never_lets_go() {
    let mut scene = Scene::new(Level::Strict, "explain nothing");
    assert_eq!(scene.state.entered_by(), [Signal::ExplicitImpl]);
    for i in 0..12 {
        scene.round(|s| {
            s.read(&format!("{i}.rs"));
            s.write(&format!("{i}.rs"));
            s.check(&[]);
        });
        assert_eq!(scene.mode(), Mode::Forced);
    }
}

#[test]
fn strict_has_a_graph_in_round_one_when_the_intent_uses_one() {
    let mut scene = Scene::new(Level::Strict, "add a flag");
    scene.start();
    assert!(scene.state.graph_active());
    assert!(scene.logged(Kind::TaskGraphInit, "first_round"));
    assert_eq!(
        scene.state.entered_by(),
        [Signal::TaskGraphActive, Signal::PendingSteps, Signal::ExplicitImpl]
    );
    let mut plan =
        Scene::with(Config { level: Level::Strict, ..Config::default() }, setup("plan", "add a flag"));
    plan.start();
    assert!(plan.state.graph().is_none());
}

#[test]
fn off_has_a_graph_to_look_at_and_nothing_else() {
    let mut scene =
        Scene::new(Level::Off, "add a flag to the parser, which has none so far, and document it well");
    scene.start();
    assert!(scene.state.graph_active() && scene.mode() == Mode::Free);
    assert_eq!(scene.write("a.rs"), Verdict::Allow, "the contract does not bind");
    scene.end();
    for _ in 0..30 {
        scene.round(|s| {
            s.exec("ls x", Some("no such file"));
            s.write("a.rs");
            s.write("b.rs");
        });
    }
    scene.feed(Fact::ModelDone);
    assert_eq!(scene.gate().verdict, Verdict::Allow);
    assert_eq!((scene.mode(), scene.stops().len(), scene.phases().len()), (Mode::Free, 0, 0));
    let gates = scene.effects.iter().filter(|effect| matches!(effect, Effect::Mode(_) | Effect::Stop(_)));
    assert_eq!(gates.count(), 0);
    assert!(!scene.logged(Kind::Drift, ""));
}

#[test]
fn adaptive_never_has_a_graph_in_round_one() {
    let mut scene = adaptive();
    scene.start();
    assert!(scene.state.graph().is_none());
}

#[test]
fn inv_10_a_blocked_call_that_comes_back_earns_nothing() {
    let mut scene = forced();
    for _ in 0..1 {
        scene.round(|s| {
            s.exec("ls x", Some("no such file"));
        });
    }
    scene.start();
    let (gate, call) = scene.propose(ToolClass::Exec, "ls x");
    assert_eq!((gate.verdict, gate.permit()), (Verdict::Block, None));
    scene.feed(crate::scene::read(&call, "new.rs", "h"));
    assert!(scene.logged(Kind::Failure, "engine:blocked_call_executed"));
    assert!(scene.state.entered_by().contains(&Signal::EngineFailSafe));
    assert!(!scene.state.known().round.read, "no progress");
    assert_eq!(scene.state.known().entries(), scene.ledger.entries().len() as u64, "and still a fact");
}

#[test]
fn calls_nobody_proposed_are_facts_too() {
    let mut scene = adaptive();
    scene.start();
    scene.feed(Fact::ToolFinished(finished("x", true, Evidence::default())));
    scene.feed(Fact::ToolProposed(proposal("y", ToolClass::Control, "")));
    assert_eq!(scene.gate().verdict, Verdict::Allow);
}
