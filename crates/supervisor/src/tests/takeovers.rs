//! L2 in whole runs: each signal takes over, healthy runs are left alone, and every way out is walked.

use holon_core::outcome::Outcome;

use crate::config::Config;
use crate::effect::{Effect, Rule, StopKind, Verdict};
use crate::event::{Fact, GitState, Workspace};
use crate::graph::NodeKind;
use crate::level::Level;
use crate::mode::{Mode, Signal};
use crate::phase::Phase;
use crate::scene::{Scene, setup};
use crate::tier::Tier;
use crate::timeline::Kind;
use crate::wording::RECOVERY_TAG;

const GOAL: &str = "improve src/parse.rs";

fn scene() -> Scene {
    Scene::new(Level::Adaptive, GOAL)
}

/// A failing check makes any signal risky enough.
fn risky(scene: &mut Scene) {
    scene.round(|s| {
        s.check(&["parse::empty"]);
        s.exec("true", None);
    });
}

/// Rounds until a takeover, at most `most`.
fn until_takeover(scene: &mut Scene, most: u32, mut act: impl FnMut(&mut Scene, u32)) -> Option<u32> {
    (1..=most).find(|i| {
        scene.start();
        act(scene, *i);
        scene.end();
        scene.phase() == Phase::Takeover
    })
}

fn reasons(scene: &Scene) -> Vec<&str> {
    let records = scene.logs().into_iter().filter(|record| record.reason.starts_with("takeover:"));
    records.map(|record| record.reason.as_str()).collect()
}

/// Taken over for repeating a failing call, with a failing check.
fn taken() -> Scene {
    let mut scene = scene();
    risky(&mut scene);
    let rounds = until_takeover(&mut scene, 9, |s, i| {
        s.exec(&format!("./run {i}"), Some("error: no such option --fast"));
    });
    assert_eq!(rounds, Some(3));
    assert_eq!(reasons(&scene), ["takeover:tool_repeat_fail"]);
    scene
}

#[test]
fn the_same_failure_three_times() {
    let scene = taken();
    assert_eq!((scene.mode(), scene.tier()), (Mode::Forced, Tier::Graph));
    let by = scene.state.entered_by();
    assert!(by.contains(&Signal::Takeover) || by.contains(&Signal::ToolFailure), "{by:?}");
    assert!(scene.logged(Kind::Drift, "drift:tool_repeat_fail"));
    assert!(scene.logged(Kind::Recover, "recover:template_graph"));
}

#[test]
fn without_risk_it_takes_twice_as_many() {
    let mut scene = scene();
    let rounds = until_takeover(&mut scene, 9, |s, i| {
        s.read(&format!("x{i}.rs"));
        s.exec(&format!("./run {i}"), Some("error: no such option --fast"));
    });
    assert_eq!(rounds, None, "reading is evidence in the first rounds");
    let mut scene = self::scene();
    let rounds = until_takeover(&mut scene, 9, |s, i| {
        s.exec(&format!("./run {i}"), Some("error: no such option --fast"));
    });
    assert_eq!(rounds, Some(6));
}

#[test]
fn rounds_without_anything_new() {
    let mut scene = scene();
    let rounds = until_takeover(&mut scene, 12, |_, _| {});
    assert_eq!(rounds, Some(8), "no risk: at twice the threshold");
    assert_eq!(reasons(&scene), ["takeover:no_progress"]);
}

#[test]
fn reading_for_ever() {
    let mut scene = scene();
    let rounds = until_takeover(&mut scene, 30, |s, i| {
        s.read(&format!("src/{i}.rs"));
    });
    assert_eq!(rounds, Some(16), "eight rounds of reading, then eight without anything new");
}

#[test]
fn one_file_in_circles() {
    let mut scene = scene();
    let rounds = until_takeover(&mut scene, 12, |s, _| {
        s.write("src/parse.rs");
        s.check(&["parse::empty"]);
    });
    assert_eq!(rounds, Some(4));
    assert_eq!(reasons(&scene), ["takeover:file_loop"]);
    let text = scene.texts().last().unwrap().to_string();
    assert!(text.contains("parse::empty"), "{text}");
    assert!(text.contains("Do not repeat") && text.contains("src/parse.rs"), "{text}");
}

#[test]
fn a_loop_that_turns_greener_is_none() {
    let mut scene = scene();
    let cases = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let rounds = until_takeover(&mut scene, 10, |s, i| {
        s.write("src/parse.rs");
        s.check(&cases[..10 - i as usize]);
    });
    assert_eq!(rounds, None);
}

#[test]
fn two_calls_in_turn() {
    let mut scene = scene();
    risky(&mut scene);
    scene.round(|s| {
        s.exec("rm -rf target", None);
    });
    scene.start();
    for _ in 0..3 {
        scene.read("a.rs");
        scene.search();
    }
    scene.end();
    assert_ne!(scene.phase(), Phase::Takeover, "the first of them was new");
    scene.start();
    for _ in 0..3 {
        scene.read("a.rs");
        scene.search();
    }
    scene.end();
    assert!(scene.logged(Kind::Drift, "drift:alternation"));
    assert_eq!(reasons(&scene), ["takeover:alternation"]);
}

#[test]
fn drifting_elsewhere() {
    let mut scene = scene();
    let rounds = until_takeover(&mut scene, 9, |s, i| {
        s.write(&format!("docs/{i}.md"));
    });
    assert_eq!(rounds, Some(6));
    assert!(scene.logged(Kind::Drift, "drift:goal_drift") && scene.logged(Kind::Drift, "drift:scope_creep"));
}

#[test]
fn far_more_files_than_named() {
    let mut scene = scene();
    let rounds = until_takeover(&mut scene, 12, |s, i| {
        s.write("src/parse.rs");
        s.write(&format!("src/{i}.rs"));
        if i % 3 == 0 {
            s.check(&["x"]);
        }
    });
    assert!(scene.logged(Kind::Drift, "drift:scope_creep"));
    assert!(rounds.is_some());
}

#[test]
fn a_person_says_so_in_any_domain() {
    let mut scene = Scene::with(Config::default(), setup("plan", "look around"));
    scene.start();
    scene.feed(Fact::UserForceTakeover { by: "cli".into() });
    assert_eq!((scene.phase(), scene.mode()), (Phase::Takeover, Mode::Forced));
    scene.end();
    assert_eq!(reasons(&scene), ["takeover:user_force_takeover"]);
    for level in [Level::Off, Level::Strict] {
        let mut scene = Scene::new(level, GOAL);
        scene.feed(Fact::UserForceTakeover { by: "cli".into() });
        assert_eq!(scene.phase(), Phase::Free);
        assert!(scene.logged(Kind::Drift, "user_force_takeover:refused"));
    }
}

#[test]
fn work_that_is_not_critical_is_only_watched() {
    let mut scene = Scene::with(Config::default(), setup("review", "fix src/a.rs"));
    let rounds = until_takeover(&mut scene, 20, |_, _| {});
    assert_eq!(rounds, None);
    assert!(scene.logged(Kind::Drift, "drift:no_progress"));
}

#[test]
fn strict_observes_and_never_takes_over() {
    let mut scene = Scene::new(Level::Strict, GOAL);
    let rounds = until_takeover(&mut scene, 12, |_, _| {});
    assert_eq!(rounds, None);
    assert!(scene.logged(Kind::Drift, "drift:no_progress"));
}

#[test]
fn the_text_carries_what_is_needed() {
    let scene = taken();
    let texts = scene.texts();
    let text = texts.iter().find(|text| text.starts_with(RECOVERY_TAG)).unwrap();
    for part in [
        "Goal: improve src/parse.rs",
        "Why: the same failure 3 times",
        "`cargo test`",
        "parse::empty",
        "no such option --fast",
        "Plan, 0% done",
        "[>] node-01 edit",
        "Next step: node-01 (edit)",
        "Then run `cargo test`",
        "Do not repeat: what led to",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let edit = scene.state.graph().unwrap().nodes.values().find(|node| node.kind == NodeKind::Edit).unwrap();
    assert_eq!(edit.cases, ["parse::empty"]);
}

#[test]
fn the_text_replaces_itself_and_hints_are_silent() {
    let mut scene = taken();
    let before = scene.texts().len();
    scene.start();
    scene.start();
    assert!(scene.texts().len() <= before + 1, "the same is not said twice");
    scene.read("src/parse.rs");
    scene.end();
    scene.start();
    let kinds: Vec<_> = scene
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Correct(correction) => {
                Some((correction.kind(), correction.text().starts_with(RECOVERY_TAG)))
            }
            _ => None,
        })
        .collect();
    let supervised = kinds.iter().skip_while(|(kind, _)| *kind != crate::CorrectionKind::Takeover);
    assert!(supervised.clone().count() >= 2 && supervised.clone().all(|(_, tagged)| *tagged), "{kinds:?}");
}

/// Does what the takeover text says.
fn repair(scene: &mut Scene) {
    scene.round(|s| {
        assert_eq!(s.read("src/parse.rs"), Verdict::Allow);
    });
    scene.round(|s| {
        assert_eq!(s.write("src/parse.rs"), Verdict::Allow);
    });
    scene.round(|s| {
        assert_eq!(s.check(&[]), Verdict::Allow);
    });
}

#[test]
fn a_model_that_follows_gets_the_lead_back() {
    let mut scene = taken();
    repair(&mut scene);
    assert_eq!(scene.phase(), Phase::HandoffPending);
    assert!(scene.logged(Kind::Handoff, "handoff:stable"));
    scene.start();
    scene.end_with(true);
    assert_eq!(scene.phase(), Phase::HandoffPending, "text is nothing new");
    scene.round(|s| {
        s.write("src/parse.rs");
        s.check(&[]);
    });
    assert_eq!(scene.phase(), Phase::Cooldown);
    for _ in 0..3 {
        scene.round(|s| {
            s.write("src/parse.rs");
            s.check(&[]);
        });
    }
    assert_eq!((scene.phase(), scene.mode()), (Phase::Free, Mode::Free));
    assert_eq!(scene.phases(), [Phase::Takeover, Phase::HandoffPending, Phase::Cooldown, Phase::Free]);
    assert!(!scene.state.graph_active());
}

#[test]
fn a_signal_while_handing_back_takes_over_again() {
    let mut scene = taken();
    repair(&mut scene);
    assert_eq!(scene.phase(), Phase::HandoffPending);
    let rounds = until_takeover(&mut scene, 9, |_, _| {});
    assert_eq!(rounds, Some(4), "no progress");
    assert_eq!(scene.state.phase_state().takeovers(), 1, "the same one");
}

#[test]
fn a_model_that_does_not_follow_is_stopped_within_its_budget() {
    let mut scene = taken();
    for round in 1..=8 {
        assert_eq!(scene.stops(), [], "{round}");
        scene.round(|s| {
            s.exec(&format!("./run again {round}"), Some("error: no such option --fast"));
        });
    }
    assert_eq!(scene.stops(), [StopKind::UserCheckpoint]);
    assert_eq!(scene.state.stopped().unwrap().outcome, Outcome::NeedsHuman);
    assert!(scene.logged(Kind::Timeout, "recovery_budget:rounds"));
    assert_eq!(scene.read("a.rs"), Verdict::Block);
}

#[test]
fn tokens_are_a_budget_too() {
    let mut start = setup("execute", GOAL);
    start.token_limit = 2000;
    let mut scene = Scene::with(Config::default(), start);
    scene.tokens = 100;
    let rounds = until_takeover(&mut scene, 9, |_, _| {});
    assert_eq!(rounds, Some(8));
    scene.tokens = 300;
    scene.round(|_| {});
    assert_eq!(scene.stops(), []);
    scene.round(|_| {});
    assert_eq!(scene.stops(), [StopKind::UserCheckpoint]);
    assert!(scene.logged(Kind::Timeout, "recovery_budget:tokens"));
}

#[test]
fn verified_progress_extends_the_budget_once() {
    let mut scene = taken();
    scene.round(|s| {
        s.read("src/parse.rs");
        s.write("src/parse.rs");
        s.check(&[]);
    });
    assert!(scene.logged(Kind::Recover, "recover:extended"));
    assert_eq!(scene.state.phase_state().most_rounds(scene.state.config()), 12);
}

#[test]
fn without_trust_there_is_one_strong_hint_and_a_queue() {
    for (workspace, cause) in [
        (None, "cannot be proven"),
        (
            Some(Workspace { git: GitState::Conflict, verified: true, ..Workspace::default() }),
            "settle it first",
        ),
    ] {
        let mut scene = Scene::new(Level::Adaptive, &"improve the parser ".repeat(8));
        scene.workspace = workspace;
        let rounds = until_takeover(&mut scene, 9, |_, _| {});
        assert_eq!(rounds, Some(8));
        assert_eq!(scene.tier(), Tier::StepQueue);
        assert!(scene.logged(Kind::Recover, "recover:strong_hint"));
        let texts = scene.texts();
        assert_eq!(texts.iter().filter(|text| text.starts_with(RECOVERY_TAG)).count(), 1);
        assert!(texts.last().unwrap().contains(cause), "{texts:?}");
        assert!(scene.state.graph().unwrap().fallback_branches.is_empty());
        scene.start();
        assert_eq!(scene.check(&[]), Verdict::Block, "one step at a time");
    }
}

#[test]
fn resuming_gives_the_lead_back_and_forces() {
    let mut scene = taken();
    for _ in 0..8 {
        scene.round(|_| {});
    }
    assert_eq!(scene.stops().len(), 1);
    scene.feed(Fact::CheckpointResumed);
    assert_eq!((scene.phase(), scene.mode(), scene.state.stopped()), (Phase::Free, Mode::Forced, None));
    assert!(!scene.state.graph_active());
    scene.start();
    assert_eq!(scene.read("z.rs"), Verdict::Allow);
    assert_eq!(scene.gate_rule(), Rule::Trust);
}

#[test]
fn cooldown_ignores_weak_signals_and_hears_strong_ones() {
    let mut scene = taken();
    repair(&mut scene);
    scene.start();
    scene.end_with(true);
    scene.round(|s| {
        s.write("src/parse.rs");
        s.check(&[]);
    });
    assert_eq!(scene.phase(), Phase::Cooldown);
    scene.feed(Fact::UserForceTakeover { by: "page".into() });
    assert_eq!(scene.phase(), Phase::Takeover);
    assert_eq!(scene.state.phase_state().takeovers(), 2);
}

#[test]
fn handing_back_puts_the_plan_aside() {
    let mut scene = scene();
    scene.feed(Fact::UserForceTakeover { by: "cli".into() });
    for i in 0..4 {
        assert!(scene.state.graph_active(), "{i}");
        scene.round(|s| {
            s.read(&format!("new/{i}.rs"));
        });
    }
    assert_eq!((scene.phase(), scene.state.graph_active()), (Phase::Cooldown, false));
    assert!(scene.logged(Kind::TaskGraphUpdate, "graph:paused"));
}

#[test]
fn a_resumed_run_is_not_held_to_what_was_before() {
    let mut scene = scene();
    for _ in 0..3 {
        scene.round(|_| {});
    }
    scene.feed(Fact::CheckpointResumed);
    for _ in 0..3 {
        scene.round(|_| {});
    }
    assert!(!scene.logged(Kind::Drift, "drift:no_progress"));
    scene.round(|_| {});
    assert!(scene.logged(Kind::Drift, "drift:no_progress"));
}

#[test]
fn a_takeover_begins_with_a_check() {
    let wanted = Effect::Check { command: "cargo test".into() };
    let mut scene = scene();
    let rounds = until_takeover(&mut scene, 9, |s, i| {
        s.exec(&format!("./run {i}"), Some("error: no such option --fast"));
    });
    assert_eq!(rounds, Some(6));
    assert!(scene.last.contains(&wanted), "nobody has run one");
    scene.feed(crate::scene::check_ran("cargo test", 1, &["parse::empty"]));
    assert!(!scene.last.contains(&wanted) && scene.phase() == Phase::Takeover);
    let text = scene.texts().last().copied().unwrap_or_default().to_owned();
    assert!(text.contains("Failing cases: parse::empty. Then run `cargo test`"), "{text}");
    assert_eq!(scene.state.graph().map(|graph| graph.template.as_str()), Some("debug-repair"));
    let mut known = self::scene();
    risky(&mut known);
    until_takeover(&mut known, 9, |s, i| {
        s.exec(&format!("./run {i}"), Some("error: no such option --fast"));
    });
    assert!(!known.last.contains(&wanted), "one is fresh");
}

#[test]
fn a_takeover_has_a_budget_of_its_own() {
    let mut scene = scene();
    risky(&mut scene);
    let rounds = until_takeover(&mut scene, 9, |s, _| {
        s.write("src/parse.rs");
        s.check(&["parse::empty"]);
    });
    assert!(rounds.is_some() && scene.state.budget().debt() == 0);
    scene.start();
    assert_eq!(scene.write("src/parse.rs"), Verdict::Allow, "the repair is not held back by what was before");
}
