//! Every key of the configuration changes behaviour in a whole run.

use toml::Value;

use crate::config::Config;
use crate::effect::Verdict;
use crate::event::{Fact, Workspace};
use crate::level::Level;
use crate::mode::Mode;
use crate::phase::Phase;
use crate::scene::{Scene, setup};
use crate::session::Supervisor;
use crate::tier::Tier;

const GOAL: &str = "improve src/parse.rs";

fn with(key: &str, value: impl Into<Value>, goal: &str) -> Scene {
    let mut config = Config::default();
    config.set(key, &value.into()).expect("a key");
    Scene::with(config, setup("execute", goal))
}

/// Plays the same script with the default and with the changed key, and expects different numbers.
#[track_caller]
fn differs(key: &str, value: impl Into<Value>, before: u32, after: u32, script: impl Fn(&mut Scene) -> u32) {
    let mut default = Scene::with(Config::default(), setup("execute", GOAL));
    assert_eq!(script(&mut default), before, "the default of {key}");
    assert_eq!(script(&mut with(key, value, GOAL)), after, "{key}");
}

/// The first round after which something holds, or 0.
fn first(scene: &mut Scene, act: impl Fn(&mut Scene, u32), holds: impl Fn(&Scene) -> bool) -> u32 {
    (1..=20)
        .find(|i| {
            scene.start();
            act(scene, *i);
            scene.end();
            holds(scene)
        })
        .unwrap_or(0)
}

fn taken_over(scene: &Scene) -> bool {
    scene.phase() == Phase::Takeover
}

fn is_forced(scene: &Scene) -> bool {
    scene.mode() == Mode::Forced
}

fn force(scene: &mut Scene) {
    scene.round(|s| {
        s.exec("ls x", Some("no such file"));
    });
    assert!(is_forced(scene));
}

fn rounds_to_free(scene: &mut Scene) -> u32 {
    force(scene);
    first(
        scene,
        |s, i| {
            s.read(&format!("{i}.rs"));
        },
        |scene| !is_forced(scene),
    )
}

#[test]
fn level_and_shadow() {
    assert_eq!(with("level", "strict", GOAL).mode(), Mode::Forced);
    assert_eq!(with("level", "adaptive", GOAL).mode(), Mode::Free);
    let mut config = Config::default();
    assert!(Supervisor::new(config.clone()).unwrap().shadow().is_none());
    config.set("shadow", &true.into()).unwrap();
    let supervisor = Supervisor::new(config.clone()).unwrap();
    assert_eq!(supervisor.state().level(), Level::Off);
    assert_eq!(supervisor.shadow().unwrap().state().level(), Level::Adaptive);
    config.level = Level::Off;
    assert!(Supervisor::new(config).is_err());
}

#[test]
fn preset() {
    let stubborn = |scene: &mut Scene| {
        first(
            scene,
            |s, i| {
                s.exec(&format!("./run {i}"), Some("same error"));
            },
            taken_over,
        )
    };
    let by = |name: &str| {
        let config = Config::from_toml(&format!("[supervisor]\npreset = \"{name}\"")).unwrap();
        stubborn(&mut Scene::with(config, setup("execute", GOAL)))
    };
    assert_eq!([by(""), by("lenient"), by("aggressive"), by("strict-ci")], [6, 10, 4, 0]);
}

#[test]
fn mode_keys() {
    differs("mode.write_targets", 3, 1, 0, |scene| {
        scene.round(|s| {
            s.write("a.rs");
            s.write("b.rs");
        });
        u32::from(is_forced(scene))
    });
    differs("mode.diff_lines", 50, 0, 1, |scene| {
        scene.diff(60);
        scene.round(|_| {});
        u32::from(is_forced(scene))
    });
    differs("mode.stable_rounds", 4, 2, 4, rounds_to_free);
    differs("mode.lock_rounds", 5, 2, 5, rounds_to_free);
    differs("mode.forced_min_dwell_rounds", 6, 2, 6, rounds_to_free);
}

#[test]
fn write_targets_also_bounds_one_call() {
    differs("mode.write_targets", 2, 0, 1, |scene| {
        force(scene);
        scene.start();
        let proposal = crate::event::Proposal {
            targets: vec!["a".into(), "b".into()],
            ..crate::scene::proposal("m", holon_core::policy::ToolClass::Write, "x")
        };
        scene.feed(Fact::ToolProposed(proposal));
        u32::from(scene.gate().verdict == Verdict::Allow)
    });
}

#[test]
fn pending_steps() {
    // A plan whose last step is open: with 1 that is enough to force.
    let signals = |steps: i64| {
        let mut config = Config::default();
        config.set("level", &"strict".into()).unwrap();
        config.set("mode.pending_steps", &steps.into()).unwrap();
        let mut scene = Scene::with(config, setup("execute", GOAL));
        scene.start();
        scene.end();
        scene.state.entered_by().contains(&crate::mode::Signal::PendingSteps)
    };
    assert!(signals(2) && signals(3) && !signals(9));
}

#[test]
fn risk_threshold() {
    differs("adaptive_free.risk_threshold", 0.0, 6, 3, |scene| {
        first(
            scene,
            |s, i| {
                s.exec(&format!("./run {i}"), Some("same error"));
            },
            taken_over,
        )
    });
}

#[test]
fn first_round_graph() {
    for wanted in [true, false] {
        let mut config = Config { level: Level::Strict, ..Config::default() };
        config.set("strict.first_round_graph", &wanted.into()).unwrap();
        let mut scene = Scene::with(config, setup("execute", GOAL));
        scene.start();
        assert_eq!(scene.state.graph_active(), wanted);
    }
}

#[test]
fn trigger_keys() {
    let repeat = |scene: &mut Scene| {
        first(
            scene,
            |s, i| {
                s.exec(&format!("./run {i}"), Some("same error"));
            },
            taken_over,
        )
    };
    differs("triggers.tool_repeat_fail", 2, 6, 4, repeat);
    let idle = |scene: &mut Scene| first(scene, |_, _| {}, taken_over);
    differs("triggers.no_progress", 2, 8, 4, idle);
    let circle = |scene: &mut Scene| {
        first(
            scene,
            |s, _| {
                s.write("src/parse.rs");
                s.check(&["x"]);
            },
            taken_over,
        )
    };
    differs("triggers.file_loop", 6, 4, 6, circle);
    let turns = |scene: &mut Scene| {
        scene.round(|s| {
            s.read("a.rs");
        });
        first(
            scene,
            |s, _| {
                s.read("a.rs");
                s.search();
            },
            taken_over,
        )
    };
    differs("triggers.alternation", 2, 6, 4, turns);
    let drift = |scene: &mut Scene| {
        first(
            scene,
            |s, i| {
                s.write(["docs/a.md", "docs/b.md"][i as usize % 2]);
            },
            taken_over,
        )
    };
    differs("triggers.goal_drift_rounds", 2, 6, 4, drift);
    let spread = |scene: &mut Scene| {
        first(
            scene,
            |s, i| {
                s.write("src/parse.rs");
                s.write(&format!("src/{i}.rs"));
            },
            |scene| scene.logged(crate::timeline::Kind::Drift, "drift:scope_creep"),
        )
    };
    differs("triggers.scope_creep_factor", 5.0, 2, 5, spread);
}

/// Takes over for repetition.
fn take(scene: &mut Scene) {
    scene.round(|s| {
        s.check(&["x"]);
        s.exec("true", None);
    });
    scene.feed(Fact::UserForceTakeover { by: "test".into() });
    assert!(taken_over(scene));
}

fn good_round(scene: &mut Scene, i: u32) {
    scene.read("src/parse.rs");
    if scene.write("src/parse.rs") == Verdict::Block {
        scene.read(&format!("{i}.rs"));
    }
    scene.check(&[]);
}

#[test]
fn takeover_keys() {
    let stable = |scene: &mut Scene| {
        take(scene);
        first(
            scene,
            |s, i| {
                s.read(&format!("n{i}.rs"));
            },
            |scene| scene.phase() == Phase::HandoffPending,
        )
    };
    differs("takeover.stability_window", 2, 3, 2, stable);
    let cooldown = |scene: &mut Scene| {
        take(scene);
        first(
            scene,
            |s, i| {
                s.read(&format!("n{i}.rs"));
            },
            |scene| scene.phase() == Phase::Cooldown,
        );
        first(scene, |_, _| {}, |scene| scene.phase() == Phase::Free)
    };
    differs("takeover.cooldown_rounds", 2, 3, 2, cooldown);
    let stopped = |scene: &mut Scene| {
        take(scene);
        first(scene, |_, _| {}, |scene| !scene.stops().is_empty())
    };
    differs("takeover.max_rounds", 5, 8, 5, stopped);
    let extended = |scene: &mut Scene| {
        take(scene);
        good_round(scene, 1);
        first(scene, |_, _| {}, |scene| !scene.stops().is_empty())
    };
    differs("takeover.extension", 0.25, 12, 10, extended);
}

#[test]
fn token_ratio() {
    let rounds = |ratio: f64| {
        let mut config = Config::default();
        config.set("takeover.token_ratio", &ratio.into()).unwrap();
        let mut start = setup("execute", GOAL);
        start.token_limit = 1000;
        let mut scene = Scene::with(config, start);
        take(&mut scene);
        first(&mut scene, |_, _| {}, |scene| !scene.stops().is_empty())
    };
    assert_eq!((rounds(0.3), rounds(0.5)), (3, 5));
}

#[test]
fn budget_keys() {
    let edits = |scene: &mut Scene| {
        force(scene);
        scene.start();
        (1..9).find(|_| scene.write("src/parse.rs") == Verdict::Block).unwrap_or(0)
    };
    differs("budget.file_edits", 5, 4, 6, edits);
    let commands = |scene: &mut Scene| {
        force(scene);
        scene.start();
        (1..9).find(|i| scene.exec("make", Some(&"abcdefghi"[..*i as usize])) == Verdict::Block).unwrap_or(0)
    };
    differs("budget.command_retries", 4, 3, 5, commands);
    let errors = |scene: &mut Scene| {
        force(scene);
        scene.start();
        let fail = |scene: &mut Scene| {
            let (gate, call) = scene.propose(holon_core::policy::ToolClass::Read, "gone.rs");
            if gate.verdict != Verdict::Block {
                let mut done = crate::scene::finished(&call, false, Default::default());
                done.error = Some("error: gone".into());
                scene.feed(Fact::ToolFinished(done));
            }
            gate.verdict == Verdict::Block
        };
        (1..9).find(|_| fail(scene)).unwrap_or(0)
    };
    differs("budget.error_repeats", 5, 4, 6, errors);
}

#[test]
fn template_graph_min() {
    differs("snapshot.template_graph_min", 0.9, 0, 1, |scene| {
        // Hashes and git are known; the check is older than the last change.
        scene.round(|s| {
            s.check(&["x"]);
            s.write("src/parse.rs");
        });
        scene.feed(Fact::UserForceTakeover { by: "test".into() });
        u32::from(scene.tier() == Tier::StepQueue)
    });
    let mut scene = Scene::new(Level::Adaptive, GOAL);
    scene.workspace = Some(Workspace::default());
    take(&mut scene);
    assert_eq!(scene.tier(), Tier::StepQueue);
}

#[test]
fn free_max_per_run() {
    let hints = |scene: &mut Scene| {
        for i in 0..10 {
            scene.round(|s| {
                if i % 2 == 0 {
                    s.write("a.rs");
                } else {
                    s.check(&[&format!("case{i}")]);
                }
                s.exec(&format!("ls {i}"), Some(&format!("error {}", "abcdefghij".get(i..=i).unwrap())));
            });
        }
        scene.texts().iter().filter(|text| text.starts_with(crate::GRAPH_TAG)).count() as u32
    };
    differs("hints.free_max_per_run", 1, 3, 1, hints);
}
