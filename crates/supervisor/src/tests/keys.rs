//! Every key of the configuration changes behaviour in a whole run.

use toml::Value;

use crate::config::SupervisorConfig;
use crate::effect::{GateVerdict, SupervisorEffect};
use crate::event::{RoundEnd, SupervisorFact, SupervisorSetup, WorkspaceState};
use crate::level::SupervisorLevel;
use crate::phase::TakeoverPhase;
use crate::scene::{SupervisedScene, setup};
use crate::session::Supervisor;
use crate::timeline::TimelineKind;

const GOAL: &str = "Fix src/parse.rs";

fn with(keys: &[(&str, Value)], goal: &str) -> SupervisedScene {
    let mut config = SupervisorConfig::default();
    for (key, value) in keys {
        config.set(key, value).expect("a key");
    }
    SupervisedScene::with(config, SupervisorSetup { round_limit: 100, ..setup("execute", goal) })
}

/// Plays the same script with the default and with the changed key, and expects these numbers.
#[track_caller]
fn differs(
    key: &str,
    value: impl Into<Value>,
    before: u32,
    after: u32,
    script: impl Fn(&mut SupervisedScene) -> u32,
) {
    assert_eq!(script(&mut with(&[], GOAL)), before, "the default of {key}");
    assert_eq!(script(&mut with(&[(key, value.into())], GOAL)), after, "{key}");
}

/// The same at level strict.
#[track_caller]
fn differs_in_strict(
    key: &str,
    value: impl Into<Value>,
    before: u32,
    after: u32,
    script: impl Fn(&mut SupervisedScene) -> u32,
) {
    let strict = || ("level", Value::from("strict"));
    assert_eq!(script(&mut with(&[strict()], GOAL)), before, "the default of {key}");
    assert_eq!(script(&mut with(&[strict(), (key, value.into())], GOAL)), after, "{key}");
}

/// The first round after which something holds, or 0.
fn first(
    scene: &mut SupervisedScene,
    act: impl Fn(&mut SupervisedScene, u32),
    holds: impl Fn(&SupervisedScene) -> bool,
) -> u32 {
    (1..=90)
        .find(|i| {
            scene.start();
            act(scene, *i);
            scene.end();
            holds(scene)
        })
        .unwrap_or(0)
}

fn noticed(scene: &SupervisedScene) -> bool {
    scene.logged(TimelineKind::Switch, "notice:") || scene.logged(TimelineKind::Switch, "advice:budget")
}

fn red(scene: &mut SupervisedScene, _: u32) {
    scene.check(&["one"]);
}

#[test]
fn level_and_shadow() {
    for (level, rungs) in [("off", 0), ("advise", 2), ("adaptive", 3), ("strict", 3)] {
        let mut scene = with(&[("level", level.into())], GOAL);
        for at in 0..12 {
            scene.round(|scene| red(scene, at));
        }
        let found =
            ["notice:", "advice:"].iter().filter(|rung| scene.logged(TimelineKind::Switch, rung)).count();
        assert_eq!(found + usize::from(scene.logged(TimelineKind::Recover, "takeover:")), rungs, "{level}");
    }
    let watched = Supervisor::new(SupervisorConfig { shadow: true, ..SupervisorConfig::default() }).unwrap();
    assert_eq!(
        (watched.state().level(), watched.shadow().unwrap().state().level()),
        (SupervisorLevel::Off, SupervisorLevel::Adaptive)
    );
}

#[test]
fn preset() {
    let round = |preset: &str| {
        let mut scene = with(&[("preset", preset.into())], GOAL);
        first(&mut scene, red, |scene| scene.phase() == TakeoverPhase::Takeover)
    };
    let [lenient, default, aggressive, strict] = ["lenient", "", "aggressive", "strict-ci"].map(round);
    assert!(
        lenient > default && default > aggressive && default > strict,
        "{lenient} {default} {aggressive}"
    );
}

#[test]
fn trigger_keys() {
    differs("triggers.tool_repeat_fail", 5, 4, 6, |scene| first(scene, red, noticed));
    let idle = |scene: &mut SupervisedScene, _| {
        scene.read("x");
    };
    differs("triggers.no_progress", 8, 6, 9, |scene| first(scene, idle, noticed));
    let circles = |scene: &mut SupervisedScene, _| {
        scene.write("src/parse.rs");
        scene.check(&["one"]);
    };
    differs("triggers.file_loop", 5, 4, 6, |scene| first(scene, circles, noticed));
    let spreads = |scene: &mut SupervisedScene, _| {
        scene.write("src/parse.rs");
    };
    differs("triggers.unhealed", 5, 11, 6, |scene| first(scene, spreads, noticed));
    let polishes = |scene: &mut SupervisedScene, _| {
        scene.write("src/parse.rs");
        scene.check(&[]);
    };
    differs("triggers.polishing", 4, 9, 5, |scene| first(scene, polishes, noticed));
    let malformed = |scene: &mut SupervisedScene, _| {
        scene.feed(SupervisorFact::CallMalformed { tool: "x".into(), why: "y".into() });
    };
    differs("triggers.malformed", 2, 3, 2, |scene| first(scene, malformed, noticed));
    let reads = |scene: &mut SupervisedScene, round| {
        scene.read(&format!("{round}.rs"));
    };
    differs("triggers.budget_share", 0.5, 80, 50, |scene| first(scene, reads, noticed));
    differs("triggers.empty_replies", 4, 2, 4, |scene| {
        (1..9)
            .find(|_| {
                scene.start();
                scene.feed(SupervisorFact::RoundEnded(RoundEnd { text_only: true, ..RoundEnd::default() }));
                noticed(scene)
            })
            .unwrap_or(0)
    });
}

#[test]
fn ladder_keys() {
    differs("ladder.advice", 4, 6, 8, |scene| {
        first(scene, red, |scene| scene.logged(TimelineKind::Switch, "advice:"))
    });
    differs("ladder.takeover", 5, 9, 11, |scene| {
        first(scene, red, |scene| scene.phase() == TakeoverPhase::Takeover)
    });
}

fn take(scene: &mut SupervisedScene) {
    scene.start();
    scene.feed(SupervisorFact::UserForceTakeover { by: "cli".into() });
    scene.end();
}

fn good(scene: &mut SupervisedScene, round: u32) {
    scene.read(&format!("new/{round}.rs"));
}

#[test]
fn takeover_keys() {
    let handed = |scene: &mut SupervisedScene| {
        take(scene);
        first(scene, good, |scene| scene.phase() == TakeoverPhase::HandoffPending)
    };
    differs("takeover.stability_window", 5, 3, 5, handed);
    let cooled = |scene: &mut SupervisedScene| {
        take(scene);
        first(scene, good, |scene| scene.phases().ends_with(&[TakeoverPhase::Cooldown, TakeoverPhase::Free]))
    };
    differs("takeover.cooldown_rounds", 5, 7, 9, cooled);
    let stopped = |scene: &mut SupervisedScene| {
        take(scene);
        first(scene, red, |scene| scene.state.stopped().is_some())
    };
    differs("takeover.max_rounds", 4, 8, 4, stopped);
    differs_in_strict("strict.max_rounds", 3, 6, 3, stopped);
    let extended = |scene: &mut SupervisedScene| {
        scene.round(|scene| {
            scene.check(&["one", "two"]);
        });
        take(scene);
        scene.round(|scene| {
            scene.write("src/parse.rs");
            scene.check(&["one"]);
        });
        scene.state.phase_state().most_rounds(scene.state.config())
    };
    differs("takeover.extension", 0.25, 12, 10, extended);
    differs("takeover.token_ratio", 0.6, 4, 7, |scene| {
        scene.state.token_limit = 1000;
        scene.state.tokens = 0;
        scene.tokens = 90;
        take(scene);
        first(scene, red, |scene| scene.state.stopped().is_some())
    });
}

#[test]
fn strict_keys() {
    let graph = |scene: &mut SupervisedScene| {
        scene.start();
        u32::from(scene.state.graph().is_some())
    };
    differs_in_strict("strict.first_round_graph", false, 1, 0, graph);
    let writes = |scene: &mut SupervisedScene, _| {
        scene.write("src/parse.rs");
    };
    let asks = |scene: &SupervisedScene| {
        scene.effects.iter().any(|effect| matches!(effect, SupervisorEffect::Check { .. }))
    };
    differs_in_strict("strict.check_rounds", 2, 4, 2, |scene| first(scene, writes, asks));
    for (contracts, expect) in [("advise", GateVerdict::Allow), ("enforce", GateVerdict::Block)] {
        let mut scene = with(
            &[("level", "strict".into()), ("contracts", contracts.into())],
            &"improve the parser ".repeat(8),
        );
        scene.start();
        assert_eq!(scene.write("src/parse.rs"), expect, "{contracts}");
    }
}

#[test]
fn template_graph_min() {
    let believed = |scene: &mut SupervisedScene| {
        scene.workspace = Some(WorkspaceState { verified: true, ..WorkspaceState::default() });
        scene.round(|scene| red(scene, 1));
        take(scene);
        u32::from(scene.logged(TimelineKind::Recover, "recover:template_graph"))
    };
    differs("snapshot.template_graph_min", 0.9, 1, 0, believed);
}
