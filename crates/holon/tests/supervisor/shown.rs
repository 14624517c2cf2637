//! What people see, and that it is what was decided.

use crate::scene::{CHECK, FINISH, REPAIR, SupervisedRunScene, exec, times, verified};

/// shows: timeline, show, replay_at_another_level
#[test]
fn inv_09_supervisor_decisions_replay_byte_identically() {
    let scene = SupervisedRunScene::new();
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", times(10, &exec(CHECK))), &[]);
    played.assert(0, &["takeover:tool_repeat_fail"]);
    let page = scene.holon(&["runs", "show", "last", "--supervisor"]);
    page.assert_code(0)
        .assert_stdout("supervisor adaptive")
        .assert_stdout("├─")
        .assert_stdout("takeover:tool_repeat_fail");
    let json = scene.holon(&["runs", "show", "last", "--supervisor", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.assert_code(0).stdout).unwrap();
    assert_eq!(json["timeline"].as_array().unwrap().len(), played.records.len());
    let strict = scene.holon(&["runs", "replay", "last", "--supervisor", "strict"]);
    strict.assert_code(0).assert_stdout("replay byte for byte").assert_stdout("with level strict");
    let advise = scene.holon(&["runs", "replay", "last", "--supervisor", "advise"]);
    assert!(!advise.stdout.contains("takeover:"), "words take nothing over: {}", advise.stdout);
    let off = scene.holon(&["runs", "replay", "last", "--supervisor", "off"]);
    off.assert_stdout("0 calls blocked").assert_stdout("it would not have stopped");
    // Whoever changes one stored decision is found out.
    scene.env.leave_unverified("one stored decision is changed");
    let events = played.folder.join("evidence/events.jsonl");
    let text = std::fs::read_to_string(&events).unwrap();
    std::fs::write(&events, text.replacen("\"verdict\":\"allow\"", "\"verdict\":\"warn\"", 1)).unwrap();
    assert!(std::panic::catch_unwind(|| verified(&events)).is_err());
    let again = scene.holon(&["runs", "replay", "last", "--supervisor", "strict"]);
    again.assert_code(1).assert_stderr("do not lead to the recorded decisions");
}

/// shows: replayed_run
#[test]
fn inv_09_a_run_played_again_is_watched_as_it_was() {
    let scene = SupervisedRunScene::new();
    let script = format!("{}{REPAIR}{FINISH}", times(10, &exec(CHECK)));
    let first = scene.play("Fix src/a.txt", &script, &["--supervisor", "strict"]);
    let again = scene.holon(&["runs", "replay", "last", "--quiet"]);
    again.assert_code(0).assert_stdout("the same but for times and ids");
    let second = scene.last(again);
    assert_eq!(second.records.len(), first.records.len());
}
