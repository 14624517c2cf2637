//! The plan in whole runs: strict from its first round, and what is enforced when it fails.

use holon_core::policy::ToolClass;

use crate::effect::{Effect, GraphChange, Rule, StopKind, Verdict};
use crate::event::Fact;
use crate::graph::GraphStatus;
use crate::level::Level;
use crate::mode::Mode;
use crate::scene::{Scene, setup};
use crate::tier::Tier;
use crate::timeline::Kind;
use crate::wording::{GRAPH_TAG, RECOVERY_TAG};
use crate::{Config, CorrectionKind};

/// A goal of moderate complexity: one fallback branch.
fn moderate() -> Scene {
    let goal = format!("improve src/a.rs and src/b.rs {}", "a lot ".repeat(3));
    let mut scene = Scene::new(Level::Strict, &goal);
    scene.start();
    scene.read("src/a.rs");
    scene.search();
    assert_eq!(step(&scene), "edit");
    scene
}

fn step(scene: &Scene) -> &'static str {
    scene.state.graph().and_then(|graph| graph.current()).map_or("-", |node| node.kind.name())
}

fn fail_once(scene: &mut Scene, path: &str) {
    scene.write(path);
    scene.check(&["x"]);
    scene.end();
    scene.start();
}

#[test]
fn a_strict_run_by_the_plan() {
    let mut scene = moderate();
    scene.end();
    scene.start();
    assert_eq!(scene.write("src/a.rs"), Verdict::Allow);
    assert_eq!(scene.check(&[]), Verdict::Allow);
    assert_eq!(step(&scene), "summarize");
    assert_eq!(scene.read("src/a.rs"), Verdict::Block);
    scene.end();
    scene.start();
    scene.feed(Fact::ModelDone);
    assert_eq!(scene.gate().verdict, Verdict::Allow);
    scene.end_with(true);
    assert_eq!(scene.state.graph().unwrap().status, GraphStatus::Done);
    assert!(scene.logged(Kind::TaskGraphDone, "graph:done"));
    assert_eq!(scene.mode(), Mode::Forced);
    scene.start();
    assert_eq!(scene.write("src/a.rs"), Verdict::Allow, "nothing binds any more");
}

#[test]
fn each_step_is_told_once_under_its_tag() {
    let mut scene = Scene::new(Level::Strict, &"improve the parser ".repeat(8));
    scene.start();
    let texts = scene.texts();
    assert_eq!(texts.len(), 1);
    assert!(texts[0].starts_with(&format!("{GRAPH_TAG} Current step: ")) && texts[0].contains("(inspect)"));
    assert!(
        texts[0].contains("Progress: 0% | Status: running")
            && texts[0].contains("Suggested tools: read, search")
    );
    scene.end();
    scene.start();
    assert_eq!(scene.texts().len(), 1, "the same step");
    scene.read("a.rs");
    scene.end();
    scene.start();
    assert_eq!(scene.texts().len(), 2);
}

#[test]
fn reference_files_are_those_named() {
    let mut scene = Scene::new(Level::Strict, "improve src/a.rs");
    scene.start();
    assert!(scene.texts()[0].contains("Reference files: src/a.rs"));
}

#[test]
fn every_change_of_a_node_is_told() {
    let mut scene = moderate();
    scene.write("src/a.rs");
    scene.check(&[]);
    let told: Vec<(String, u8)> = scene
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Graph(GraphChange::Node { node, progress, .. }) => Some((node.clone(), *progress)),
            _ => None,
        })
        .collect();
    assert_eq!(told.last(), Some(&("node-05".to_owned(), 80)));
    assert!(scene.logged(Kind::TaskGraphNode, "node:evidence"));
}

#[test]
fn three_failing_verifications_switch_the_branch() {
    let mut scene = moderate();
    fail_once(&mut scene, "src/a.rs");
    fail_once(&mut scene, "src/b.rs");
    assert_eq!((step(&scene), scene.state.budget().branch()), ("edit", 0));
    fail_once(&mut scene, "src/a.rs");
    assert_eq!(step(&scene), "fallback");
    assert!(scene.logged(Kind::TaskGraphBranch, "branch:verify_failed"));
    assert_eq!((scene.state.budget().branch(), scene.state.budget().debt()), (1, 1));
}

/// Fails in every way the plan has.
fn failed() -> Scene {
    let mut scene = moderate();
    for i in 0..6 {
        fail_once(&mut scene, ["src/a.rs", "src/b.rs"][i % 2]);
    }
    scene
}

#[test]
fn a_failed_plan_leaves_a_queue_of_steps() {
    let mut scene = failed();
    assert_eq!((scene.tier(), scene.mode()), (Tier::StepQueue, Mode::Forced));
    assert!(
        scene.logged(Kind::Switch, "tier:step_queue") && scene.logged(Kind::TaskGraphDone, "graph:failed")
    );
    let graph = scene.state.graph().unwrap();
    assert!(graph.fallback_branches.is_empty() && graph.is_active());
    let texts = scene.texts();
    assert!(texts.iter().any(|text| text.starts_with(RECOVERY_TAG)), "{texts:?}");
    // The remaining steps are edit, verify, summarize: one at a time.
    assert_eq!(step(&scene), "edit");
    scene.write("src/a.rs");
    scene.end();
    scene.start();
    scene.end();
    assert_eq!(step(&scene), "verify");
    scene.start();
    assert_eq!(scene.write("src/a.rs"), Verdict::Block);
    scene.check(&[]);
    scene.end();
    scene.start();
    scene.end_with(true);
    assert_eq!(scene.tier(), Tier::Graph, "done");
}

#[test]
fn a_failed_queue_leaves_the_named_files() {
    let mut scene = failed();
    for i in 0..3 {
        assert_eq!(scene.tier(), Tier::StepQueue);
        fail_once(&mut scene, ["src/a.rs", "src/b.rs"][i % 2]);
    }
    assert_eq!(scene.tier(), Tier::WriteIntent);
    let (gate, _) = scene.propose(ToolClass::Write, "src/c.rs");
    assert_eq!((gate.verdict, gate.rule), (Verdict::Block, Rule::WriteIntent));
    assert!(gate.why.contains("src/c.rs"), "{}", gate.why);
    assert_eq!(scene.write("src/a.rs"), Verdict::Allow);
    assert_eq!(scene.read("src/c.rs"), Verdict::Allow);
    assert!(scene.logged(Kind::Switch, "tier:write_intent"));
    // A verified success brings everything back.
    scene.check(&[]);
    assert_eq!(scene.tier(), Tier::Graph);
    assert_eq!(scene.write("src/c.rs"), Verdict::Allow);
}

#[test]
fn in_the_end_a_person_has_to_look() {
    let mut scene = failed();
    for i in 0..3 {
        fail_once(&mut scene, ["src/a.rs", "src/b.rs"][i % 2]);
    }
    assert_eq!(scene.tier(), Tier::WriteIntent);
    for _ in 0..2 {
        scene.end();
        scene.start();
    }
    assert_eq!(scene.stops(), []);
    scene.end();
    assert_eq!((scene.tier(), scene.stops()), (Tier::Human, vec![StopKind::UserCheckpoint]));
    scene.feed(Fact::CheckpointResumed);
    assert_eq!(
        (scene.tier(), scene.state.graph_active()),
        (Tier::Graph, true),
        "strict goes by a plan again"
    );
}

#[test]
fn a_budget_overrun_with_a_plan_takes_its_next_branch() {
    let mut scene = moderate();
    for _ in 0..2 {
        scene.exec("./run", Some("boom"));
    }
    assert_eq!(scene.exec("./run", Some("boom")), Verdict::Block);
    assert_eq!((scene.exec("./run", Some("boom")), step(&scene)), (Verdict::Warn, "fallback"));
    assert!(scene.logged(Kind::TaskGraphBranch, "branch_switched:budget"));
    assert_eq!(scene.state.budget().debt(), 1, "once");
}

#[test]
fn without_checks_the_plan_says_that_nothing_verifies_it() {
    let mut start = setup("execute", "improve src/a.rs");
    start.checks.clear();
    let mut scene = Scene::with(Config { level: Level::Strict, ..Config::default() }, start);
    scene.start();
    assert!(scene.state.graph().unwrap().unverified);
    assert!(scene.texts()[0].contains("nothing can verify it"));
}

#[test]
fn the_ranking_is_logged() {
    let scene = moderate();
    let record = scene.logs().into_iter().find(|record| record.event == Kind::TaskGraphInit).unwrap().clone();
    let ranking = record.payload["ranking"].as_array().unwrap().clone();
    assert!(ranking.len() > 1 && ranking[0]["template"] == "edit-standard", "{ranking:?}");
}

#[test]
fn forced_without_a_plan_gets_few_step_hints() {
    let mut scene = Scene::new(Level::Adaptive, "improve src/other.rs");
    for i in 0..10 {
        scene.start();
        if i % 2 == 0 {
            scene.write("a.rs");
        } else {
            scene.check(&[&format!("case{i}")]);
        }
        scene.exec(&format!("ls {i}"), Some(&format!("error {}", "abcdefghij".get(i..=i).unwrap())));
        scene.end();
    }
    let hints: Vec<&str> = scene.texts().into_iter().filter(|text| text.starts_with(GRAPH_TAG)).collect();
    assert_eq!(hints.len(), 3, "{hints:?}");
    assert!(hints[0].contains("Next: run `cargo test`"), "{hints:?}");
    assert!(hints[1].contains("repair what `cargo test` reports: case1"), "{hints:?}");
    let only_hints = scene.effects.iter().all(|effect| match effect {
        Effect::Correct(correction) => correction.kind() == CorrectionKind::GraphHint,
        _ => true,
    });
    assert!(only_hints || scene.phase() != crate::Phase::Free);
}

#[test]
fn with_the_named_files_alone_the_next_way_is_a_person() {
    let mut scene = failed();
    for i in 0..3 {
        fail_once(&mut scene, ["src/a.rs", "src/b.rs"][i % 2]);
    }
    assert_eq!(scene.tier(), Tier::WriteIntent);
    let verdicts: Vec<Verdict> = (0..4).map(|_| scene.exec("./tool", Some("error: no"))).collect();
    assert_eq!(verdicts, [Verdict::Allow, Verdict::Allow, Verdict::Block, Verdict::Block]);
    assert_eq!((scene.tier(), scene.stops()), (Tier::Human, vec![StopKind::UserCheckpoint]));
    assert_eq!(scene.gate_rule(), Rule::Stopped);
}
