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

/// shows: takeover_again, cooldown_broken
#[test]
fn a_relapse_is_taken_over_again() {
    let scene = Scene::new();
    let calm = |from: usize, to: usize| -> String {
        let list: Vec<String> = (from..to).map(|i| read(&format!("f/{i}.txt"))).collect();
        turns(&list)
    };
    (0..12).for_each(|i| {
        scene.put(format!("f/{i}.txt"), "x\n");
    });
    // Reading what is new is calm for the first eight rounds; then a signal in handoff_pending leads back.
    let script = format!("{}{}{}", lost(), calm(0, 4), times(14, &exec(CHECK)));
    let played = scene.play("Fix src/a.txt", &script, &[]);
    played.assert(2, &["takeover:tool_repeat_fail"]);
    let takeovers = played.records.iter().filter(|record| record.reason.starts_with("takeover:")).count();
    assert!(takeovers >= 2 || played.has("recovery_budget:rounds"), "{takeovers}");
}

/// shows: step_queue, write_intent, human, write_intent_block, stopped
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

/// shows: strong_hint, unsafe_git
#[test]
fn a_broken_repository_gets_one_strong_hint() {
    let scene = Scene::new();
    let breaks = exec("echo x > .git/MERGE_HEAD; printf \"<<<<<<< a\\n=======\\n>>>>>>> b\\n\" > src/b.txt");
    let played = scene.play("Fix src/a.txt", &format!("- {breaks}\n{}", times(16, &exec(CHECK))), &[]);
    played.assert(2, &["recover:strong_hint", "tier:step_queue"]);
}
