//! The promises of ARCHITECTURE.md, each shown end to end with the real binary, real namespaces and real git.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use holon_testkit::{
    CommandEnd, TestEnv, TestWorkspace, apply_patch_plain, assert_same_trees, assert_unchanged, copy_tree,
    for_each_identity, tree_state,
};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Tries every way of writing a shell offers, in the workspace and around it, and leaves no artifact.
const WRITES_EVERYTHING: &str = r#"#!/bin/sh
echo changed > tracked.txt
echo more >> dirty.txt
: > untracked.txt
rm -f delete-me.txt
mkdir new-folder && echo x > new-folder/x
mv move-me.txt moved.txt
chmod 755 mode-me.txt
ln -s /etc/passwd link
cp tracked.txt copy.txt
printf 'a\0b' | tee binary.bin > /dev/null
sed -i s/one/two/ tracked.txt
touch -d 2001-01-01 untouched.txt
git config user.name Evil; git add -A; git commit -qm evil
dd if=/dev/zero of=zeros bs=1k count=1 2> /dev/null
python3 -c 'open("from-python","w").write("x")'
echo x > "$HOME/in-home"; echo x > /tmp/in-tmp; echo x > /usr/in-usr; echo x > /in-root
exit 0
"#;

const OBEDIENT: &str = r##"#!/bin/sh
set -e
printf '# Goal\nx\n# Context\nx\n# Steps\n1. x\n# Risks\nnone\n# Verification\nlook\n' > /holon/output/plan.md
echo "# Summary" > /holon/output/summary.md
echo "Done." >> /holon/output/summary.md
"##;

/// A repository with tracked, changed and untracked work.
fn dirty_repo(env: &TestEnv) -> TestWorkspace {
    env.repo()
        .file("tracked.txt", "one\n")
        .file("dirty.txt", "committed\n")
        .file("delete-me.txt", "x\n")
        .file("move-me.txt", "x\n")
        .file("mode-me.txt", "x\n")
        .file("untouched.txt", "x\n")
        .commit("first")
        .file("dirty.txt", "uncommitted\n")
        .file("untracked.txt", "never added\n")
}

fn run(env: &TestEnv, repo: &TestWorkspace, mode: &str, agent: &Path, more: &[&str]) -> CommandEnd {
    let mut call = env.holon(["run", "--mode", mode, "--goal", "x", "--agent"]).arg(agent).cwd(repo.path());
    call = call.args(["--out"]).arg(env.work().join("out")).args(more);
    call.run()
}

/// Something a person would read on the terminal, on whichever stream.
#[track_caller]
fn assert_says(output: &CommandEnd, text: &str) {
    assert!(output.stdout.contains(text) || output.stderr.contains(text), "nobody says {text:?}: {output:?}");
}

#[test]
fn inv_01_read_only_modes_change_no_byte() {
    for_each_identity(BIN, |env| {
        let repo = dirty_repo(env);
        let agent = env.agent("writes-everything.sh", WRITES_EVERYTHING);
        let before = tree_state(repo.path());
        for mode in ["plan", "review", "ethical", "debug"] {
            let output = run(env, &repo, mode, &agent, &["--verify", "full"]);
            output.assert_code(1);
            let manifest = output.manifest(env.work().join("out"));
            assert_eq!(manifest["error"]["kind"], "artifact_missing", "{mode}: {manifest:#}");
            assert_eq!(manifest["breaches"].as_array().map(Vec::len), Some(0), "{mode}");
            assert_unchanged(&before, repo.path());
        }
        let output = run(env, &repo, "plan", &agent, &[]);
        assert_says(&output, "plan.md");
    });
}

#[test]
fn inv_02_only_apply_touches_the_workspace() {
    for_each_identity(BIN, |env| {
        let repo = dirty_repo(env);
        let agent = env
            .agent("writes.sh", &WRITES_EVERYTHING.replace("exit 0", "echo ok > /holon/output/summary.md"));
        let before = tree_state(repo.path());
        run(env, &repo, "execute", &agent, &[]).assert_code(0);
        assert_unchanged(&before, repo.path());

        env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
        assert_eq!(repo.read("tracked.txt"), b"changed\n");
        assert!(!repo.join("delete-me.txt").exists());
        assert!(repo.join("copy.txt").exists());
    });
}

#[test]
fn inv_02_an_out_folder_inside_the_workspace_is_invisible() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        let agent = env.agent(
            "looks.sh",
            "#!/bin/sh\nls -A > /holon/output/summary.md\nmkdir -p holon-output; echo planted > a\n",
        );
        for _ in 0..2 {
            let call =
                env.holon(["run", "--goal", "x", "--workspace", ".", "--out", "holon-output", "--agent"]);
            call.arg(&agent).cwd(repo.path()).run().assert_code(0);
            let seen = fs::read_to_string(repo.join("holon-output/summary.md")).unwrap();
            assert!(!seen.contains("holon-output"), "{seen}");
            let patch = fs::read_to_string(repo.join("holon-output/diff.patch")).unwrap();
            assert!(patch.contains("+planted") && !patch.contains("holon-output"), "{patch}");
        }
    });
}

#[test]
fn inv_03_every_run_ends_with_a_manifest() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        let cases = [
            ("crash.sh", "#!/bin/sh\nkill -SEGV $$\n", "agent_killed"),
            ("fails.sh", "#!/bin/sh\nexit 3\n", "agent_failed"),
            ("no-interpreter.sh", "#!/no/such/interpreter\n", "sandbox"),
        ];
        for (name, text, kind) in cases {
            let agent = env.agent(name, text);
            let output = run(env, &repo, "execute", &agent, &[]);
            output.assert_code(1);
            let manifest = output.manifest(env.work().join("out"));
            assert_eq!(manifest["error"]["kind"], kind, "{name}: {manifest:#}");
        }
        let slow = env.agent(
            "slow.sh",
            "#!/bin/sh\ntrap '' TERM\necho partial > /holon/output/notes.txt\nwhile :; do :; done\n",
        );
        let output = run(env, &repo, "execute", &slow, &["--timeout", "1s"]);
        output.assert_code(1);
        let manifest = output.manifest(env.work().join("out"));
        assert_eq!(manifest["status"], "timeout");
        assert!(env.work().join("out/notes.txt").exists(), "what was written so far is kept");
        env.assert_nothing_left();
    });
}

#[test]
fn inv_03_a_killed_host_leaves_nothing_and_the_run_is_marked() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        let agent = env.agent("waits.sh", "#!/bin/sh\necho started; exec sleep 600\n");
        let call = env.holon(["run", "--json", "--goal", "x", "--agent"]).arg(&agent).cwd(repo.path());
        let mut running = call.spawn();
        running.wait_for_text("\"started\"");
        running.kill();
        env.assert_nothing_left();
        let listed = env.holon(["runs", "list"]).cwd(repo.path()).run();
        listed.assert_code(0).assert_stdout("interrupted");
        let runs = env.runs();
        let manifest = fs::read_to_string(runs.last().unwrap().join("output/manifest.json")).unwrap();
        assert!(manifest.contains("\"status\": \"interrupted\""), "{manifest}");
    });
}

#[test]
fn inv_04_success_needs_every_required_artifact() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("src/a.rs", "fn a() {}\n").commit("first");
        let cases = [
            ("plan", "echo hello > /holon/output/plan.md", 1),
            ("plan", "ln -s /etc/passwd /holon/output/plan.md", 1),
            ("plan", "mkfifo /holon/output/plan.md", 1),
            ("execute", "true", 1),
            ("execute", ": > /holon/output/summary.md", 1),
            ("review", "echo '{}' > /holon/output/review.json; echo s > /holon/output/summary.md", 1),
            ("execute", "echo fine > /holon/output/summary.md", 0),
        ];
        for (mode, script, code) in cases {
            let agent = env.agent("agent.sh", &format!("#!/bin/sh\n{script}\n"));
            let output = run(env, &repo, mode, &agent, &[]);
            output.assert_code(code);
            let manifest = output.manifest(env.work().join("out"));
            assert_eq!(manifest["outcome"] == "success", code == 0, "{mode} {script}");
        }
        let obedient = env.agent("obedient.sh", OBEDIENT);
        run(env, &repo, "plan", &obedient, &[]).assert_code(0);
    });
}

#[test]
fn inv_04_one_repair_round_tells_the_agent_what_is_missing() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        let script = "#!/bin/sh\necho edit >> a\nif [ -f /holon/input/context/repair.md ]; then cp /holon/input/context/repair.md /holon/output/summary.md; fi\n";
        let agent = env.agent("forgets.sh", script);
        let output = run(env, &repo, "execute", &agent, &[]);
        output.assert_code(0);
        let summary = fs::read_to_string(env.work().join("out/summary.md")).unwrap();
        assert!(summary.contains("summary.md") && summary.contains("missing"), "{summary}");
        let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
        assert_eq!(patch.matches("+edit").count(), 2, "both starts work in the same sandbox: {patch}");
    });
}

#[test]
fn inv_05_a_delivered_patch_reproduces_the_result() {
    for_each_identity(BIN, |env| {
        let repo = dirty_repo(env);
        let base = env.work().join("base");
        copy_tree(repo.path(), &base);
        // The agent keeps a copy of its own result, so that it can be compared.
        let script = WRITES_EVERYTHING.replace(
            "exit 0",
            "tar cf /holon/output/result.tar --exclude=.git .; echo ok > /holon/output/summary.md",
        );
        let agent = env.agent("writes.sh", &script);
        run(env, &repo, "execute", &agent, &[]).assert_code(0);
        apply_patch_plain(&base, &env.work().join("out/diff.patch")).unwrap();
        let result = env.work().join("result");
        env.program("mkdir").arg(&result).run().assert_code(0);
        let unpack =
            env.program("tar").args(["x", "--no-same-owner", "-f"]).arg(env.work().join("out/result.tar"));
        unpack.cwd(&result).run().assert_code(0);
        assert_same_trees(&result, &base);
    });
}

#[test]
fn inv_06_no_host_secret_is_visible_or_written() {
    for_each_identity(BIN, |env| {
        let secret = "sk-ant-api03-canary0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH";
        let repo = env.repo().file("a", "1\n").commit("first");
        env.write(env.home().join(".netrc"), "canary-in-home");
        let script = "#!/bin/sh\nenv; cat /proc/*/environ 2>/dev/null; cat /proc/1/cmdline; ls -laR / 2>/dev/null | head -2000\ncat \"$HOST/.netrc\" \"$HOME/.netrc\" ~/.netrc 2>/dev/null\necho \"leak: $LEAK\" | tee /holon/output/summary.md\n".replace("$HOST", &env.home().to_string_lossy());
        let agent = env.agent("spy.sh", &script);
        let call = env.holon(["run", "--json", "--goal", "x", "--agent"]).arg(&agent).cwd(repo.path());
        let output = call.env("ANTHROPIC_API_KEY", secret).env("LEAK", "value-of-LEAK-0123").run();
        output.assert_code(0);
        let mut files = vec![env.state()];
        let mut seen = 0;
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            } else if let Ok(bytes) = fs::read(&path) {
                seen += 1;
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains("canary"), "{}", path.display());
                assert!(!text.contains("value-of-LEAK"), "{}", path.display());
            }
        }
        assert!(seen > 3, "the run store was searched");
        assert!(!output.stdout.contains("canary") && !output.stderr.contains("canary"));
    });
}

#[test]
fn inv_06_a_secret_in_the_patch_is_withheld() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a", "1\n").commit("first");
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let agent = env.agent(
        "leaks.sh",
        &format!("#!/bin/sh\necho 'token = \"{token}\"' >> a\necho ok > /holon/output/summary.md\n"),
    );
    let output = run(&env, &repo, "execute", &agent, &[]);
    output.assert_code(2);
    assert_says(&output, "secret");
    assert!(!env.work().join("out/diff.patch").exists());
    assert!(env.work().join("out/evidence/withheld.patch").exists());
}

#[test]
fn inv_07_exit_codes_mean_the_same_for_all_agents() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        let ok = "echo ok > /holon/output/summary.md";
        let cases = [
            (ok.to_owned(), 0, "success"),
            (format!("{ok}; exit 1"), 1, "failure"),
            (format!("{ok}; exit 2"), 2, "needs_human"),
            (format!("{ok}; exit 77"), 1, "failure"),
            (
                format!("{ok}; echo '{{\"outcome\":\"needs_human\"}}' > /holon/output/manifest.json; exit 1"),
                2,
                "needs_human",
            ),
            (format!("{ok}; echo '{{\"status\":\"failed\"}}' > /holon/output/manifest.json"), 1, "failure"),
            (
                format!(
                    "{ok}; echo '{{\"outcome\":\"success\",\"exit_code\":0}}' > /holon/output/manifest.json; exit 9"
                ),
                1,
                "failure",
            ),
        ];
        for (script, code, outcome) in cases {
            let agent = env.agent("agent.sh", &format!("#!/bin/sh\n{script}\n"));
            let output = run(env, &repo, "execute", &agent, &[]);
            output.assert_code(code);
            assert_eq!(output.manifest(env.work().join("out"))["outcome"], outcome, "{script}");
        }
        let failing = env.agent("fine.sh", &format!("#!/bin/sh\n{ok}\n"));
        let output = run(env, &repo, "execute", &failing, &["--check", "false"]);
        output.assert_code(1);
        assert_says(&output, "`false`");
        run(env, &repo, "execute", &failing, &["--check", "test -f a"]).assert_code(0);
        env.holon(["run", "--no-such-flag"]).run().assert_code(64);
    });
}

#[test]
fn inv_08_no_headless_run_waits_for_a_person() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        let script = "#!/bin/sh\nread answer; echo \"got:$answer\" > /holon/output/summary.md\ntest -t 0 && echo tty >> /holon/output/summary.md\nread x < /dev/tty\ntrue\n";
        let agent = env.agent("asks.sh", script);
        let call =
            env.holon(["run", "--goal", "x", "--agent"]).arg(&agent).arg("--out").arg(env.work().join("out"));
        // Whoever waits for an answer waits for ever.
        let output = call.cwd(repo.path()).timeout(Duration::from_secs(60)).run();
        output.assert_code(0);
        assert_eq!(fs::read_to_string(env.work().join("out/summary.md")).unwrap(), "got:\n");
    });
}

#[test]
fn inv_11_a_custom_mode_never_has_more_rights_than_its_parent() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("docs/a.md", "x\n").file("src/a.rs", "x\n").commit("first");
        let repo = repo.file(".holon/modes/guide.toml", "name = \"guide\"\nextends = \"architect\"\n[workspace]\naccess = \"scoped\"\nwrite = [\"docs/guide/**\"]\n[artifacts]\nrequired = [\"summary.md\", \"plan.md\", \"diff.patch\"]\n");
        let script = OBEDIENT.replace("set -e", "echo no > docs/a.md; echo no > src/a.rs; mkdir -p docs/guide; echo yes > docs/guide/g.md; ln -s ../../src docs/guide/up; echo no > docs/guide/up/b.rs");
        let agent = env.agent("writer.sh", &script);
        let before = tree_state(repo.path());
        run(env, &repo, "guide", &agent, &[]).assert_code(0);
        let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
        assert!(
            patch.contains("docs/guide/g.md") && !patch.contains("no\n") && !patch.contains("b.rs"),
            "{patch}"
        );
        assert_unchanged(&before, repo.path());
        let repo = repo.file(
            ".holon/modes/wide.toml",
            "name = \"wide\"\nextends = \"plan\"\n[workspace]\naccess = \"rw\"\n",
        );
        run(env, &repo, "wide", &agent, &[]).assert_code(64).assert_stderr("wide.toml");
    });
}

#[test]
fn inv_15_nothing_in_the_workspace_widens_anything() {
    for_each_identity(BIN, |env| {
        let repo = env
            .repo()
            .file("a", "1\n")
            .file(".holon/modes/plan.toml", "name = \"plan\"\nwiden = true\n[workspace]\naccess = \"rw\"\n")
            .file("holon.toml", "[sandbox]\nbackend = \"none\"\n[expose]\npaths = [\"~/\"]\n")
            .commit("first");
        let agent = env.agent("writes.sh", "#!/bin/sh\necho x > a\n");
        let before = tree_state(repo.path());
        let output = run(env, &repo, "plan", &agent, &[]);
        assert_ne!(output.code, 0, "{output:?}");
        assert_unchanged(&before, repo.path());
        let output = run(env, &repo, "pln", &agent, &[]);
        output.assert_code(64).assert_stderr("plan");
    });
}

/// A state folder on a tiny file system of its own, in a mount namespace of its own.
#[test]
fn inv_03_a_full_disk_costs_the_run_but_not_its_manifest() {
    let Some(env) = TestEnv::as_root(BIN) else {
        holon_testkit::skip_security(&holon_testkit::current_test(), "needs root for a small file system");
        return;
    };
    let repo = env.repo().file("a", "1\n").commit("first");
    let agent = env.agent(
        "fills.sh",
        "#!/bin/sh\nhead -c 50000000 /dev/zero > big; echo ok > /holon/output/summary.md\n",
    );
    let script = format!(
        "mount -t tmpfs -o size=6m none {state} && cd {repo} && {holon} run --goal x --agent {agent}; echo code=$?; {holon} runs list --json; find {state} -name manifest.json -exec cat {{}} +",
        state = env.state().display(),
        repo = repo.path().display(),
        holon = env.binary().display(),
        agent = agent.display()
    );
    let output = env.program("unshare").args(["--mount", "sh", "-c", &script]).run();
    output.assert_code(0).assert_stdout("code=1").assert_stdout("\"outcome\": \"failure\"");
}
