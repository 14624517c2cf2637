//! What may be denied, and what may not.

use crate::scene::{CHECK, FINISH, REPAIR, SupervisedRunScene, exec, read, times, turns, write};

/// shows: futile
#[test]
fn only_what_is_proven_futile_is_denied_and_only_once() {
    let scene = SupervisedRunScene::new();
    let lost = times(9, &exec("cat absent"));
    let played = scene.play("Fix src/a.txt", &format!("{lost}{REPAIR}{FINISH}"), &[]);
    played.assert(0, &["notice:tool_repeat_fail", "advice:tool_repeat_fail", "gate:block"]);
    let whys = played.whys("gate:block");
    assert!(
        whys.len() == 1 && whys[0].contains("`cat absent` failed") && whys[0].contains("exit code 1"),
        "{whys:?}"
    );
}

/// shows: retry_after_a_change
#[test]
fn a_check_after_a_change_is_never_denied() {
    let scene = SupervisedRunScene::new();
    let tries: Vec<String> =
        (0..9).flat_map(|i| [write("src/a.txt", &format!("try {i}")), exec(CHECK)]).collect();
    let played = scene.play("Fix src/a.txt", &format!("{}{REPAIR}{FINISH}", turns(&tries)), &[]);
    played.assert(0, &["takeover:file_loop"]);
    assert!(!played.has("gate:block"), "{:?}", played.whys("gate:block"));
}

/// shows: strict, graph_at_round_1, milestone
#[test]
fn strict_has_a_plan_and_wants_proof_on_the_way() {
    let scene = SupervisedRunScene::new();
    let mut early = vec![write("src/a.txt", "good")];
    early.extend((0..5).map(|i| write(&format!("src/n{i}.txt"), "x")));
    let played = scene.play(
        "Make src/a.txt say good",
        &format!("{}{FINISH}", turns(&early)),
        &["--supervisor", "strict"],
    );
    played.assert(0, &["first_round", "recover:check"]);
    assert!(!played.has("gate:block") && !played.has("verification:not_yet"));
    assert_eq!(played.supervisor()["takeovers"], 0);
}

/// shows: contract_block, contract_warn
#[test]
fn steps_are_closed_only_where_that_is_asked_for() {
    let scene = SupervisedRunScene::new();
    scene.put("holon.toml", "[supervisor]\nlevel = 'strict'\ncontracts = 'enforce'\n");
    let beside = "{ tool: grep, args: { pattern: good } }".to_owned();
    let early =
        [write("src/b.txt", "b"), read("src/a.txt"), read("src/b.txt"), write("src/a.txt", "good"), beside];
    let goal = format!("Improve src/a.txt and src/b.txt {}", "a lot ".repeat(3));
    let script = format!("{}- {}\n- {{ text: It is good now. }}\n{FINISH}", turns(&early), exec(CHECK));
    let played = scene.play(&goal, &script, &[]);
    played.assert(0, &["gate:block"]);
    assert!(played.whys("gate:block")[0].contains("the current step is"), "{:?}", played.whys("gate:block"));
    scene.put("holon.toml", "[supervisor]\nlevel = 'strict'\n");
    let played = scene.play(&goal, &script, &[]);
    played.assert(0, &[]);
    assert!(!played.has("gate:block"));
}

/// shows: engine_fail_safe
#[test]
fn an_engine_error_is_said() {
    let scene = SupervisedRunScene::new();
    scene.env.leave_unverified("its secret tears the log of events apart");
    // A secret that looks like the engine's own words cannot be cleaned out of them.
    let file = scene.env.write("work/turns.yaml", format!("{REPAIR}{FINISH}"));
    let call = scene.call("Fix src/a.txt", &[]).env("HOLON_API_KEY", "\"class\":\"read\"");
    let played = scene.last(call.arg("--replay").arg(file).run());
    played.assert(0, &["engine_fail_safe"]);
}
