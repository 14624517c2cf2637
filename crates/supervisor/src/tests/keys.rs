//! Every key of the configuration changes behaviour in a whole run.

use toml::Value;

use crate::config::Config;
use crate::effect::{Effect, Verdict};
use crate::event::{Fact, RoundEnd, Setup, Workspace};
use crate::level::Level;
use crate::phase::Phase;
use crate::scene::{Scene, setup};
use crate::session::Supervisor;
use crate::timeline::Kind;

const GOAL: &str = "Fix src/parse.rs";

fn with(keys: &[(&str, Value)], goal: &str) -> Scene {
    let mut config = Config::default();
    for (key, value) in keys {
        config.set(key, value).expect("a key");
    }
    Scene::with(config, Setup { round_limit: 100, ..setup("execute", goal) })
}

/// Plays the same script with the default and with the changed key, and expects these numbers.
#[track_caller]
fn differs(key: &str, value: impl Into<Value>, before: u32, after: u32, script: impl Fn(&mut Scene) -> u32) {
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
    script: impl Fn(&mut Scene) -> u32,
) {
    let strict = || ("level", Value::from("strict"));
    assert_eq!(script(&mut with(&[strict()], GOAL)), before, "the default of {key}");
    assert_eq!(script(&mut with(&[strict(), (key, value.into())], GOAL)), after, "{key}");
}

/// The first round after which something holds, or 0.
fn first(scene: &mut Scene, act: impl Fn(&mut Scene, u32), holds: impl Fn(&Scene) -> bool) -> u32 {
    (1..=90)
        .find(|i| {
            scene.start();
            act(scene, *i);
            scene.end();
            holds(scene)
        })
        .unwrap_or(0)
}

fn noticed(scene: &Scene) -> bool {
    scene.logged(Kind::Switch, "notice:") || scene.logged(Kind::Switch, "advice:budget")
}

fn red(scene: &mut Scene, _: u32) {
    scene.check(&["one"]);
}

#[test]
fn level_and_shadow() {
    for (level, rungs) in [("off", 0), ("advise", 2), ("adaptive", 3), ("strict", 3)] {
        let mut scene = with(&[("level", level.into())], GOAL);
        for at in 0..12 {
            scene.round(|scene| red(scene, at));
        }
        let found = ["notice:", "advice:"].iter().filter(|rung| scene.logged(Kind::Switch, rung)).count();
        assert_eq!(found + usize::from(scene.logged(Kind::Recover, "takeover:")), rungs, "{level}");
    }
    let watched = Supervisor::new(Config { shadow: true, ..Config::default() }).unwrap();
    assert_eq!(
        (watched.state().level(), watched.shadow().unwrap().state().level()),
        (Level::Off, Level::Adaptive)
    );
}

#[test]
fn preset() {
    let round = |preset: &str| {
        let mut scene = with(&[("preset", preset.into())], GOAL);
        first(&mut scene, red, |scene| scene.phase() == Phase::Takeover)
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
    let idle = |scene: &mut Scene, _| {
        scene.read("x");
    };
    differs("triggers.no_progress", 8, 6, 9, |scene| first(scene, idle, noticed));
    let circles = |scene: &mut Scene, _| {
        scene.write("src/parse.rs");
        scene.check(&["one"]);
    };
    differs("triggers.file_loop", 5, 4, 6, |scene| first(scene, circles, noticed));
    let spreads = |scene: &mut Scene, _| {
        scene.write("src/parse.rs");
    };
    differs("triggers.unhealed", 5, 11, 6, |scene| first(scene, spreads, noticed));
    let polishes = |scene: &mut Scene, _| {
        scene.write("src/parse.rs");
        scene.check(&[]);
    };
    differs("triggers.polishing", 4, 9, 5, |scene| first(scene, polishes, noticed));
    let malformed = |scene: &mut Scene, _| {
        scene.feed(Fact::CallMalformed { tool: "x".into(), why: "y".into() });
    };
    differs("triggers.malformed", 2, 3, 2, |scene| first(scene, malformed, noticed));
    let reads = |scene: &mut Scene, round| {
        scene.read(&format!("{round}.rs"));
    };
    differs("triggers.budget_share", 0.5, 80, 50, |scene| first(scene, reads, noticed));
    differs("triggers.empty_replies", 4, 2, 4, |scene| {
        (1..9)
            .find(|_| {
                scene.start();
                scene.feed(Fact::RoundEnded(RoundEnd { text_only: true, ..RoundEnd::default() }));
                noticed(scene)
            })
            .unwrap_or(0)
    });
}

#[test]
fn ladder_keys() {
    differs("ladder.advice", 4, 6, 8, |scene| {
        first(scene, red, |scene| scene.logged(Kind::Switch, "advice:"))
    });
    differs("ladder.takeover", 5, 9, 11, |scene| first(scene, red, |scene| scene.phase() == Phase::Takeover));
}

fn take(scene: &mut Scene) {
    scene.start();
    scene.feed(Fact::UserForceTakeover { by: "cli".into() });
    scene.end();
}

fn good(scene: &mut Scene, round: u32) {
    scene.read(&format!("new/{round}.rs"));
}

#[test]
fn takeover_keys() {
    let handed = |scene: &mut Scene| {
        take(scene);
        first(scene, good, |scene| scene.phase() == Phase::HandoffPending)
    };
    differs("takeover.stability_window", 5, 3, 5, handed);
    let cooled = |scene: &mut Scene| {
        take(scene);
        first(scene, good, |scene| scene.phases().ends_with(&[Phase::Cooldown, Phase::Free]))
    };
    differs("takeover.cooldown_rounds", 5, 7, 9, cooled);
    let stopped = |scene: &mut Scene| {
        take(scene);
        first(scene, red, |scene| scene.state.stopped().is_some())
    };
    differs("takeover.max_rounds", 4, 8, 4, stopped);
    differs_in_strict("strict.max_rounds", 3, 6, 3, stopped);
    let extended = |scene: &mut Scene| {
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
    let graph = |scene: &mut Scene| {
        scene.start();
        u32::from(scene.state.graph().is_some())
    };
    differs_in_strict("strict.first_round_graph", false, 1, 0, graph);
    let writes = |scene: &mut Scene, _| {
        scene.write("src/parse.rs");
    };
    let asks = |scene: &Scene| scene.effects.iter().any(|effect| matches!(effect, Effect::Check { .. }));
    differs_in_strict("strict.check_rounds", 2, 4, 2, |scene| first(scene, writes, asks));
    for (contracts, expect) in [("advise", Verdict::Allow), ("enforce", Verdict::Block)] {
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
    let believed = |scene: &mut Scene| {
        scene.workspace = Some(Workspace { verified: true, ..Workspace::default() });
        scene.round(|scene| red(scene, 1));
        take(scene);
        u32::from(scene.logged(Kind::Recover, "recover:template_graph"))
    };
    differs("snapshot.template_graph_min", 0.9, 1, 0, believed);
}
