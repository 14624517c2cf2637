//! Ways of being lost, each seen in a run, and what adaptive does about them.

use crate::scene::{CHECK, FINISH, REPAIR, Scene, exec, read, times, turns, write};

/// shows: adaptive, tool_repeat_fail, takeover, takeover_text, user_checkpoint
#[test]
fn the_same_failure_again_and_again() {
    let scene = Scene::new();
    let played = scene.play("Fix src/a.txt", &times(14, &exec(CHECK)), &[]);
    played.assert(
        2,
        &[
            "drift:tool_repeat_fail",
            "takeover:tool_repeat_fail",
            "recover:template_graph",
            "recovery_budget:rounds",
        ],
    );
    assert_eq!(played.manifest["error"]["kind"], "checkpoint");
    let summary = std::fs::read_to_string(played.folder.join("output/summary.md")).unwrap();
    assert!(summary.contains("a person has to look"), "{summary}");
    assert!(summary.contains("`make test` fails: a is good"), "{summary}");
}

/// shows: no_progress, recover_check
#[test]
fn nothing_new_round_after_round() {
    let scene = Scene::new();
    let lost = times(9, &read("src/b.txt"));
    let heard = "- { expect: { last: ['[System Recovery]', 'make test', 'a is good', 'Next step'] }, tool: read_file, args: { path: src/a.txt } }\n";
    let played = scene.play("Fix src/a.txt", &format!("{lost}{heard}{REPAIR}{FINISH}"), &[]);
    // Nobody had run the check: the takeover does, and says what fails.
    played.assert(0, &["drift:no_progress", "takeover:no_progress", "recover:check"]);
}

/// shows: file_loop
#[test]
fn one_file_in_circles() {
    let scene = Scene::new();
    let lost: Vec<String> =
        (0..6).flat_map(|i| [write("src/a.txt", &format!("try {i}")), exec(CHECK)]).collect();
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&lost)), &[]);
    played.assert(0, &["drift:file_loop", "takeover:file_loop"]);
}

/// shows: alternation
#[test]
fn two_calls_in_turn() {
    let scene = Scene::new();
    let lost: Vec<String> = (0..7).flat_map(|_| [read("src/b.txt"), exec("ls docs")]).collect();
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&lost)), &[]);
    played.assert(0, &["drift:alternation"]);
    assert!(played.has("takeover:alternation") || played.has("takeover:no_progress"));
}

/// shows: goal_drift
#[test]
fn drifting_away_from_what_was_named() {
    let scene = Scene::new();
    let lost: Vec<String> = (0..6).map(|i| write(&format!("docs/n{i}.md"), "x")).collect();
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&lost)), &[]);
    played.assert(0, &["drift:goal_drift", "takeover:goal_drift"]);
}

/// shows: scope_creep
#[test]
fn far_more_files_than_were_named() {
    let scene = Scene::new();
    let lost: Vec<String> = (0..8).map(|i| write(&format!("src/n{i}.txt"), "x")).collect();
    // What was changed so far counts as an edit, so the plan wants to see a check next.
    let script = format!("{}- {}\n{REPAIR}{FINISH}", turns(&lost), exec(CHECK));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(0, &["drift:scope_creep", "takeover:scope_creep"]);
}

/// shows: observation
#[test]
fn a_plan_is_never_taken_over() {
    let scene = Scene::new();
    let lost = times(12, &read("src/b.txt"));
    let plan = "- tool: report_plan\n  args: { goal: g, context: c, steps: [{ id: one, title: t, detail: d }], risks: [r], verification: v }\n";
    let played = scene.play("Fix src/a.txt", &format!("{lost}{plan}{FINISH}"), &["--mode", "plan"]);
    played.assert(0, &["drift:no_progress"]);
    assert_eq!(played.supervisor()["takeovers"], 0);
}
