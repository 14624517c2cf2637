//! Done means checked.

use crate::scene::{CHECK, FINISH, Scene, exec, turns, write};

/// shows: verification_not_yet, verification_accepted
#[test]
fn who_is_done_without_a_check_is_told_once() {
    let scene = Scene::new();
    let script = format!("{}{FINISH}- {}\n{FINISH}", turns(&[write("src/a.txt", "good")]), exec(CHECK));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(0, &["verification:not_yet"]);
}

/// shows: unverified
#[test]
fn the_second_time_it_ends_unverified_unless_the_host_finds_it_good() {
    let scene = Scene::new();
    let wrong = turns(&[write("src/a.txt", "still bad")]);
    let played = scene.play("Fix src/a.txt", &format!("{wrong}{FINISH}{FINISH}"), &[]);
    played.assert(2, &["verification:not_yet", "verification:unverified"]);
    assert_eq!(played.manifest["error"]["kind"], "unverified");
    let right = turns(&[write("src/a.txt", "good")]);
    let played = scene.play("Fix src/a.txt", &format!("{right}{FINISH}{FINISH}"), &[]);
    played.assert(0, &["verification:unverified"]);
    assert_eq!(played.manifest["metadata"]["verification"]["state"], "verified");
}

/// shows: check_failed
#[test]
fn a_check_the_user_asked_for_fails_the_run() {
    let scene = Scene::new();
    let wrong = turns(&[write("src/a.txt", "still bad"), exec(CHECK)]);
    let played = scene.play("Fix src/a.txt", &format!("{wrong}{FINISH}{FINISH}"), &["--check", CHECK]);
    played.assert(1, &["verification:not_yet", "verification:unverified"]);
}

/// shows: cannot_check
#[test]
fn a_check_that_is_not_there_is_not_demanded() {
    let scene = Scene::new();
    scene.put("tox.ini", "[testenv]\n");
    let script = turns(&[write("src/a.txt", "good"), exec("tox")]);
    let played = scene.play("Fix src/a.txt", &format!("{script}{FINISH}"), &[]);
    played.assert(0, &["check:cannot_run"]);
    assert_eq!(played.supervisor()["checks"], serde_json::json!([]));
}
