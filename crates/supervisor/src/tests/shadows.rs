//! Shadow and replay at another level: seen, never done.

use super::streams::{RandomRun, level_of};
use crate::config::SupervisorConfig;
use crate::effect::{GateVerdict, SupervisorEffect};
use crate::event::SupervisorEvent;
use crate::level::SupervisorLevel;
use crate::replay::{ReplayError, decisions, replay_lines};
use crate::scene::SupervisedScene;
use crate::session::Supervisor;
use crate::timeline::TimelineKind;

fn lost() -> Vec<SupervisorEvent> {
    let mut scene = SupervisedScene::new(SupervisorLevel::Off, "improve src/parse.rs");
    for i in 0..20 {
        scene.round(|s| {
            s.check(&["parse::empty"]);
            s.exec("./run", Some(&format!("error: no such option {i}")));
        });
    }
    scene.events
}

fn is_shadow(effect: &SupervisorEffect) -> bool {
    matches!(effect, SupervisorEffect::Log(record) if record.event == TimelineKind::ShadowDiagnostic)
}

#[test]
fn a_shadow_advances_and_changes_nothing() {
    let config = SupervisorConfig { shadow: true, ..SupervisorConfig::default() };
    let mut watched = Supervisor::new(config).unwrap();
    let mut alone =
        Supervisor::new(SupervisorConfig { level: SupervisorLevel::Off, ..SupervisorConfig::default() })
            .unwrap();
    let mut diagnostics = Vec::new();
    for event in lost() {
        let mut effects = watched.feed(&event);
        let rest = effects.split_off(effects.iter().position(is_shadow).unwrap_or(effects.len()));
        assert!(rest.iter().all(is_shadow), "diagnostics come last");
        diagnostics.extend(rest);
        assert_eq!(effects, alone.feed(&event), "what is done is what would have been done anyway");
    }
    let reasons: Vec<&str> = diagnostics
        .iter()
        .filter_map(|effect| {
            if let SupervisorEffect::Log(record) = effect { Some(record.reason.as_str()) } else { None }
        })
        .collect();
    for wanted in ["shadow:takeover:", "shadow:gate", "shadow:correction", "shadow:stop", "shadow:drift"] {
        assert!(reasons.iter().any(|reason| reason.starts_with(wanted)), "{wanted}: {reasons:?}");
    }
    let shadow = watched.shadow().unwrap().state();
    assert!(shadow.round() > 5 && shadow.stopped().is_some());
    assert_eq!(reasons.iter().filter(|reason| **reason == "shadow:stop").count(), 1);
}

#[test]
fn a_shadow_is_not_disturbed_by_calls_it_would_have_blocked() {
    let mut shadow = crate::shadow::Shadow::new(SupervisorConfig::default());
    let mut blocked = false;
    for event in lost() {
        for record in shadow.observe(&event) {
            assert_eq!(record.event, TimelineKind::ShadowDiagnostic);
            blocked |= record.payload["verdict"] == "block";
        }
    }
    assert!(blocked);
    assert!(shadow.state().stopped().is_some());
    // What a call did that it would have blocked counts: the run went on with it.
    let mut scene = SupervisedScene::new(SupervisorLevel::Off, "Fix src/parse.rs");
    let mut shadow = crate::shadow::Shadow::new(SupervisorConfig::default());
    let mut seen = 0;
    let mut look = |scene: &SupervisedScene| {
        let told: Vec<_> = scene.events[seen..].iter().flat_map(|event| shadow.observe(event)).collect();
        seen = scene.events.len();
        (told.iter().any(|record| record.payload["verdict"] == "block"), shadow.state().known().round.fresh)
    };
    let blocked = (0..20).find_map(|_| {
        scene.start();
        let (_, call) = scene.propose(holon_core::policy::ToolClass::Exec, "./run");
        if look(&scene).0 {
            return Some(call);
        }
        let mut done = crate::scene::finished(&call, false, crate::event::ProvenEffects::default());
        done.exit = Some(1);
        done.error = Some("error: no such option".to_owned());
        done.result = Some(crate::result_digest("error: no such option", true));
        scene.feed(crate::event::SupervisorFact::ToolFinished(done));
        scene.end();
        None
    });
    let call = blocked.expect("a call that it would have blocked");
    assert!(!look(&scene).1);
    scene.feed(crate::scene::write(&call, "src/parse.rs", "1", "2"));
    assert!(look(&scene).1);
}

fn recording(events: &[SupervisorEvent]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

#[test]
fn a_recording_answers_what_another_level_would_have_done() {
    let text = recording(&lost());
    let by = |level| {
        replay_lines(
            SupervisorConfig { level, ..SupervisorConfig::default() },
            &text,
            level == SupervisorLevel::Off,
        )
        .unwrap()
    };
    assert!(!by(SupervisorLevel::Off).contains("drift:"));
    assert!(by(SupervisorLevel::Adaptive).contains("\"to\":\"takeover\""));
    assert!(by(SupervisorLevel::Adaptive).contains("\"verdict\":\"block\""));
    let advise = by(SupervisorLevel::Advise);
    assert!(!advise.contains("\"verdict\":\"block\"") && !advise.contains("takeover:"));
    assert_eq!(by(SupervisorLevel::Advise), advise);
}

#[test]
fn a_broken_recording_names_its_line() {
    let text = format!("{}\n{{\"ts\":1,\"fact\":\"nonsense\"}}\n", recording(&lost()[..2]));
    let error = replay_lines(SupervisorConfig::default(), &text, true).unwrap_err();
    assert!(matches!(&error, ReplayError::Line { line: 4, .. }), "{error}");
}

#[test]
fn inv_09_lines_replay_to_the_same_bytes() {
    for seed in 0..200 {
        let mut run = RandomRun::new(seed, level_of(seed));
        run.play(20, &mut |_| {});
        let text = recording(&run.scene.events);
        let config = run.scene.state.config().clone();
        assert_eq!(replay_lines(config, &text, true).unwrap(), decisions(&run.scene.effects));
    }
}

#[test]
fn stored_supervisors_go_on_where_they_were() {
    let config = SupervisorConfig { shadow: true, ..SupervisorConfig::default() };
    let events = lost();
    let mut whole = Supervisor::new(config.clone()).unwrap();
    let expect: Vec<Vec<SupervisorEffect>> = events.iter().map(|event| whole.feed(event)).collect();
    let mut first = Supervisor::new(config).unwrap();
    let (early, late) = events.split_at(events.len() / 2);
    early.iter().for_each(|event| {
        first.feed(event);
    });
    fn stored<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
        serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
    }
    let mut second =
        Supervisor::resume(stored(first.state()), stored(first.ledger()), first.shadow().map(stored));
    let found: Vec<Vec<SupervisorEffect>> = late.iter().map(|event| second.feed(event)).collect();
    assert_eq!(found, expect[early.len()..]);
    assert_eq!(second.ledger(), whole.ledger());
    assert!(
        found.iter().flatten().all(
            |effect| !matches!(effect, SupervisorEffect::Gate(gate) if gate.verdict == GateVerdict::Block)
        )
    );
}
