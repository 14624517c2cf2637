//! Ways of being lost, each seen in a run, and what adaptive does about them; and healthy work that looks alike.

use crate::scene::{CHECK, FINISH, REPAIR, SupervisedRunScene, exec, read, times, turns, write};

/// shows: adaptive, tool_repeat_fail, takeover, takeover_text, user_checkpoint
#[test]
fn the_same_failure_again_and_again() {
    let scene = SupervisedRunScene::new();
    let played = scene.play("Fix src/a.txt", &times(30, &exec(CHECK)), &[]);
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
    assert!(summary.contains("## What was noticed") && summary.contains("the same failure"), "{summary}");
    assert!(summary.contains("`make test` fails: a is good"), "{summary}");
}

/// shows: no_progress, recover_check
#[test]
fn nothing_new_round_after_round() {
    let scene = SupervisedRunScene::new();
    let lost = times(8, &read("src/b.txt"));
    let heard = "- { expect: { last: ['[System Recovery]', 'make test', 'a is good', 'Next step'] }, tool: read_file, args: { path: src/a.txt } }\n";
    let played = scene.play("Fix src/a.txt", &format!("{lost}{heard}{REPAIR}{FINISH}"), &[]);
    // Nobody had run the check: advice begins with it, and says what fails.
    played.assert(0, &["drift:no_progress", "advice:no_progress", "recover:check"]);
    assert_eq!(played.supervisor()["takeovers"], 0);
}

/// shows: file_loop
#[test]
fn a_check_that_fails_as_before_whatever_is_changed() {
    let scene = SupervisedRunScene::new();
    let lost: Vec<String> =
        (0..9).flat_map(|i| [write("src/a.txt", &format!("try {i}")), exec(CHECK)]).collect();
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&lost)), &[]);
    played.assert(0, &["drift:file_loop", "takeover:file_loop"]);
}

/// shows: unhealed
#[test]
fn ever_more_files_and_nothing_repaired() {
    let scene = SupervisedRunScene::new();
    let lost: Vec<String> = (0..16).map(|i| write(&format!("docs/n{i}.md"), "x")).collect();
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&lost)), &[]);
    played.assert(0, &["drift:unhealed", "takeover:unhealed"]);
}

/// shows: polishing
#[test]
fn polishing_after_green() {
    let scene = SupervisedRunScene::new();
    let lost: Vec<String> = (0..10).map(|i| write("src/a.txt", &format!("good {i}"))).collect();
    let script = format!("{REPAIR}{}- {}\n{FINISH}", turns(&lost), exec(CHECK));
    scene.play("Fix src/a.txt", &script, &[]).assert(0, &["notice:polishing"]);
}

/// shows: malformed
#[test]
fn calls_that_cannot_be_read() {
    let scene = SupervisedRunScene::new();
    let lost = times(4, "{ tool: read_everything, args: { path: src } }");
    scene.play("Fix src/a.txt", &format!("{lost}{REPAIR}{FINISH}"), &[]).assert(0, &["notice:malformed"]);
}

/// shows: budget_ending
#[test]
fn rounds_that_are_about_to_end() {
    let scene = SupervisedRunScene::new();
    for at in 0..16 {
        scene.put(format!("docs/n{at}.md"), &format!("{at}\n"));
    }
    let reads: Vec<String> = (0..16).map(|at| read(&format!("docs/n{at}.md"))).collect();
    let script = format!("{}{REPAIR}{FINISH}", turns(&reads));
    let played = scene.play("Fix src/a.txt", &script, &["--max-rounds", "20"]);
    played.assert(0, &["advice:budget_ending"]);
    assert_eq!(played.supervisor()["takeovers"], 0);
}

/// shows: observation
#[test]
fn a_plan_is_never_taken_over() {
    let scene = SupervisedRunScene::new();
    let lost = times(20, &read("src/b.txt"));
    let plan = "- tool: report_plan\n  args: { goal: g, context: c, steps: [{ id: one, title: t, detail: d }], risks: [r], verification: v }\n";
    let played = scene.play("Fix src/a.txt", &format!("{lost}{plan}{FINISH}"), &["--mode", "plan"]);
    played.assert(0, &["drift:no_progress"]);
    assert_eq!(played.supervisor()["takeovers"], 0);
}

/// shows: healthy
#[test]
fn healthy_work_hears_nothing() {
    let scene = SupervisedRunScene::new();
    for at in 0..30 {
        scene.put(format!("lib/f{at}.txt"), &format!("old {at}\n"));
    }
    let explores: Vec<String> = (0..20).map(|at| exec(&format!("cat lib/f{at}.txt"))).collect();
    let renames: Vec<String> =
        (0..30).map(|at| write(&format!("lib/f{at}.txt"), &format!("new {at}"))).collect();
    let script = format!("{}{}{REPAIR}{FINISH}", turns(&explores), turns(&renames));
    for level in ["advise", "adaptive"] {
        let played = scene.play(
            "Rename old to new in lib, and make src/a.txt say good",
            &script,
            &["--supervisor", level, "--max-rounds", "100"],
        );
        played.assert(0, &[]);
        let said = (&played.supervisor()["corrections"], &played.supervisor()["blocked"]);
        assert_eq!(said, (&0.into(), &0.into()), "{:#}", played.supervisor());
    }
}

/// shows: advise
#[test]
fn words_alone_deny_nothing_and_stop_nothing() {
    let scene = SupervisedRunScene::new();
    let played = scene.play(
        "Fix src/a.txt",
        &format!("{}{REPAIR}{FINISH}", times(24, &exec(CHECK))),
        &["--supervisor", "advise"],
    );
    played.assert(0, &["advice:tool_repeat_fail"]);
    assert_eq!((&played.supervisor()["takeovers"], &played.supervisor()["blocked"]), (&0.into(), &0.into()));
}
