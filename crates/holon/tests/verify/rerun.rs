//! Checks once more from base and patch: the same answer wherever the workspace is by then, and every difference told.

use std::fs;

use holon_testkit::{TestEnv, TestWorkspace};
use serde_json::Value;

use crate::attest::ssh_key;
use crate::runs::BIN;

const AGENT: &str =
    "#!/bin/sh\nsed -i s/one/two/ word.txt\necho x > new.txt\necho Done. > $HOLON_OUTPUT_DIR/summary.md\n";

/// A repository in which something the repository ignores is needed by one of the checks.
fn repo(env: &TestEnv) -> TestWorkspace {
    env.repo()
        .file("word.txt", "one\n")
        .file("test.sh", "echo 1..2; grep -q two word.txt && echo ok 1 - word || echo not ok 1 - word\ntest -f new.txt && echo ok 2 - new\n")
        .file(".gitignore", "local.flag\nnode_modules\n")
        .commit("first")
}

fn run(env: &TestEnv, repo: &TestWorkspace, checks: &[&str]) {
    let agent = env.agent("agent.sh", AGENT);
    let out = env.work().join("out");
    let _ = fs::remove_dir_all(&out);
    let mut call = env.holon(["run", "--goal", "Say two", "--agent"]).arg(agent).arg("--out").arg(out);
    for check in checks {
        call = call.args(["--check", check]);
    }
    call.cwd(repo.path()).run().assert_code(0);
}

#[test]
fn checks_end_the_same_from_base_and_patch_wherever_the_workspace_is_by_then() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    fs::create_dir(repo.path().join("node_modules")).unwrap();
    fs::write(repo.path().join("node_modules/dependency"), "here").unwrap();
    run(&env, &repo, &["sh test.sh", "grep -q here node_modules/dependency"]);
    let again = |what: &str| env.holon(["verify", what, "--rerun", "--json"]).cwd(repo.path()).run();
    let out = env.work().join("out");
    let told: Value = serde_json::from_str(again("last").assert_code(0).stdout.trim()).unwrap();
    let rerun = &told["rerun"];
    assert_eq!(
        (&rerun["same"], &rerun["taken_along"][0]),
        (&true.into(), &"node_modules".into()),
        "{told:#}"
    );
    assert_eq!(rerun["checks"][0]["cases"]["passed"], 2, "{told:#}");

    // A signed statement about it, after somebody worked on and committed.
    let key = ssh_key(&env, "key");
    env.holon(["attest"]).arg(&out).arg("--key").arg(&key).cwd(repo.path()).run().assert_code(0);
    let repo = repo.file("word.txt", "three\n").file("test.sh", "exit 1\n").commit("later");
    let public = key.with_extension("pub");
    let call = env.holon(["verify"]).arg(&out).args(["--rerun", "--policy", "standard", "--signer"]);
    let page = call.arg(&public).cwd(repo.path()).run();
    page.assert_code(0);
    assert!(page.stdout.contains("satisfied: standard"), "{}", page.stdout);
    assert!(page.stdout.contains("the same: `sh test.sh` exited with 0\n"), "{}", page.stdout);
    let envelope: Value = serde_json::from_slice(&fs::read(out.join("attestation.json")).unwrap()).unwrap();
    assert!(envelope["payload"].is_string());
    // Nothing of it stays.
    let left = fs::read_dir(env.cache().join("holon/reruns")).map_or(0, Iterator::count);
    assert_eq!(left, 0);

    // Nobody's commands run for a statement that nobody vouches for.
    let call = env.holon(["verify"]).arg(&out).args(["--rerun", "--policy", "signed"]);
    let page = call.cwd(repo.path()).run();
    page.assert_code(2);
    assert!(page.stdout.contains("were not run again"), "{}", page.stdout);
    // Another patch is none the statement is about.
    let text = fs::read_to_string(out.join("diff.patch")).unwrap().replace("+two", "+six");
    let other = env.write("work/other.patch", text);
    let call = env.holon(["verify"]).arg(&out).args(["--rerun", "--patch"]).arg(other);
    call.cwd(repo.path()).run().assert_code(1).assert_stderr("is not the one that is stated");
    env.holon(["verify"]).arg(&out).cwd(repo.path()).run().assert_code(64);
}

#[test]
fn what_base_and_patch_do_not_give_is_told_as_a_difference() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env).file("local.flag", "mine\n");
    run(&env, &repo, &["sh test.sh", "test -f local.flag"]);
    let page = env.holon(["verify", "last", "--rerun"]).cwd(repo.path()).run();
    page.assert_code(2);
    assert!(page.stdout.contains("the same: `sh test.sh`"), "{}", page.stdout);
    assert!(page.stdout.contains("different: `test -f local.flag`\n"), "{}", page.stdout);
    assert!(page.stdout.contains("it exited with 1, and exited with 0 then"), "{}", page.stdout);
}

#[test]
fn an_original_that_was_never_committed_is_taken_from_the_workspace_or_missed_by_name() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env).file("word.txt", "one and only\n");
    run(&env, &repo, &["sh test.sh"]);
    env.holon(["verify", "last", "--rerun"]).cwd(repo.path()).run().assert_code(0);
    let repo = repo.file("word.txt", "gone\n");
    let page = env.holon(["verify", "last", "--rerun"]).cwd(repo.path()).run();
    page.assert_code(1).assert_stderr("as they were before the change: word.txt");
    // Elsewhere there is no such commit.
    let other = env.work().join("elsewhere");
    fs::create_dir(&other).unwrap();
    let page =
        env.holon(["verify"]).arg(env.work().join("out")).args(["--rerun", "--workspace"]).arg(other).run();
    page.assert_code(1).assert_stderr("cannot be made again");
    // And a run without a check has nothing to run again.
    let agent = env.agent("quiet.sh", AGENT);
    env.holon(["run", "--goal", "x", "--no-auto-checks", "--agent"])
        .arg(agent)
        .cwd(repo.path())
        .run()
        .assert_code(0);
    env.holon(["verify", "last", "--rerun"])
        .cwd(repo.path())
        .run()
        .assert_code(1)
        .assert_stderr("states no check");
}

#[test]
fn checks_whose_surroundings_cannot_be_had_again_are_refused() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let agent = env.agent("agent.sh", AGENT);
    let spec = env.work().join("spec.yaml");
    fs::write(&spec, "goal: Say two\ncontext: {env: {WORD: secret-value}}\nconstraints: {checks: ['test \"$WORD\" = secret-value']}\n")
        .unwrap();
    let run = |more: &[&str]| env.holon(["run", "--agent"]).arg(&agent).args(more).cwd(repo.path()).run();
    run(&["--spec", spec.to_str().unwrap()]).assert_code(0);
    let again = || env.holon(["verify", "last", "--rerun"]).cwd(repo.path()).run();
    let refused = again();
    assert_ne!(refused.code, 0);
    refused.assert_stderr("variables of a spec, whose values are not stated: WORD");
    assert!(!refused.stderr.contains("secret-value"), "{}", refused.stderr);
    run(&["--goal", "Say two", "--network", "host", "--check", "sh test.sh"]).assert_code(0);
    again().assert_stderr("its checks had the host's network");
}
