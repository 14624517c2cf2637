//! Healthy work of many kinds: nothing is denied, nothing is taken over, nothing is stopped, whatever the level.

use crate::config::SupervisorConfig;
use crate::effect::{GateVerdict, SupervisorEffect};
use crate::event::SupervisorSetup;
use crate::level::SupervisorLevel;
use crate::phase::TakeoverPhase;
use crate::scene::{SupervisedScene, setup};

/// Plays it at every level that acts or speaks; how many texts were said at most.
#[track_caller]
fn left_alone(goal: &str, mode: &str, checks: bool, texts: usize, play: impl Fn(&mut SupervisedScene)) {
    for level in [SupervisorLevel::Advise, SupervisorLevel::Adaptive, SupervisorLevel::Strict] {
        let mut start = setup(mode, goal);
        if !checks {
            start.checks.clear();
        }
        let mut config = SupervisorConfig { level, ..SupervisorConfig::default() };
        config.strict.first_round_graph = false;
        let mut scene = SupervisedScene::with(config, SupervisorSetup { round_limit: 400, ..start });
        play(&mut scene);
        let denied = |effect: &&SupervisorEffect| matches!(effect, SupervisorEffect::Gate(gate) if gate.verdict != GateVerdict::Allow);
        let denied: Vec<&SupervisorEffect> = scene.effects.iter().filter(denied).collect();
        assert_eq!(denied, Vec::<&SupervisorEffect>::new(), "{level:?}");
        assert_eq!((scene.phases(), scene.stops()), (Vec::<TakeoverPhase>::new(), Vec::new()), "{level:?}");
        let said: Vec<&str> = scene.texts().into_iter().filter(|text| !text.is_empty()).collect();
        assert!(said.len() <= texts, "{level:?}: {said:#?}");
    }
}

#[test]
fn reading_many_files_before_acting() {
    left_alone("Fix the parser", "execute", true, 0, |scene| {
        for at in 0..60 {
            scene.round(|scene| {
                scene.read(&format!("src/f{at}.rs"));
            });
        }
    });
}

#[test]
fn exploring_by_shell() {
    left_alone("Fix the parser", "execute", true, 0, |scene| {
        for at in 0..40 {
            scene.round(|scene| {
                scene.prints(&format!("sed -n {at}p src/a.rs"), if at % 3 == 0 { "}" } else { "fn f()" });
            });
        }
    });
}

#[test]
fn measuring_again_and_again() {
    left_alone("Which variant is the fastest? Write its name into FASTEST", "execute", true, 0, |scene| {
        for at in 0..20 {
            scene.round(|scene| scene.measures(["bench a", "bench b"][at % 2]));
        }
    });
}

#[test]
fn a_rename_in_many_files() {
    for goal in ["Rename old to new everywhere", "Fix the old name everywhere"] {
        left_alone(goal, "execute", true, 0, |scene| {
            scene.round(|scene| {
                scene.check(&[]);
            });
            for at in 0..40 {
                scene.round(|scene| {
                    scene.write(&format!("src/f{at}.rs"));
                });
                if at % 10 == 9 {
                    scene.round(|scene| {
                        scene.check(&["it builds"]);
                    });
                }
            }
        });
    }
}

#[test]
fn a_document_section_by_section() {
    for checks in [false, true] {
        left_alone("Write the manual", "execute", checks, 0, |scene| {
            for at in 1..40 {
                scene.diff(at * 5);
                scene.round(|scene| {
                    scene.write("docs/manual.md");
                });
                scene.obey(&[]);
            }
        });
    }
}

#[test]
fn tests_first_with_many_red_runs() {
    left_alone("Implement the parser test first", "execute", true, 0, |scene| {
        for at in 1..20 {
            scene.diff(at * 8);
            scene.round(|scene| {
                scene.write("src/parse.rs");
            });
            scene.round(|scene| {
                scene.check(&["parses everything"]);
            });
        }
    });
}

#[test]
fn waiting_for_a_slow_build() {
    left_alone("Build it and tell how long it takes", "execute", false, 0, |scene| {
        for _ in 0..25 {
            scene.round(|scene| {
                scene.prints("sleep 20; tail -1 build.log", "building");
            });
        }
    });
}

#[test]
fn a_question_in_chat() {
    for goal in ["What does the parser do?", "解析器是做什么的？"] {
        left_alone(goal, "chat", true, 0, |scene| {
            for at in 0..30 {
                scene.round(|scene| {
                    scene.prints(&format!("cat src/f{at}.rs"), &format!("fn f{at}() {{}}"));
                });
            }
            scene.feed(crate::SupervisorFact::ModelDone);
        });
    }
}

#[test]
fn a_repository_that_was_red_before() {
    left_alone("Add a multiply function", "execute", true, 0, |scene| {
        scene.round(|scene| {
            scene.check(&["legacy dates"]);
        });
        for at in 0..12 {
            scene.diff(at * 4 + 1);
            scene.round(|scene| {
                scene.write("src/multiply.rs");
                scene.check(&["legacy dates"]);
            });
        }
        scene.feed(crate::SupervisorFact::ModelDone);
    });
}

#[test]
fn a_runner_nobody_knows() {
    left_alone("解析器にパース機能を追加する", "execute", false, 0, |scene| {
        for at in 1..12 {
            scene.diff(at * 3);
            scene.round(|scene| {
                scene.write("src/main.zig");
            });
            scene.round(|scene| {
                scene.exec("zig build test", Some(&format!("error: case {at} of parse fails in fn_{at}")));
            });
        }
        scene.round(|scene| {
            scene.exec("zig build test", None);
        });
        scene.feed(crate::SupervisorFact::ModelDone);
    });
}
