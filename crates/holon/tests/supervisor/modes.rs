//! Free and forced: what forces a run, what that means, and how it is let go.

use crate::scene::{CHECK, FINISH, REPAIR, Scene, exec, read, turns, write};

/// shows: tool_failure, mode_exit, lock
#[test]
fn a_failed_call_forces_for_a_while() {
    let scene = Scene::new();
    let list = [read("absent.txt"), read("src/a.txt"), read("src/b.txt"), read("docs/c.md")];
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&list)), &[]);
    played.assert(0, &["mode:enter:tool_failure", "mode:exit:stable"]);
    let round = |reason: &str| played.records.iter().find(|r| r.reason == reason).map(|r| r.round);
    assert!(round("mode:exit:stable") >= round("mode:enter:tool_failure").map(|round| round + 2), "the lock");
}

/// shows: multi_write, write_targets
#[test]
fn several_files_in_one_round_force_one_file_per_call() {
    let scene = Scene::new();
    let patch =
        "*** Begin Patch\\n*** Add File: src/n3.txt\\n+x\\n*** Add File: src/n4.txt\\n+x\\n*** End Patch";
    let patch = format!("{{ tool: apply_patch, args: {{ patch: \"{patch}\" }} }}");
    let repair = "
- { tool: apply_patch, args: { patch: \"*** Begin Patch\\n*** Update File: src/a.txt\\n-bad\\n+good\\n*** End Patch\" } }
- { tool: execute, args: { command: make test } }
";
    let first = "{ tools: [{ apply_patch: { patch: \"*** Begin Patch\\n*** Add File: src/n1.txt\\n+x\\n*** End Patch\" } }, { apply_patch: { patch: \"*** Begin Patch\\n*** Add File: src/n2.txt\\n+x\\n*** End Patch\" } }] }".to_owned();
    let list = format!("{}{repair}{FINISH}", turns(&[first, patch]));
    let played = scene.play("Fix src/a.txt", &list, &["--model", "gpt-5.2-codex"]);
    played.assert(0, &["mode:enter:multi_write", "gate:block"]);
    assert!(played.whys("gate:block")[0].contains("2 files in one call"), "{:?}", played.whys("gate:block"));
    let patch = std::fs::read_to_string(played.folder.join("output/diff.patch")).unwrap();
    assert!(
        patch.contains("n2.txt") && !patch.contains("n3.txt"),
        "a blocked call is never executed: {patch}"
    );
}

/// shows: large_diff
#[test]
fn a_large_diff_by_a_command_forces() {
    let scene = Scene::new();
    let list = [exec("seq 1 300 > src/b.txt")];
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&list)), &[]);
    played.assert(0, &["mode:enter:large_diff"]);
}

/// shows: file_edits
#[test]
fn the_same_file_too_often_is_blocked() {
    let scene = Scene::new();
    let tries: Vec<String> = (0..4).map(|i| write("src/a.txt", &format!("try {i}"))).collect();
    // The first repair comes while a check is due, the second is the same edit once more, on another branch.
    let script = format!("{}{REPAIR}{REPAIR}{FINISH}", turns(&tries));
    let played = scene.play("Fix src/a.txt", &script, &["--supervisor", "strict"]);
    played.assert(0, &["gate:block", "branch_switched:budget"]);
    let whys = played.whys("gate:block");
    assert!(whys[0].contains("src/a.txt was edited 3 times"), "{whys:#?}");
}

/// shows: error_repeats
#[test]
fn the_same_error_too_often_is_blocked() {
    let scene = Scene::new();
    let list = [read("nope"), read("nope"), read("src/b.txt"), read("nope"), read("nope")];
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&list)), &[]);
    played.assert(0, &["gate:block"]);
    assert!(played.whys("gate:block")[0].contains("the same error came 3 times"));
}

/// shows: branch_switched, command_retries
#[test]
fn the_same_command_in_vain_costs_the_branch() {
    let scene = Scene::new();
    let fails = || exec("cat absent");
    let list = [
        fails(),
        read("src/a.txt"),
        fails(),
        read("src/b.txt"),
        fails(),
        read("docs/c.md"),
        fails(),
        fails(),
    ];
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&list)), &[]);
    played.assert(0, &["gate:block", "gate:warn", "branch_switched:budget"]);
    assert!(played.whys("gate:block")[0].contains("failed 2 times"));
}

/// shows: task_graph_active, pending_steps, explicit_impl, strict, graph_at_round_1, contract_block, contract_warn
#[test]
fn strict_goes_by_the_plan() {
    let scene = Scene::new();
    let beside = "{ tool: grep, args: { pattern: good } }".to_owned();
    let early =
        [write("src/a.txt", "good"), read("src/b.txt"), beside, write("src/a.txt", "good 2"), exec(CHECK)];
    let say = "- { text: It is good now. }\n";
    let played =
        scene.play("Fix src/a.txt", &format!("{}{say}{FINISH}", turns(&early)), &["--supervisor", "strict"]);
    played.assert(0, &["first_round", "gate:block", "gate:warn"]);
    assert!(played.whys("gate:warn")[0].contains("Note: the current step is verify"));
    let by = played.forced_by();
    assert!(by.iter().any(|name| name == "explicit_impl"), "{by:?}");
    let held = played.supervisor()["entered_by"].to_string();
    assert!(held.contains("task_graph_active") && held.contains("pending_steps"), "{held}");
    assert!(played.whys("gate:block")[0].contains("the current step is"), "{:?}", played.whys("gate:block"));
    assert_eq!(played.supervisor()["takeovers"], 0);
}

/// shows: engine_fail_safe
#[test]
fn an_engine_error_forces_and_says_so() {
    let scene = Scene::new();
    scene.env.leave_unverified("its secret tears the log of events apart");
    // A secret that looks like the engine's own words cannot be cleaned out of them.
    let file = scene.env.write("work/turns.yaml", format!("{REPAIR}{FINISH}"));
    let call = scene.call("Fix src/a.txt", &[]).env("HOLON_API_KEY", "\"class\":\"read\"");
    let played = scene.last(call.arg("--replay").arg(file).run());
    played.assert(0, &["engine_fail_safe", "mode:enter:engine_fail_safe"]);
}
