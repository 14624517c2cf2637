//! The host believes what it checked, not what it was told.

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace};
use serde_json::Value;

use crate::stage::{self, BIN, artifact, ended, events, of_type};

/// A run that nobody watches over: what counts here is what the host finds out by itself.
fn play(env: &TestEnv, repo: &TestWorkspace, mode: &str, cassette: &str, more: &[&str]) -> CommandEnd {
    stage::play(env, repo, mode, cassette, &[more, &["--supervisor", "off"]].concat())
}

fn claiming(edit: &str) -> String {
    format!("- {edit}\n- tool: finish\n  args: {{ summary: \"Changed it. All tests pass.\" }}\n")
}

const EDIT: &str = "tool: edit_file\n  args: { path: a.txt, old: one, new: two }";

fn with_makefile(env: &TestEnv, test: &str) -> TestWorkspace {
    env.repo().file("a.txt", "one\n").file("Makefile", format!("test:\n\t{test}\n")).commit("first")
}

fn warnings(manifest: &Value) -> String {
    manifest["metadata"]["warnings"].to_string()
}

#[test]
fn a_claim_without_a_check_is_unverified() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let manifest = ended(&env, &play(&env, &repo, "execute", &claiming(EDIT), &[]), 0);
    let known = &manifest["metadata"]["verification"];
    assert_eq!(known["state"], "unverified", "{manifest:#}");
    assert_eq!(known["claims"][0], "All tests pass");
    assert!(warnings(&manifest).contains("no check of the host"), "{manifest:#}");
    // Nothing claimed, nothing known.
    let modest = claiming(EDIT).replace(" All tests pass.", "");
    let manifest = ended(&env, &play(&env, &repo, "execute", &modest, &[]), 0);
    assert_eq!(manifest["metadata"]["verification"]["state"], "not_checked");
}

#[test]
fn the_repositorys_own_test_verifies_or_contradicts() {
    for (test, state, warned) in
        [("grep -q two a.txt", "verified", false), ("grep -q three a.txt", "failing_as_before", true)]
    {
        let env = TestEnv::new(BIN);
        let repo = with_makefile(&env, test);
        let output = play(&env, &repo, "execute", &claiming(EDIT), &[]);
        // Nobody asked for it, so it is told and does not decide.
        let manifest = ended(&env, &output, 0);
        let known = &manifest["metadata"]["verification"];
        assert_eq!(known["state"], state, "{manifest:#}");
        assert_eq!(known["checks"][0]["command"], "make test");
        assert_eq!(known["checks"][0]["origin"], "found");
        assert_eq!(warnings(&manifest).contains("make test"), warned, "{manifest:#}");
        let left_out = play(&env, &repo, "execute", &claiming(EDIT), &["--no-auto-checks"]);
        assert_eq!(ended(&env, &left_out, 0)["metadata"]["verification"]["state"], "unverified");
    }
}

#[test]
fn a_failing_check_that_was_asked_for_is_a_failure_whatever_the_model_says() {
    let env = TestEnv::new(BIN);
    let repo = with_makefile(&env, "true");
    let output =
        play(&env, &repo, "execute", &claiming(EDIT), &["--check", "true", "--check", "grep three a.txt"]);
    let manifest = ended(&env, &output, 1);
    assert_eq!(manifest["error"]["kind"], "check_failed", "{manifest:#}");
    assert_eq!(manifest["metadata"]["verification"]["state"], "failed");
    output.assert_stderr("grep three a.txt");
    assert!(artifact(&env, "diff.patch").contains("+two"), "what was made is kept");
    // Also when nothing was changed.
    let idle = "- tool: finish\n  args: { summary: All tests pass. }\n";
    let output = play(&env, &repo, "execute", idle, &["--check", "false"]);
    assert_eq!(ended(&env, &output, 1)["no_changes"], true);
    // And when the model itself ran it and saw it fail.
    let honest =
        "- tool: execute\n  args: { command: 'false' }\n- tool: finish\n  args: { summary: It fails. }\n";
    ended(&env, &play(&env, &repo, "execute", honest, &["--check", "false"]), 1);
}

#[test]
fn a_supervised_model_must_look_before_it_finishes() {
    let env = TestEnv::new(BIN);
    let repo = with_makefile(&env, "grep -q two a.txt");
    let script = format!(
        "{}- expect: {{ last: [Not verified, make test] }}\n  tool: execute\n  args: {{ command: make test }}\n\
         - tool: finish\n  args: {{ summary: Now all tests pass. }}\n",
        claiming(EDIT)
    );
    let manifest = ended(&env, &stage::play(&env, &repo, "execute", &script, &[]), 0);
    assert_eq!(manifest["metadata"]["verification"]["state"], "verified", "{manifest:#}");
    assert_eq!(of_type(&events(&env), "check_ran").len(), 1, "and the host looks for itself");
}

#[test]
fn a_check_sees_the_result_and_cannot_change_it() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let check =
        "grep -q two a.txt && echo three > a.txt && echo x > new.txt && ! grep -rq sk-or- /proc/self/environ";
    let manifest = ended(&env, &play(&env, &repo, "execute", &claiming(EDIT), &["--check", check]), 0);
    assert_eq!(manifest["metadata"]["verification"]["state"], "verified");
    let patch = artifact(&env, "diff.patch");
    assert!(patch.contains("+two") && !patch.contains("three") && !patch.contains("new.txt"), "{patch}");
    assert_eq!(repo.read("a.txt"), b"one\n");
}

#[test]
fn weaker_tests_are_pointed_out() {
    let tests =
        "def test_a():\n    assert 1 + 1 == 2\n    assert 2 + 2 == 4\n\ndef test_b():\n    assert True\n";
    let cases = [
        ("tool: delete_file\n  args: { path: test_sums.py }", "test_sums.py"),
        (
            "tool: edit_file\n  args: { path: test_sums.py, old: \"    assert 2 + 2 == 4\\n\", new: \"\" }",
            "test_sums.py",
        ),
        (
            "tool: edit_file\n  args: { path: test_sums.py, old: \"def test_b\", new: \"@pytest.mark.skip\\ndef test_b\" }",
            "skip",
        ),
    ];
    for (edit, word) in cases {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("test_sums.py", tests).commit("first");
        let output = play(&env, &repo, "execute", &claiming(edit), &["--no-auto-checks"]);
        let manifest = ended(&env, &output, 0);
        let weakened = manifest["metadata"]["verification"]["weakened"].as_array();
        assert_eq!(weakened.map(Vec::len), Some(1), "{edit}: {manifest:#}");
        assert!(warnings(&manifest).contains("weaker tests"), "{manifest:#}");
        assert!(warnings(&manifest).contains(word), "{manifest:#}");
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(said.contains("weaker tests"), "a person is told: {said}");
    }
}
