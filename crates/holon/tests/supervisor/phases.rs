//! Taking over, handing back, taking over again, and the end of patience.

use crate::scene::{CHECK, FINISH, REPAIR, Scene, exec, read, times, turns, write};

fn lost() -> String {
    times(4, &exec(CHECK))
}

/// shows: takeover, handoff_pending, cooldown, free, extension
#[test]
fn a_repaired_run_is_handed_back() {
    let scene = Scene::new();
    // The plan is at its end: who wants more says so once, and the model leads again.
    let more = write("src/a.txt", "good and better");
    let calm = [more.clone(), more, exec(CHECK), read("docs/c.md"), read("src/b.txt"), read("Makefile")];
    let script = format!("{}{REPAIR}{}{FINISH}", lost(), turns(&calm));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(
        0,
        &[
            "takeover:tool_repeat_fail",
            "recover:extended",
            "handoff:stable",
            "handoff:confirmed",
            "handoff:cooled_down",
        ],
    );
    assert_eq!(
        (&played.supervisor()["phase"], &played.supervisor()["takeovers"]),
        (&"free".into(), &1.into())
    );
}

/// shows: takeover_again
#[test]
fn a_relapse_before_handing_back_is_taken_over_again() {
    let scene = Scene::new();
    // Reading what is new is calm; reading the same again is not.
    let calm = turns(&[read("src/a.txt"), read("src/b.txt"), read("docs/c.md")]);
    let script = format!("{}{calm}{}", lost(), times(14, &read("docs/c.md")));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(
        2,
        &["takeover:tool_repeat_fail", "handoff:stable", "takeover:no_progress", "recovery_budget:rounds"],
    );
    assert_eq!(played.supervisor()["takeovers"], 1, "it is still the same one, with the same budget");
}

/// shows: cooldown_broken
#[test]
fn a_strong_signal_ends_a_cooldown() {
    let scene = Scene::new();
    let more = write("src/a.txt", "good and better");
    let broken = format!("{{ tools: [{}] }}", ["{ read_file: { path: nope } }"; 6].join(", "));
    let script = format!("{}{REPAIR}{}{FINISH}", lost(), turns(&[more.clone(), more, broken, exec(CHECK)]));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(0, &["handoff:confirmed", "handoff:cooldown_broken"]);
    assert_eq!(played.supervisor()["takeovers"], 2);
}

/// shows: step_queue, write_intent, human, write_intent_block
#[test]
fn less_and_less_is_left_to_choose_from() {
    let scene = Scene::new();
    // By the plan and never right: the graph fails, then its steps, then the named paths, then a person is asked.
    let list: Vec<String> = (0..60)
        .flat_map(|i| {
            [
                read("src/a.txt"),
                write("src/a.txt", &format!("try {i}")),
                write("docs/c.md", &format!("{i}")),
                exec(CHECK),
            ]
        })
        .collect();
    let played =
        scene.play("Fix src/a.txt", &turns(&list), &["--supervisor", "strict", "--max-rounds", "100"]);
    played.assert(2, &["tier:step_queue", "tier:write_intent", "tier:human"]);
    let whys = played.whys("gate:block");
    assert!(whys.iter().any(|why| why.contains("only paths that goal or plan name")), "{whys:#?}");
}

/// shows: token_budget
#[test]
fn a_takeover_may_use_a_part_of_the_tokens() {
    let scene = Scene::new();
    // Thirty percent of twenty rounds with a full window, and no more.
    let costly = "{ tool: execute, args: { command: make test }, usage: { input: 300000, output: 5 } }";
    let played = scene.play("Fix src/a.txt", &times(14, costly), &["--max-rounds", "20"]);
    played.assert(2, &["takeover:tool_repeat_fail", "recovery_budget:tokens"]);
}

/// shows: relapses
#[test]
fn takeovers_that_come_to_nothing_end_the_run() {
    let scene = Scene::new();
    for at in 0..40 {
        scene.put(format!("src/n{at}.txt"), "x\n");
    }
    // Lost, then busy with something new, and lost again: nothing is ever verified.
    let lost = times(9, &read("docs/c.md"));
    let calm = |from: usize| -> String {
        turns(&(from..from + 8).map(|at| write(&format!("src/new/{at}.txt"), "new")).collect::<Vec<_>>())
    };
    let script = format!("{lost}{}{lost}{}{lost}{lost}", calm(0), calm(10));
    let played = scene.play("Fill the new folder with what belongs there", &script, &["--no-auto-checks"]);
    played.assert(2, &["handoff:cooled_down", "recovery_budget:relapses"]);
}

/// shows: stopped
#[test]
fn after_a_stop_nothing_is_executed() {
    let scene = Scene::new();
    // By the plan and never right, until only the named paths are left; then the same command in vain.
    let mut list: Vec<String> = (0..40)
        .flat_map(|i| [read("src/a.txt"), write("src/a.txt", &format!("try {i}")), exec(CHECK)])
        .collect();
    let strict = ["--supervisor", "strict", "--max-rounds", "150"];
    let first = scene.play("Fix src/a.txt", &turns(&list), &strict);
    let round = first.records.iter().find(|r| r.reason == "tier:write_intent").expect("that far").round;
    list.truncate(round as usize);
    let fails = ["{ execute: { command: cat absent } }"; 4].join(", ");
    list.push(format!("{{ tools: [{fails}, {{ execute: {{ command: touch src/after }} }}] }}"));
    let played = scene.play("Fix src/a.txt", &turns(&list), &strict);
    played.assert(2, &["tier:human"]);
    let stopped = played.records.iter().filter(|r| r.payload["rule"] == "stopped").count();
    assert_eq!(stopped, 2, "the call that stopped it, and the one after it");
    let patch = std::fs::read_to_string(played.folder.join("output/diff.patch")).unwrap_or_default();
    assert!(!patch.contains("src/after"), "{patch}");
}

/// shows: strong_hint, unsafe_git
#[test]
fn a_broken_repository_gets_one_strong_hint() {
    let scene = Scene::new();
    let breaks = exec("echo x > .git/MERGE_HEAD; printf \"<<<<<<< a\\n=======\\n>>>>>>> b\\n\" > src/b.txt");
    let played = scene.play("Fix src/a.txt", &format!("- {breaks}\n{}", times(16, &exec(CHECK))), &[]);
    played.assert(2, &["recover:strong_hint", "tier:step_queue"]);
}
