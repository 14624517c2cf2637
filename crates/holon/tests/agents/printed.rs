//! Agents that tell no events and write no files: what they print is what they hand over.

use std::fs;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, assert_unchanged, tree_state};
use serde_json::Value;

use crate::BIN;

const PLAN: &str =
    "# Plan\n\n## Goal\nG.\n\n## Context\nC.\n\n## Steps\n1. S.\n\n## Risks\nR.\n\n## Verification\nV.\n";

fn stage() -> (TestEnv, TestWorkspace) {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\ntwo\n").commit("first");
    (env, repo)
}

fn run(env: &TestEnv, repo: &TestWorkspace, mode: &str, script: &str) -> CommandEnd {
    let agent = env.agent("prints", &format!("#!/bin/sh\n{script}"));
    let call = env.holon(["run", "--mode", mode, "--goal", "Look.", "--no-auto-checks", "--out", "../out"]);
    call.arg("--agent").arg(agent).cwd(repo.path()).run()
}

fn out(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.work().join("out").join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn manifest(env: &TestEnv) -> Value {
    serde_json::from_str(&out(env, "manifest.json")).unwrap()
}

#[test]
fn what_an_agent_prints_is_what_it_hands_over() {
    let (env, repo) = stage();
    let before = tree_state(repo.path());
    let plan = format!(
        "echo 'looking around' >&2\nprintf '\\033[32mreading a.txt\\033[0m\\n'\ncat <<'END'\n{PLAN}END\n"
    );
    run(&env, &repo, "plan", &plan).assert_code(0);
    assert_eq!(out(&env, "plan.md"), PLAN);

    let review = "echo 'One thing is wrong.'\ncat <<'END'\n[{\"path\": \"a.txt\", \"line\": 2, \"body\": \"It says two.\", \"severity\": \"major\"}]\nEND\n";
    run(&env, &repo, "review", review).assert_code(0);
    let read: Value = serde_json::from_str(&out(&env, "review.json")).unwrap();
    assert_eq!((&read["verdict"], &read["findings"][0]["severity"]), (&"block".into(), &"high".into()));
    assert_eq!((&read["findings"][0]["snippet"], &read["version"]), (&"two".into(), &1.into()));
    assert_eq!(out(&env, "summary.md"), "One thing is wrong.\n");

    run(&env, &repo, "ask", "echo 'It has two lines.'\n").assert_code(0);
    assert_eq!(out(&env, "summary.md"), "It has two lines.\n");

    run(&env, &repo, "execute", "echo three >> a.txt\necho 'I added a third line.'\n").assert_code(0);
    assert_eq!(out(&env, "summary.md"), "I added a third line.\n");
    assert!(out(&env, "diff.patch").contains("+three"));
    assert_unchanged(&before, repo.path());
}

#[test]
fn a_file_beats_what_is_printed_and_silence_is_still_a_failure() {
    let (env, repo) = stage();
    let both = format!(
        "cat > \"$HOLON_OUTPUT_DIR/plan.md\" <<'END'\n{PLAN}END\necho '# Plan'\necho '## Goal'\necho another\n"
    );
    run(&env, &repo, "plan", &both).assert_code(0);
    assert_eq!(out(&env, "plan.md"), PLAN);

    run(&env, &repo, "plan", "echo 'only a complaint' >&2\n").assert_code(1);
    assert_eq!(manifest(&env)["error"]["kind"], "artifact_missing");

    // What is printed is held to the same form as a file, and asked for once more.
    run(&env, &repo, "plan", "echo 'I would change a few things.'\n").assert_code(1);
    assert_eq!(manifest(&env)["error"]["kind"], "artifact_invalid");
    let again = format!(
        "if [ -f \"$HOLON_INPUT_DIR/context/repair.md\" ]; then cat <<'END'\n{PLAN}END\nelse echo nothing yet; fi\n"
    );
    run(&env, &repo, "plan", &again).assert_code(0);
    assert_eq!(out(&env, "plan.md"), PLAN);

    // Who ends badly hands over nothing.
    run(&env, &repo, "plan", &format!("cat <<'END'\n{PLAN}END\nexit 3\n")).assert_code(1);
    assert_eq!(manifest(&env)["error"]["kind"], "agent_failed");
}
