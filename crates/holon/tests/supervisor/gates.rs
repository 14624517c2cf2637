//! Done means checked.

use crate::scene::{CHECK, FINISH, SupervisedRunScene, exec, read, turns, write};

/// shows: verification_not_yet, verification_accepted
#[test]
fn who_is_done_and_right_is_not_asked_to_show_it() {
    let scene = SupervisedRunScene::new();
    let played =
        scene.play("Fix src/a.txt", &format!("{}{FINISH}", turns(&[write("src/a.txt", "good")])), &[]);
    played.assert(0, &["recover:check"]);
    assert!(!played.has("verification:not_yet"));
    let wrong = turns(&[write("src/a.txt", "still bad")]);
    let script = format!("{wrong}{FINISH}- {}\n{FINISH}", write("src/a.txt", "good"));
    scene.play("Fix src/a.txt", &script, &[]).assert(0, &["recover:check", "verification:not_yet"]);
}

/// shows: unverified
#[test]
fn the_second_time_it_ends_unverified() {
    let scene = SupervisedRunScene::new();
    let wrong = turns(&[write("src/a.txt", "still bad")]);
    let played = scene.play("Fix src/a.txt", &format!("{wrong}{FINISH}{FINISH}"), &[]);
    played.assert(2, &["verification:not_yet", "verification:unverified"]);
    assert_eq!(played.manifest["error"]["kind"], "unverified");
}

/// shows: red_before
#[test]
fn what_was_red_before_is_nobodys_fault() {
    let scene = SupervisedRunScene::new();
    scene.put("Makefile", "test:\n\t@echo 'not ok 1 - legacy dates'; exit 1\n");
    let other = turns(&[exec(CHECK), write("src/b.txt", "more"), exec(CHECK)]);
    let played = scene.play("Write more into src/b.txt", &format!("{other}{FINISH}"), &[]);
    assert!(!played.has("verification:not_yet"), "it was seen to be red before");
    let unseen = turns(&[write("src/b.txt", "more")]);
    let played = scene.play("Write more into src/b.txt", &format!("{unseen}{FINISH}{FINISH}"), &[]);
    // Nobody knew, and the agent has not seen it: whoever compares finds that nothing is worse.
    played.assert(0, &["recover:check"]);
    assert!(!played.has("verification:not_yet"));
}

/// shows: unknown_runner
#[test]
fn a_runner_nobody_knows_counts_by_what_the_agent_goes_by() {
    let scene = SupervisedRunScene::new();
    std::fs::remove_file(scene.repo.join("Makefile")).unwrap();
    scene.put("verify", "grep -q good src/a.txt || { echo 'error: a is not good'; exit 1; }\n");
    let wrong = [write("src/a.txt", "worse"), exec("sh verify")];
    let heard = "- { expect: { last: ['Not verified', 'sh verify', 'a is not good', 'Next step'] }, tool: write_file, args: { path: src/a.txt, content: good } }\n";
    let script = format!("{}{FINISH}{heard}- {}\n{FINISH}", turns(&wrong), exec("sh verify"));
    scene.play("Make it good", &script, &[]).assert(0, &["verification:not_yet"]);
}

/// shows: check_failed
#[test]
fn a_check_the_user_asked_for_fails_the_run() {
    let scene = SupervisedRunScene::new();
    let wrong = turns(&[write("src/a.txt", "still bad"), exec(CHECK)]);
    let played = scene.play("Fix src/a.txt", &format!("{wrong}{FINISH}{FINISH}"), &["--check", CHECK]);
    played.assert(1, &["verification:not_yet", "verification:unverified"]);
}

/// shows: cannot_check
#[test]
fn a_check_that_is_not_there_is_not_demanded() {
    let scene = SupervisedRunScene::new();
    scene.put("tox.ini", "[testenv]\n");
    let script = turns(&[write("src/a.txt", "good"), exec("tox")]);
    let played = scene.play("Fix src/a.txt", &format!("{script}{FINISH}"), &[]);
    played.assert(0, &["check:cannot_run"]);
    assert_eq!(played.supervisor()["checks"], serde_json::json!([]));
}

/// shows: look_first
#[test]
fn who_is_done_without_having_done_anything_is_looked_after() {
    let scene = SupervisedRunScene::new();
    let idle = turns(&[read("src/a.txt")]);
    let heard = "- { expect: { last: ['Not verified', 'a is good', 'Next step'] }, tool: write_file, args: { path: src/a.txt, content: good } }\n";
    let script = format!("{idle}{FINISH}{heard}- {}\n{FINISH}", exec(CHECK));
    scene.play("Fix src/a.txt", &script, &[]).assert(0, &["recover:check", "verification:not_yet"]);
    // Where nothing fails, nothing is said, and no round is lost.
    scene.put("src/a.txt", "good\n");
    let played = scene.play("Fix src/a.txt", &format!("{idle}{FINISH}"), &[]);
    played.assert(0, &["recover:check"]);
    assert!(!played.has("verification:not_yet"));
}

/// shows: gave_up
#[test]
fn who_gives_up_is_told_once_what_is_left() {
    let scene = SupervisedRunScene::new();
    let gives_up = "- { tool: finish, args: { summary: It cannot be done., status: failed } }\n";
    let script = format!("- {}\n{gives_up}{gives_up}", exec(CHECK));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(2, &["verification:not_yet", "verification:gave_up"]);
    let summary = std::fs::read_to_string(played.folder.join("output/summary.md")).unwrap();
    assert!(summary.contains("gave up") && summary.contains("a is good"), "{summary}");
    let person = "- { tool: finish, args: { summary: Who knows., status: needs_person } }\n";
    let played = scene.play("Fix src/a.txt", &format!("- {}\n{person}", exec(CHECK)), &[]);
    assert!(!played.has("verification:not_yet"), "who asks for a person gets one");
}

/// shows: weakened_tests
#[test]
fn a_test_that_was_weakened_proves_nothing() {
    let scene = SupervisedRunScene::new();
    scene.put("Makefile", "test:\n\t@sh tests/test_a.sh\n");
    scene.put("tests/test_a.sh", "grep -q good src/a.txt || { echo 'FAIL: a is good'; exit 1; }\n");
    let weaken = [exec(CHECK), write("tests/test_a.sh", "true"), exec(CHECK)];
    let script = format!("{}{FINISH}{FINISH}", turns(&weaken));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(2, &["verification:not_yet"]);
    let error = played.manifest["error"]["message"].as_str().unwrap();
    assert!(error.contains("only tests were changed") && error.contains("tests/test_a.sh"), "{error}");
}

/// shows: luck
#[test]
fn a_check_that_passes_by_luck_proves_nothing() {
    let scene = SupervisedRunScene::new();
    let flaky =
        "test:\n\t@test -e /tmp/again || { touch /tmp/again; echo 'not ok 1 - it is stable'; exit 1; }\n";
    scene.put("Makefile", flaky);
    let script = turns(&[exec(CHECK), exec(CHECK)]);
    let more = format!(
        "- {{ expect: {{ last: [luck, it is stable] }}, tool: execute, args: {{ command: {CHECK} }} }}\n"
    );
    let script = format!("{script}{FINISH}{more}- {}\n{FINISH}", exec(CHECK));
    scene.play("Fix the flaky check", &script, &[]).assert(0, &["verification:not_yet"]);
}

/// shows: background_job
#[test]
fn what_a_background_job_changes_counts() {
    let scene = SupervisedRunScene::new();
    let job = "{ tool: execute, args: { command: 'while test ! -e /tmp/go; do sleep 0.02; done; echo worse > src/a.txt', background: true } }".to_owned();
    let wait = "{ tool: job, args: { job: 1, wait: 20 } }".to_owned();
    let go = "{ tools: [{ execute: { command: touch /tmp/go } }, { job: { job: 1, wait: 20 } }] }".to_owned();
    let first = turns(&[write("src/a.txt", "good"), job, exec(CHECK), go, wait]);
    let script = format!("{first}{FINISH}- {}\n- {}\n{FINISH}", write("src/a.txt", "good"), exec(CHECK));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    // The check was green, and is not any more: the job came after it.
    played.assert(0, &["recover:check", "verification:not_yet"]);
}
