//! The plan in whole runs: strict from its first round, to go by and not to be held by.

use crate::config::{ContractMode, SupervisorConfig};
use crate::effect::{GateVerdict, GraphChange, SupervisorEffect};
use crate::event::SupervisorFact;
use crate::graph::GraphStatus;
use crate::level::SupervisorLevel;
use crate::scene::{SupervisedScene, setup};
use crate::timeline::{ContractForce, TimelineKind};
use crate::wording::GRAPH_TAG;

/// A goal of moderate complexity: one fallback branch.
fn moderate() -> SupervisedScene {
    let goal = format!("improve src/a.rs and src/b.rs {}", "a lot ".repeat(3));
    let mut scene = SupervisedScene::new(SupervisorLevel::Strict, &goal);
    scene.start();
    scene.read("src/a.rs");
    scene.search();
    assert_eq!(step(&scene), "edit");
    scene
}

fn step(scene: &SupervisedScene) -> &'static str {
    scene.state.graph().and_then(|graph| graph.current()).map_or("-", |node| node.kind.name())
}

#[test]
fn a_strict_run_by_the_plan() {
    let mut scene = moderate();
    scene.end();
    scene.start();
    assert_eq!(scene.write("src/a.rs"), GateVerdict::Allow);
    assert_eq!(scene.check(&[]), GateVerdict::Allow);
    assert_eq!(step(&scene), "summarize");
    assert_eq!(scene.read("src/a.rs"), GateVerdict::Allow, "nothing is closed");
    scene.end();
    scene.start();
    scene.feed(SupervisorFact::ModelDone);
    assert_eq!(scene.gate().verdict, GateVerdict::Allow);
    scene.end_with(true);
    assert_eq!(scene.state.graph().unwrap().status, GraphStatus::Done);
    assert!(scene.logged(TimelineKind::TaskGraphDone, "graph:done"));
    assert_eq!(scene.mode(), ContractForce::Free);
}

#[test]
fn each_step_is_told_once_under_its_tag() {
    for contracts in [ContractMode::Advise, ContractMode::Enforce] {
        let config =
            SupervisorConfig { level: SupervisorLevel::Strict, contracts, ..SupervisorConfig::default() };
        let mut scene = SupervisedScene::with(config, setup("execute", &"improve the parser ".repeat(8)));
        scene.start();
        let texts = scene.texts();
        assert_eq!(texts.len(), 1);
        assert!(
            texts[0].starts_with(&format!("{GRAPH_TAG} Current step: ")) && texts[0].contains("(inspect)")
        );
        let closed = contracts == ContractMode::Enforce;
        assert_eq!(texts[0].contains("Tools of this step: read, search"), closed);
        assert_eq!(scene.mode() == ContractForce::Forced, closed);
        scene.end();
        scene.start();
        assert_eq!(scene.texts().len(), 1, "the same step");
        scene.read("a.rs");
        scene.end();
        scene.start();
        assert_eq!(scene.texts().len(), 2);
    }
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
            SupervisorEffect::Graph(GraphChange::Node { node, progress, .. }) => {
                Some((node.clone(), *progress))
            }
            _ => None,
        })
        .collect();
    assert_eq!(told.last(), Some(&("node-05".to_owned(), 80)));
    assert!(scene.logged(TimelineKind::TaskGraphNode, "node:evidence"));
}

#[test]
fn a_plan_that_fails_ends_and_shuts_nothing() {
    let mut scene = moderate();
    for _ in 0..8 {
        scene.write("src/a.rs");
        scene.check(&["x"]);
        scene.end();
        scene.start();
    }
    assert!(scene.logged(TimelineKind::TaskGraphBranch, "branch:verify_failed"));
    assert_eq!(scene.write("docs/other.md"), GateVerdict::Allow);
}

#[test]
fn a_later_turn_of_a_conversation_has_its_plan_too() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Strict, "improve src/a.rs");
    scene.feed(SupervisorFact::RoundStarted { round: 17 });
    assert!(scene.state.graph().is_some());
}

#[test]
fn the_ranking_is_logged() {
    let scene = moderate();
    let logs = scene.logs();
    let init = logs.iter().find(|record| record.event == TimelineKind::TaskGraphInit).unwrap();
    assert!(init.payload["ranking"].as_array().unwrap().len() > 1);
}
