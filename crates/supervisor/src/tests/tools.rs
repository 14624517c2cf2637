//! Calls and the word that the work is done.

use holon_core::policy::ToolClass;

use crate::config::{ContractMode, SupervisorConfig};
use crate::effect::{GateRule, GateVerdict, StopKind, SupervisorEffect};
use crate::event::{CheckCommand, SupervisorFact, SupervisorSetup};
use crate::level::SupervisorLevel;
use crate::scene::{SupervisedScene, check_ran, setup};
use crate::timeline::TimelineKind;

fn enforced(goal: &str) -> SupervisedScene {
    let config = SupervisorConfig {
        level: SupervisorLevel::Strict,
        contracts: ContractMode::Enforce,
        ..SupervisorConfig::default()
    };
    SupervisedScene::with(config, setup("execute", goal))
}

fn done(scene: &mut SupervisedScene) -> (GateVerdict, String) {
    scene.feed(SupervisorFact::ModelDone);
    let gate = scene.gate();
    (gate.verdict, gate.why)
}

/// Fails with the same command, until so many rungs were taken.
fn advised(level: SupervisorLevel) -> SupervisedScene {
    let mut scene = SupervisedScene::new(level, "Fix src/a.rs");
    for _ in 0..5 {
        scene.round(|scene| {
            assert_eq!(scene.exec("./run", Some("error: no such option")), GateVerdict::Allow);
        });
        scene.obey(&["one"]);
    }
    assert!(scene.logged(TimelineKind::Switch, "advice:tool_repeat_fail"));
    scene
}

#[test]
fn only_what_is_proven_futile_is_denied_and_only_once() {
    let mut scene = advised(SupervisorLevel::Adaptive);
    scene.start();
    let (gate, _) = scene.propose(ToolClass::Exec, "./run");
    assert_eq!((gate.verdict, gate.rule), (GateVerdict::Block, GateRule::Futile));
    for words in ["`./run` failed 5 times", "exit code 1", "no such option", "No file changed"] {
        assert!(gate.why.contains(words), "{}", gate.why);
    }
    assert_eq!(scene.exec("./other", Some("error: no such option")), GateVerdict::Allow, "another call");
    assert_eq!(scene.exec("./run", Some("error: no such option")), GateVerdict::Allow, "asked once more");
}

/// The same for an agent that asks nobody before it calls.
#[test]
fn what_would_be_denied_is_told_where_nobody_asks() {
    let goal = "Fix src/a.rs";
    let config = SupervisorConfig { level: SupervisorLevel::Adaptive, ..SupervisorConfig::default() };
    let mut scene =
        SupervisedScene::with(config, SupervisorSetup { foreign: true, ..setup("execute", goal) });
    while !scene
        .effects
        .iter()
        .any(|effect| matches!(effect, SupervisorEffect::Gate(gate) if gate.verdict == GateVerdict::Warn))
    {
        assert!(scene.state.round() < 20, "never told");
        scene.round(|scene| {
            assert_ne!(scene.exec("./run", Some("error: no such option")), GateVerdict::Block);
        });
        scene.obey(&["one"]);
    }
    let told = scene.effects.iter().rev().find_map(|effect| match effect {
        SupervisorEffect::Gate(gate) if gate.verdict == GateVerdict::Warn => Some(gate.why.clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert!(
        told.starts_with("[System Recovery] Called again: `./run` failed") && told.contains("Next step"),
        "{told}"
    );
    assert!(!told.contains("Not executed"), "{told}");
    // What was carried out counts as what it is.
    let text = serde_json::to_string(&scene.effects).unwrap();
    assert!(!text.contains("blocked_call_executed"), "{text}");
    assert_eq!(scene.exec("./run", Some("error: no such option")), GateVerdict::Allow, "told once");
}

/// Steps cannot be closed to one who asks nobody, and after a stop a late call is only a call.
#[test]
fn nothing_is_held_back_where_nobody_asks() {
    let goal = "improve the parser ".repeat(8);
    let config = SupervisorConfig {
        level: SupervisorLevel::Strict,
        contracts: ContractMode::Enforce,
        ..SupervisorConfig::default()
    };
    let mut scene =
        SupervisedScene::with(config, SupervisorSetup { foreign: true, ..setup("execute", &goal) });
    scene.start();
    assert_eq!(scene.write("src/a.rs"), GateVerdict::Allow);
    for _ in 0..60 {
        scene.round(|scene| {
            assert_ne!(scene.exec("./run", Some("error: no such option")), GateVerdict::Block);
        });
    }
    assert!(scene.state.stopped().is_some());
}

#[test]
fn nothing_is_denied_after_a_change_or_before_advice_or_by_words_alone() {
    let mut scene = advised(SupervisorLevel::Adaptive);
    scene.start();
    scene.write("src/a.rs");
    assert_eq!(scene.exec("./run", Some("error: no such option")), GateVerdict::Allow, "a file changed");
    let mut scene = advised(SupervisorLevel::Adaptive);
    scene.start();
    scene.exec("pip install x", None);
    assert_eq!(scene.exec("./run", Some("error: no such option")), GateVerdict::Allow, "something else ran");
    let mut scene = advised(SupervisorLevel::Advise);
    scene.start();
    assert_eq!(scene.exec("./run", Some("error: no such option")), GateVerdict::Allow);
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "Fix src/a.rs");
    for _ in 0..3 {
        scene.round(|scene| {
            assert_eq!(scene.check(&["one"]), GateVerdict::Allow);
        });
    }
}

#[test]
fn what_waits_is_not_futile() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "Fix src/a.rs");
    for _ in 0..12 {
        scene.round(|scene| {
            assert_eq!(scene.exec("sleep 1; curl localhost", Some("refused")), GateVerdict::Allow);
        });
    }
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "Fix src/a.rs");
    scene.round(|scene| {
        scene.exec("./serve &", None);
    });
    for _ in 0..12 {
        scene.round(|scene| {
            assert_eq!(scene.exec("curl localhost", Some("refused")), GateVerdict::Allow);
        });
    }
}

#[test]
fn steps_are_closed_where_that_is_asked_for_and_never_for_a_repair() {
    let goal = "improve the parser ".repeat(8);
    let mut scene = enforced(&goal);
    scene.start();
    assert_eq!((scene.write("src/a.rs"), scene.gate_rule()), (GateVerdict::Block, GateRule::Contract));
    assert_eq!(scene.read("src/a.rs"), GateVerdict::Allow);
    let mut scene = enforced(&goal);
    scene.start();
    scene.feed(check_ran("cargo test", 1, &["one"]));
    assert_eq!(scene.write("src/a.rs"), GateVerdict::Allow, "a check is red");
    for level in [SupervisorLevel::Adaptive, SupervisorLevel::Strict] {
        let mut scene = SupervisedScene::new(level, &goal);
        scene.start();
        assert_eq!(scene.write("src/a.rs"), GateVerdict::Allow, "{level:?}");
    }
}

#[test]
fn done_is_proven_by_a_check_that_nobody_had_to_ask_for() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "Improve src/a.rs");
    scene.round(|scene| {
        scene.write("src/a.rs");
    });
    scene.start();
    assert_eq!(done(&mut scene).0, GateVerdict::Block);
    assert!(
        scene.state.waits_for_check()
            && scene.last.iter().any(|e| matches!(e, SupervisorEffect::Check { .. }))
    );
    scene.feed(check_ran("cargo test", 0, &[]));
    assert_eq!(done(&mut scene).0, GateVerdict::Allow, "and the model hears nothing of it");
    assert_eq!(scene.texts(), Vec::<&str>::new());
}

#[test]
fn done_with_a_red_check_is_told_once_and_then_it_ends() {
    for (asked, end) in [(false, StopKind::Unverified), (true, StopKind::CheckFailed)] {
        let mut start = setup("execute", "Improve src/a.rs");
        start.checks = vec![CheckCommand { command: "cargo test".into(), asked }];
        let mut scene = SupervisedScene::with(SupervisorConfig::default(), start);
        scene.round(|scene| {
            scene.write("src/a.rs");
            scene.check(&["one"]);
        });
        scene.start();
        let (verdict, why) = done(&mut scene);
        assert!(verdict == GateVerdict::Block && why.contains("one") && why.contains("Next step"), "{why}");
        scene.end();
        scene.start();
        let text = scene.stands();
        assert!(
            text.contains("not done") && text.contains("repair what makes `cargo test` fail: one"),
            "{text}"
        );
        done(&mut scene);
        assert_eq!(scene.stops(), [end]);
        let stop = scene.state.stopped().unwrap();
        assert_eq!(stop.as_before, !asked, "what failed before is for whoever can compare");
    }
}

#[test]
fn what_was_red_before_is_nobodys_fault_unless_the_goal_says_so() {
    for (goal, expect) in
        [("Add a multiply function", GateVerdict::Allow), ("Fix what fails", GateVerdict::Block)]
    {
        let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, goal);
        scene.round(|scene| {
            scene.check(&["legacy"]);
        });
        scene.round(|scene| {
            scene.write("src/a.rs");
            scene.check(&["legacy"]);
        });
        scene.start();
        assert_eq!(done(&mut scene).0, expect, "{goal}");
    }
}

#[test]
fn where_no_check_is_known_what_the_agent_goes_by_counts() {
    let play = |act: &dyn Fn(&mut SupervisedScene)| {
        let mut start = setup("execute", "Make the parser read tabs");
        start.checks.clear();
        let mut scene = SupervisedScene::with(SupervisorConfig::default(), start);
        act(&mut scene);
        scene.start();
        done(&mut scene)
    };
    let red = |scene: &mut SupervisedScene| {
        scene.round(|scene| {
            scene.write("src/main.zig");
            scene.exec("zig build test", Some("error: tabs are not read"));
        });
    };
    let (verdict, why) = play(&red);
    assert!(
        verdict == GateVerdict::Block && why.contains("zig build test") && why.contains("tabs are not read"),
        "{why}"
    );
    let green = |scene: &mut SupervisedScene| {
        red(scene);
        scene.round(|scene| {
            scene.exec("zig build test", None);
        });
    };
    assert_eq!(play(&green).0, GateVerdict::Allow);
    let looking = |scene: &mut SupervisedScene| {
        scene.round(|scene| {
            scene.write("src/main.zig");
            scene.exec("grep -rn test src", Some(""));
            scene.exec("test -f x", Some(""));
        });
    };
    assert_eq!(play(&looking).0, GateVerdict::Allow, "these say something by failing");
}

#[test]
fn words_alone_never_hold_up_who_is_done() {
    for level in [SupervisorLevel::Off, SupervisorLevel::Advise] {
        let mut scene = SupervisedScene::new(level, "Fix src/a.rs");
        scene.round(|scene| {
            scene.write("src/a.rs");
            scene.check(&["one"]);
        });
        scene.start();
        assert_eq!(done(&mut scene).0, GateVerdict::Allow, "{level:?}");
    }
}

#[test]
fn after_a_stop_nothing_runs_until_it_is_resumed() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "Fix src/a.rs");
    scene.round(|scene| {
        scene.write("src/a.rs");
        scene.check(&["one"]);
    });
    scene.start();
    done(&mut scene);
    done(&mut scene);
    assert_eq!((scene.read("src/b.rs"), scene.gate_rule()), (GateVerdict::Block, GateRule::Stopped));
    scene.feed(SupervisorFact::CheckpointResumed);
    assert!(scene.state.stopped().is_none() && scene.logged_last("checkpoint_resumed:stop_lifted"));
    scene.start();
    assert_eq!(scene.read("src/b.rs"), GateVerdict::Allow);
    assert_eq!(done(&mut scene).0, GateVerdict::Block, "a first time again");
    assert_eq!(scene.stops().len(), 1);
}

#[test]
fn a_check_that_cannot_run_is_not_demanded_unless_the_user_asked_for_it() {
    for (asked, expect) in [(false, GateVerdict::Allow), (true, GateVerdict::Block)] {
        let mut start = setup("execute", "Improve src/a.rs");
        start.checks = vec![CheckCommand { command: "cargo test".into(), asked }];
        let mut scene = SupervisedScene::with(SupervisorConfig::default(), start);
        scene.round(|scene| {
            scene.write("src/a.rs");
        });
        scene.start();
        done(&mut scene);
        scene.feed(check_ran("cargo test", 127, &[]));
        assert!(scene.logged_last("check:cannot_run"));
        assert_eq!(done(&mut scene).0, expect, "{asked}");
    }
}

#[test]
fn who_gives_up_twice_needs_a_person() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "Fix src/a.rs");
    scene.round(|scene| {
        scene.check(&["one"]);
    });
    scene.start();
    for _ in 0..2 {
        scene.feed(SupervisorFact::ModelGaveUp);
    }
    assert_eq!(scene.stops(), [StopKind::UserCheckpoint]);
    assert!(scene.state.stopped().unwrap().reason.starts_with("the agent gave up"));
}

#[test]
fn strict_runs_a_check_after_so_many_rounds_of_changes() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Strict, "Improve src/a.rs");
    for at in 1..=4 {
        scene.round(|scene| {
            scene.write("src/a.rs");
        });
        let wanted = scene.last.iter().any(|effect| matches!(effect, SupervisorEffect::Check { .. }));
        assert_eq!(wanted, at == 4, "{at}");
    }
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "Improve src/a.rs");
    for _ in 0..4 {
        scene.round(|scene| {
            scene.write("src/a.rs");
        });
    }
    assert!(!scene.effects.iter().any(|effect| matches!(effect, SupervisorEffect::Check { .. })));
}

#[test]
fn inv_10_a_blocked_call_that_comes_back_earns_nothing() {
    let mut scene = advised(SupervisorLevel::Adaptive);
    scene.start();
    let (gate, call) = scene.propose(ToolClass::Exec, "./run");
    assert_eq!(gate.verdict, GateVerdict::Block);
    scene.feed(crate::scene::write(&call, "src/a.rs", "1", "2"));
    assert!(scene.logged_last("engine:blocked_call_executed"));
    assert!(!scene.state.known().round.fresh, "the facts are facts, and nothing is earned by them");
    assert_eq!(scene.state.known().version(), 1);
}
