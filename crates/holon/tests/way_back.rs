//! The way back: what a run made comes into a person's files, without a line of theirs being lost.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, for_each_identity};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// What a person does to a file of the run while the agent waits, and what becomes of both.
fn edited_meanwhile(
    env: &TestEnv,
    name: &str,
    commit: bool,
    agent: &str,
    mine: &str,
) -> (TestWorkspace, CommandEnd) {
    let repo = env.repo_named(name).file("a", "1\n2\n3\n4\n5\n").file("b", "1\n").commit("first");
    let script = format!(
        "#!/bin/sh\n{agent}\necho started\nwhile [ \"$(tail -n 1 b)\" != go ]; do :; done\necho ok > /holon/output/summary.md\n"
    );
    let agent = env.agent("waits.sh", &script);
    let call = env
        .holon(["run", "--json", "--goal", "x", "--agent"])
        .arg(agent)
        .arg("--out")
        .arg(env.work().join("out"));
    let mut running = call.cwd(repo.path()).spawn();
    running.wait_for_text("\"started\"");
    let mut repo = repo.file("a", mine);
    if commit {
        repo = repo.commit("mine");
    }
    let repo = repo.file("b", "go\n");
    let output = running.wait();
    output.assert_code(0);
    assert_eq!(repo.read("a"), mine.as_bytes());
    let applied = env.holon(["runs", "apply", "last"]).cwd(repo.path()).run();
    (repo, applied)
}

#[test]
fn inv_16_what_a_person_writes_while_an_agent_works_is_merged() {
    // Changed where it stands, or written anew from what was read before.
    let agents = ["sed -i 's/^5/five/' a", "printf '1\\n2\\n3\\n4\\nfive\\n' > a"];
    for_each_identity(BIN, |env| {
        for (number, commit) in [false, true, false, true].into_iter().enumerate() {
            let name = format!("repo {number}");
            let (repo, applied) =
                edited_meanwhile(env, &name, commit, agents[number / 2], "one\n2\n3\n4\n5\n");
            applied.assert_code(0).assert_stdout("merged with newer changes in a");
            assert_eq!(repo.read("a"), b"one\n2\n3\n4\nfive\n");
            let manifest = fs::read_to_string(env.work().join("out/manifest.json")).unwrap();
            assert!(manifest.contains("changed in the workspace while the agent worked: a;"), "{manifest}");
        }
    });
}

#[test]
fn inv_16_where_a_person_and_an_agent_meet_nothing_is_applied_and_both_are_kept() {
    for_each_identity(BIN, |env| {
        let (repo, applied) = edited_meanwhile(env, "meet", false, "echo theirs > a", "mine\n");
        applied.assert_code(1).assert_stdout("a was changed in the same lines; the other version is ");
        assert_eq!(repo.read("a"), b"mine\n");
        let kept = applied.stdout.split("the other version is ").nth(1).unwrap().trim();
        assert_eq!(fs::read_to_string(kept).unwrap(), "theirs\n");
        // What was only touched is nobody's change.
        let (repo, applied) = edited_meanwhile(env, "touched", false, "touch a; echo x > new", "mine\n");
        applied.assert_code(0);
        assert_eq!(repo.read("a"), b"mine\n");
        assert_eq!(repo.read("new"), b"x\n");
    });
}

#[test]
fn inv_16_an_apply_is_undone_and_later_edits_stay() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n2\n3\n4\n5\n").file("gone", "g\n").commit("first");
        let script = "#!/bin/sh\nsed -i 's/^5/five/' a\nrm gone\nmkdir d\necho n > d/new\necho ok > /holon/output/summary.md\n";
        let agent = env.agent("agent.sh", script);
        env.holon(["run", "--goal", "x", "--apply", "--agent"])
            .arg(agent)
            .cwd(repo.path())
            .run()
            .assert_code(0);
        assert_eq!(repo.read("a"), b"1\n2\n3\n4\nfive\n");
        let repo = repo.file("a", "one\n2\n3\n4\nfive\n");
        let undo = |expect: i32| {
            let done = env.holon(["runs", "undo", "last"]).cwd(repo.path()).run();
            done.assert_code(expect);
            done
        };
        undo(0).assert_stdout("your later changes kept in a");
        assert_eq!(repo.read("a"), b"one\n2\n3\n4\n5\n");
        assert_eq!(repo.read("gone"), b"g\n");
        assert!(!repo.join("d").exists());
        undo(1).assert_stderr("has nothing to undo");
        let again = env.holon(["runs", "apply", "last"]).cwd(repo.path()).run();
        again.assert_code(0).assert_stdout("merged with newer changes in a");
        assert_eq!(repo.read("a"), b"one\n2\n3\n4\nfive\n");
    });
}
