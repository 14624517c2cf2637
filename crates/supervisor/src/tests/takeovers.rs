//! The ladder in whole runs: what is noticed, what is said, when it is taken over, handed back, stopped.

use crate::config::SupervisorConfig;
use crate::effect::{StopKind, SupervisorEffect};
use crate::event::{GitState, SupervisorFact, SupervisorSetup, WorkspaceState};
use crate::level::SupervisorLevel;
use crate::phase::{EscalationStage, TakeoverPhase};
use crate::scene::{SupervisedScene, setup};
use crate::timeline::TimelineKind;

const GOAL: &str = "Fix src/a.rs";

fn scene() -> SupervisedScene {
    SupervisedScene::new(SupervisorLevel::Adaptive, GOAL)
}

/// Plays rounds until it is taken over; in which.
fn until_takeover(
    scene: &mut SupervisedScene,
    most: u32,
    act: impl Fn(&mut SupervisedScene, u32),
) -> Option<u32> {
    for round in 1..=most {
        scene.round(|scene| act(scene, round));
        scene.obey(&["one"]);
        if scene.phase() == TakeoverPhase::Takeover {
            return Some(round);
        }
    }
    None
}

/// One that runs the failing check again and again, taken over.
fn taken() -> SupervisedScene {
    let mut scene = scene();
    assert!(
        until_takeover(&mut scene, 20, |scene, _| {
            scene.check(&["one"]);
        })
        .is_some()
    );
    scene
}

fn reasons(scene: &SupervisedScene) -> Vec<&str> {
    scene.logs().iter().map(|record| record.reason.as_str()).collect()
}

/// The reasons of the ladder that came up, in order.
fn rungs(scene: &SupervisedScene) -> Vec<String> {
    let wanted = ["notice:", "advice:", "takeover:"];
    let all = scene.logs().into_iter().map(|record| record.reason.clone());
    all.filter(|reason| wanted.iter().any(|rung| reason.starts_with(rung))).collect()
}

/// Every rung is taken for that signal, one after another.
#[track_caller]
fn lost(goal: &str, checks: bool, signal: &str, most: u32, act: impl Fn(&mut SupervisedScene, u32)) {
    let mut start = setup("execute", goal);
    if !checks {
        start.checks.clear();
    }
    let mut scene = SupervisedScene::with(SupervisorConfig::default(), start);
    let round = until_takeover(&mut scene, most, act);
    let expect: Vec<String> =
        ["notice", "advice", "takeover"].map(|rung| format!("{rung}:{signal}")).to_vec();
    assert_eq!(rungs(&scene), expect, "{round:?} {:#?}", reasons(&scene));
}

#[test]
fn each_way_of_being_lost_is_noticed_then_advised_then_taken_over() {
    lost(GOAL, true, "tool_repeat_fail", 10, |scene, _| {
        scene.check(&["one"]);
    });
    lost(GOAL, false, "tool_repeat_fail", 10, |scene, _| {
        scene.exec("cat absent", Some("cat: absent: No such file"));
    });
    lost(GOAL, true, "no_progress", 12, |scene, _| {
        scene.read("src/b.rs");
    });
    lost(GOAL, true, "no_progress", 14, |scene, round| {
        let _ = if round % 2 == 0 { scene.read("src/b.rs") } else { scene.prints("ls", "a") };
    });
    lost(GOAL, true, "file_loop", 24, |scene, round| {
        let _ = if round % 2 == 0 { scene.check(&["one"]) } else { scene.write("src/a.rs") };
    });
    lost(GOAL, true, "unhealed", 18, |scene, _| {
        scene.write("src/a.rs");
    });
}

#[test]
fn what_was_put_back_is_nothing_new() {
    let mut scene = scene();
    for round in 0..30_u32 {
        let (before, after) = if round % 2 == 0 { ("x", "y") } else { ("y", "x") };
        scene.start();
        let (_, call) = scene.propose(holon_core::policy::ToolClass::Write, "src/a.rs");
        scene.feed(crate::scene::write(&call, "src/a.rs", before, after));
        scene.end();
        if scene.phase() == TakeoverPhase::Takeover {
            break;
        }
    }
    assert!(scene.logged(TimelineKind::Recover, "takeover:no_progress"));
}

#[test]
fn what_was_written_is_no_answer() {
    let mut scene = scene();
    for round in 0..12 {
        scene.start();
        let (_, call) = scene.propose(holon_core::policy::ToolClass::Write, "docs/n.md");
        let mut fact = crate::scene::write(&call, "docs/n.md", &format!("{round}"), &format!("{round}x"));
        if let SupervisorFact::ToolFinished(done) = &mut fact {
            done.result = Some(format!("wrote it for the {round}. time"));
        }
        scene.feed(fact);
        scene.end();
    }
    assert!(scene.logged(TimelineKind::Switch, "notice:unhealed"), "{:#?}", reasons(&scene));
}

#[test]
fn polishing_after_green_is_noticed() {
    let mut scene = scene();
    scene.round(|scene| {
        scene.write("src/a.rs");
        scene.check(&[]);
    });
    for _ in 0..9 {
        scene.round(|scene| {
            scene.write("src/a.rs");
            scene.check(&[]);
        });
    }
    // Each passes on a version nothing had passed on; only that it is the same file again tells.
    assert!(scene.logged(TimelineKind::Switch, "notice:polishing"), "{:#?}", reasons(&scene));
    scene.round(|scene| {
        scene.write("src/a.rs");
    });
    scene.round(|scene| {
        scene.check(&[]);
    });
    assert!(!scene.logged(TimelineKind::Recover, "takeover"));
}

#[test]
fn calls_that_cannot_be_read_and_empty_replies_are_noticed() {
    let mut scene = scene();
    for _ in 0..3 {
        scene.start();
        scene.feed(SupervisorFact::CallMalformed { tool: "edit".into(), why: "no JSON".into() });
        scene.end();
    }
    assert!(scene.logged(TimelineKind::Switch, "notice:malformed"), "{:#?}", reasons(&scene));
    let mut scene = super::takeovers::scene();
    for _ in 0..2 {
        scene.start();
        let end = crate::event::RoundEnd { text_only: true, ..Default::default() };
        scene.feed(SupervisorFact::RoundEnded(end));
    }
    assert!(scene.logged(TimelineKind::Switch, "notice:empty_replies"), "{:#?}", reasons(&scene));
}

#[test]
fn a_budget_that_ends_brings_advice_with_facts() {
    let start = SupervisorSetup { round_limit: 10, ..setup("execute", "Improve src/a.rs") };
    let mut scene = SupervisedScene::with(SupervisorConfig::default(), start);
    for at in 0..8 {
        scene.round(|scene| {
            scene.read(&format!("{at}.rs"));
        });
    }
    assert!(scene.logged(TimelineKind::Switch, "advice:budget_ending"));
    scene.obey(&["one"]);
    scene.start();
    assert!(scene.stands().contains("80 % of what this run may use is used"), "{}", scene.stands());
    assert!(scene.stands().contains("one"), "{}", scene.stands());
}

#[test]
fn the_texts_grow_with_the_rungs_and_rest_on_facts() {
    let mut scene = scene();
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..12 {
        scene.start();
        if texts.last().map(String::as_str) != Some(scene.stands()) {
            texts.push(scene.stands().to_owned());
        }
        scene.check(&["one"]);
        scene.end();
    }
    let notice = texts.iter().find(|text| text.contains("Noticed")).unwrap();
    assert!(notice.lines().count() == 1 && notice.contains("the same failure 3 times"), "{notice}");
    let advice = texts.iter().find(|text| text.contains("Advice")).unwrap();
    for words in [GOAL, "Facts:", "`cargo test`: 1 failing: one", "no file was changed"] {
        assert!(advice.contains(words), "{words}: {advice}");
    }
    assert!(advice.contains("Next step: repair what makes `cargo test` fail: one"), "{advice}");
    assert!(!advice.contains("Plan"), "{advice}");
    let led = texts.iter().find(|text| text.contains("leads this run")).unwrap();
    assert!(led.contains("Plan, ") && led.contains("Next step: repair"), "{led}");
}

#[test]
fn without_a_check_the_next_step_is_to_show_it() {
    let mut start = setup("execute", GOAL);
    start.checks.clear();
    let mut scene = SupervisedScene::with(SupervisorConfig::default(), start);
    scene.round(|scene| {
        scene.write("src/a.rs");
    });
    for _ in 0..20 {
        scene.round(|scene| {
            scene.read("src/b.rs");
        });
        let next = scene.stands().lines().find(|line| line.starts_with("Next step")).unwrap_or_default();
        assert!(!next.contains("summar"), "{next}");
    }
    let texts = scene.texts();
    assert!(
        texts.iter().any(|text| text.contains("run something that shows whether it works")),
        "{texts:#?}"
    );
}

#[test]
fn a_takeover_begins_with_a_check_where_none_is_fresh() {
    let mut scene = scene();
    scene.round(|_| {});
    scene.start();
    scene.feed(SupervisorFact::UserForceTakeover { by: "cli".into() });
    assert!(scene.last.iter().any(|effect| matches!(effect, SupervisorEffect::Check { .. })));
    scene.obey(&["one"]);
    assert!(scene.stands().contains("repair what makes `cargo test` fail: one"), "{}", scene.stands());
    assert!(scene.logged(TimelineKind::Recover, "recover:template_graph"));
}

#[test]
fn a_person_says_so_at_every_level_that_speaks() {
    for (level, phase) in [
        (SupervisorLevel::Off, TakeoverPhase::Free),
        (SupervisorLevel::Advise, TakeoverPhase::Takeover),
        (SupervisorLevel::Strict, TakeoverPhase::Takeover),
    ] {
        let mut scene = SupervisedScene::new(level, "Explain the parser");
        scene.start();
        scene.feed(SupervisorFact::UserForceTakeover { by: "cli".into() });
        assert_eq!(scene.phase(), phase, "{level:?}");
    }
}

#[test]
fn a_question_is_never_taken_over_and_never_stopped() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "What does src/a.rs do?");
    let round = until_takeover(&mut scene, 60, |scene, _| {
        scene.read("src/b.rs");
    });
    assert_eq!((round, scene.stops()), (None, Vec::new()));
    assert_eq!(rungs(&scene), ["notice:no_progress", "advice:no_progress"]);
    assert!(scene.stands().contains("answer with what you know"), "{}", scene.stands());
}

#[test]
fn words_alone_go_no_further() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Advise, GOAL);
    let round = until_takeover(&mut scene, 60, |scene, _| {
        scene.check(&["one"]);
    });
    assert_eq!(
        (round, scene.stops(), scene.state.phase_state().stage()),
        (None, Vec::new(), EscalationStage::Advised)
    );
}

/// What a model does that listens.
fn repair(scene: &mut SupervisedScene) {
    scene.round(|scene| {
        scene.write("src/a.rs");
        scene.check(&[]);
    });
}

#[test]
fn a_model_that_follows_gets_the_lead_back() {
    let mut scene = taken();
    repair(&mut scene);
    for at in 0..8 {
        scene.round(|scene| {
            scene.read(&format!("new/{at}.rs"));
        });
    }
    let phases = [
        TakeoverPhase::Takeover,
        TakeoverPhase::HandoffPending,
        TakeoverPhase::Cooldown,
        TakeoverPhase::Free,
    ];
    assert_eq!(scene.phases(), phases, "{:#?}", reasons(&scene));
    scene.start();
    assert_eq!(scene.stands(), "", "nothing stands any more");
    assert!(
        scene.logged(TimelineKind::TaskGraphUpdate, "graph:paused")
            || scene.state.graph().unwrap().progress() == 100
    );
}

#[test]
fn a_plan_that_is_not_done_binds_no_longer_once_the_lead_is_handed_back() {
    let mut scene = scene();
    let failing = ["one", "two", "three"];
    let taken = until_takeover(&mut scene, 20, |scene, _| {
        scene.check(&failing);
    });
    assert!(taken.is_some());
    scene.round(|scene| {
        scene.write("src/a.rs");
        scene.check(&failing[1..]);
    });
    for at in 0..3 {
        scene.round(|scene| {
            scene.read(&format!("new/{at}.rs"));
        });
    }
    assert_eq!(scene.phase(), TakeoverPhase::Cooldown, "{:#?}", reasons(&scene));
    assert!(scene.state.graph().unwrap().progress() < 100, "there is something left of the plan");
    assert!(scene.logged(TimelineKind::TaskGraphUpdate, "graph:paused"), "{:#?}", reasons(&scene));
}

#[test]
fn a_model_that_does_not_follow_is_stopped_within_its_budget() {
    for (level, most) in [(SupervisorLevel::Adaptive, 8), (SupervisorLevel::Strict, 6)] {
        let mut scene = SupervisedScene::new(level, GOAL);
        let mut rounds = 0;
        while scene.state.stopped().is_none() && rounds < 40 {
            scene.round(|scene| {
                scene.check(&["one"]);
            });
            rounds += u32::from(scene.phase() == TakeoverPhase::Takeover);
        }
        assert_eq!((scene.stops(), rounds), (vec![StopKind::UserCheckpoint], most + 1), "{level:?}");
    }
}

#[test]
fn an_unsafe_tree_is_settled_first() {
    let mut scene = scene();
    scene.workspace =
        Some(WorkspaceState { git: GitState::Conflict, verified: true, ..WorkspaceState::default() });
    until_takeover(&mut scene, 20, |scene, _| {
        scene.check(&["one"]);
    });
    assert!(scene.logged(TimelineKind::Recover, "recover:strong_hint"));
    scene.start();
    assert!(scene.stands().contains("settle the repository first"), "{}", scene.stands());
}

#[test]
fn resuming_gives_the_lead_back_and_a_fresh_budget() {
    let start = SupervisorSetup { round_limit: 20, ..setup("execute", GOAL) };
    let mut scene = SupervisedScene::with(SupervisorConfig::default(), start);
    while scene.state.stopped().is_none() {
        scene.round(|scene| {
            scene.check(&["one"]);
        });
    }
    scene.feed(SupervisorFact::CheckpointResumed);
    assert_eq!((scene.phase(), scene.state.why().len()), (TakeoverPhase::Free, 0));
    scene.start();
    assert_eq!(scene.stands(), "", "nothing of what was before is said");
    scene.read("src/new.rs");
    scene.end();
    assert_eq!(scene.state.why(), []);
}
