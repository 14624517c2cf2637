//! The state stays small, whatever a run throws at it.

use holon_core::policy::ToolClass;

use crate::event::{
    CheckCommand, CheckOutcome, FileHash, HashedFileChange, ProvenEffects, RoundEnd, SupervisorFact,
};
use crate::level::SupervisorLevel;
use crate::scene::{SupervisedScene, setup};
use crate::{SupervisorConfig, SupervisorState};

const MOST: usize = 64 * 1024;

/// Five hundred rounds of the largest facts one can think of.
fn huge(level: SupervisorLevel) -> SupervisorState {
    let long = "x\"\\é".repeat(400);
    let mut start = setup("execute", &format!("{} {}", "src/very_long_name.rs ".repeat(60), long.repeat(5)));
    start.plan_files = (0..500).map(|i| format!("{long}/{i}.rs")).collect();
    start.checks = (0..50).map(|i| CheckCommand { command: format!("{i} {long}"), asked: false }).collect();
    let mut scene = SupervisedScene::with(SupervisorConfig { level, ..SupervisorConfig::default() }, start);
    for round in 1..=500_u32 {
        scene.feed(SupervisorFact::RoundStarted { round });
        for i in 0..6 {
            let path = format!("{long}/{}/{i}.rs", round % 300);
            let class = [ToolClass::Write, ToolClass::Exec, ToolClass::Read][i % 3];
            let (_, call) = scene.propose(class, &path);
            let changed = (0..4).map(|n| HashedFileChange {
                path: format!("{path}{n}"),
                before: String::new(),
                after: format!("{round}"),
            });
            let read = (0..4).map(|n| FileHash { path: format!("{path}r{n}"), hash: long.clone() });
            let evidence =
                ProvenEffects { read: read.collect(), changed: changed.collect(), results: 3, child: false };
            let mut done = crate::scene::finished(&call, i % 2 == 0, evidence);
            done.result = Some(format!("{round} {i} {long}"));
            done.error = Some(format!("error {} {long}", "abcdefghijkl".get(i..=i).unwrap()));
            scene.feed(SupervisorFact::ToolFinished(done));
        }
        scene.feed(SupervisorFact::CheckRan(CheckOutcome {
            call: None,
            command: format!("{} {long}", round % 20),
            exit: Some(1),
            passed: 1,
            failed: 900,
            skipped: 0,
            failing: (0..40).map(|i| format!("{i} {long}")).collect(),
            diagnostics: 3,
            duration_ms: 1,
            says: Some(long.clone()),
            result: Some(format!("{round}")),
            changed: Vec::new(),
        }));
        scene.feed(SupervisorFact::RoundEnded(RoundEnd {
            tokens: 10,
            diff_lines: round * 900,
            ..RoundEnd::default()
        }));
        if scene.state.stopped().is_some() {
            scene.feed(SupervisorFact::CheckpointResumed);
        }
        scene.events.clear();
        scene.effects.clear();
    }
    scene.state
}

#[test]
fn the_state_of_a_huge_run_fits() {
    for level in [SupervisorLevel::Adaptive, SupervisorLevel::Strict] {
        let state = huge(level);
        let text = serde_json::to_string(&state).unwrap();
        assert!(text.len() <= MOST, "{level:?}: {}", text.len());
        assert_eq!(serde_json::from_str::<SupervisorState>(&text).unwrap(), state);
    }
}

#[test]
fn the_state_of_an_ordinary_run_is_small() {
    let mut scene = SupervisedScene::new(SupervisorLevel::Adaptive, "improve src/a.rs");
    for i in 0..500 {
        scene.round(|s| {
            s.read(&format!("src/{i}.rs"));
            s.write(&format!("src/{i}.rs"));
            s.check(&["parse::empty"]);
        });
        if scene.state.stopped().is_some() {
            scene.feed(SupervisorFact::CheckpointResumed);
        }
    }
    let size = serde_json::to_string(&scene.state).unwrap().len();
    assert!(size <= MOST / 2, "{size}");
}
