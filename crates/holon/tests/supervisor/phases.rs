//! Taking over, handing back, and the end of patience.

use crate::scene::{CHECK, FINISH, REPAIR, SupervisedRunScene, exec, read, times, turns};

fn lost() -> String {
    times(10, &exec(CHECK))
}

/// shows: notice, advice, takeover, handoff_pending, cooldown, free, extension
#[test]
fn a_repaired_run_is_handed_back() {
    let scene = SupervisedRunScene::new();
    for at in 0..8 {
        scene.put(format!("docs/n{at}.md"), &format!("{at}\n"));
    }
    let calm: Vec<String> = (0..8).map(|at| read(&format!("docs/n{at}.md"))).collect();
    let script = format!("{}{REPAIR}{}{FINISH}", lost(), turns(&calm));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(
        0,
        &[
            "notice:tool_repeat_fail",
            "advice:tool_repeat_fail",
            "takeover:tool_repeat_fail",
            "recover:extended",
            "handoff:stable",
            "handoff:confirmed",
            "handoff:cooled_down",
        ],
    );
    let round = |reason: &str| played.records.iter().find(|r| r.reason == reason).map(|r| r.round);
    assert!(round("notice:tool_repeat_fail") < round("advice:tool_repeat_fail"));
    assert!(
        round("advice:tool_repeat_fail") < round("takeover:tool_repeat_fail"),
        "each needs more than the last"
    );
    assert_eq!(
        (&played.supervisor()["phase"], &played.supervisor()["takeovers"]),
        (&"free".into(), &1.into())
    );
}

/// shows: token_budget
#[test]
fn a_takeover_may_use_a_part_of_the_tokens() {
    let scene = SupervisedRunScene::new();
    // Thirty percent of forty rounds with a full window, and no more.
    let costly = "{ tool: execute, args: { command: make test }, usage: { input: 700000, output: 5 } }";
    let played = scene.play("Fix src/a.txt", &times(20, costly), &["--max-rounds", "40"]);
    played.assert(2, &["takeover:tool_repeat_fail", "recovery_budget:tokens"]);
}

/// shows: strong_hint, unsafe_git
#[test]
fn a_broken_repository_is_settled_first() {
    let scene = SupervisedRunScene::new();
    let breaks = exec("echo x > .git/MERGE_HEAD; printf \"<<<<<<< a\\n=======\\n>>>>>>> b\\n\" > src/b.txt");
    let played = scene.play("Fix src/a.txt", &format!("- {breaks}\n{}", times(30, &exec(CHECK))), &[]);
    played.assert(2, &["recover:strong_hint"]);
}
