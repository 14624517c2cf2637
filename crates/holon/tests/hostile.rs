//! Hostile repositories: what is in the workspace gains nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, assert_unchanged, for_each_identity, tree_state};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

fn run(env: &TestEnv, repo: &TestWorkspace, mode: &str, script: &str) -> CommandEnd {
    let agent = env.agent("agent.sh", &format!("#!/bin/sh\n{script}\necho ok > /holon/output/summary.md\n"));
    let call = env.holon(["run", "--mode", mode, "--goal", "x", "--agent"]).arg(agent);
    call.arg("--out").arg(env.work().join("out")).cwd(repo.path()).run()
}

#[test]
fn files_that_steer_holon_ci_or_agents_need_a_person() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        for path in [
            ".holon/modes/x.toml",
            "holon.toml",
            ".github/workflows/ci.yml",
            "AGENTS.md",
            ".husky/pre-commit",
        ] {
            let script = format!("mkdir -p \"$(dirname {path})\"; echo x > {path}");
            let output = run(env, &repo, "execute", &script);
            output.assert_code(2);
            assert!(output.stdout.contains(path) || output.stderr.contains(path), "{output:?}");
            assert_eq!(output.manifest(env.work().join("out"))["error"]["kind"], "sensitive");
            let agent =
                env.agent("again.sh", &format!("#!/bin/sh\n{script}\necho ok > /holon/output/summary.md\n"));
            let call =
                env.holon(["run", "--allow-sensitive", "--goal", "x", "--agent"]).arg(agent).cwd(repo.path());
            call.run().assert_code(0);
        }
    });
}

#[test]
fn a_mode_file_cannot_reach_out_of_its_folder_for_its_prompt() {
    for_each_identity(BIN, |env| {
        env.write(env.home().join("secret"), "canary-secret");
        let up = "../".repeat(12);
        let target = format!("{up}{}", env.home().join("secret").strip_prefix("/").unwrap().display());
        for file in [target.as_str(), "/etc/passwd", "link.md"] {
            let repo = env.repo_named(&format!("r{}", file.len())).file("a", "1\n");
            let mode = format!("name = \"x\"\nextends = \"plan\"\n[prompt]\nfile = \"{file}\"\n");
            let repo = repo
                .file(".holon/modes/x.toml", mode)
                .symlink(".holon/modes/link.md", env.home().join("secret"))
                .commit("c");
            let output = run(env, &repo, "x", "cat /holon/input/prompts/*");
            assert_ne!(output.code, 0);
            assert!(!output.stdout.contains("canary") && !output.stderr.contains("canary"), "{output:?}");
        }
    });
}

#[test]
fn odd_workspaces_are_handled_or_refused() {
    for_each_identity(BIN, |env| {
        let elsewhere = env.repo_named("elsewhere").file("s", "secret\n").commit("c");
        let cases: Vec<(&str, TestWorkspace)> = vec![
            ("symlinked .git", env.folder("linked").file("a", "1\n").symlink(".git", elsewhere.join(".git"))),
            ("no commits", env.repo_named("unborn").file("a", "1\n")),
            ("no git at all", env.folder("plain").file("a", "1\n")),
            ("spaces and more", env.folder("näme with 'quotes' \"and\" $x").file("a", "1\n")),
        ];
        for (name, repo) in cases {
            let before = tree_state(repo.path());
            let other = tree_state(elsewhere.path());
            let output = run(
                env,
                &repo,
                "execute",
                "echo 2 > a; git log --oneline 2>&1; git commit -qam evil 2>&1; true",
            );
            output.assert_code(0);
            let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
            assert!(patch.contains("+2"), "{name}: {patch}");
            assert_unchanged(&before, repo.path());
            assert_unchanged(&other, elsewhere.path());
        }
    });
}

#[test]
fn special_files_and_deep_trees_do_no_harm() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a", "1\n").commit("first");
        env.program("mkfifo").arg(repo.join("fifo")).run().assert_code(0);
        let deep = "import os\nos.chdir('.')\nfor i in range(10000):\n    os.mkdir('d'); os.chdir('d')\n";
        env.program("python3").args(["-c", deep]).cwd(repo.path()).run().assert_code(0);
        // A copy walks every level, so once is enough.
        let both = if env.identity() == holon_testkit::TestIdentity::Root {
            &["auto"][..]
        } else {
            &["auto", "copy"]
        };
        for snapshot in both {
            let agent = env.agent("edit.sh", "#!/bin/sh\necho 2 > a\necho ok > /holon/output/summary.md\n");
            let call = env.holon(["run", "--goal", "x", "--snapshot", snapshot, "--agent"]).arg(agent);
            let output = call.arg("--out").arg(env.work().join("out")).cwd(repo.path()).run();
            output.assert_code(0);
            let patch = fs::read_to_string(env.work().join("out/diff.patch")).unwrap();
            assert!(patch.contains("+2"), "{snapshot}: {patch}");
        }
        // The agent itself leaves a deep tree, a FIFO and a socket.
        let script = "#!/usr/bin/python3\nimport os, socket\nos.mkfifo('p')\nsocket.socket(socket.AF_UNIX).bind('s')\nopen('a', 'w').write('3\\n')\nopen('/holon/output/summary.md', 'w').write('ok')\nfor i in range(10000):\n    os.mkdir('e'); os.chdir('e')\n";
        let agent = env.agent("deep.py", script);
        let call =
            env.holon(["run", "--goal", "x", "--agent"]).arg(agent).arg("--out").arg(env.work().join("out"));
        let output = call.cwd(repo.path()).run();
        output.assert_code(0);
        assert!(fs::read_to_string(env.work().join("out/diff.patch")).unwrap().contains("+3"));
        assert!(env.runs().iter().all(|run| !run.join("layers").exists()), "deep layers are removed too");
        // Ordinary removal cannot handle such depth everywhere; the test cleans up after itself.
        env.program("python3")
            .args(["-c", "import os\nos.chdir('.')\nn=0\nwhile os.path.isdir('d'):\n    os.chdir('d'); n+=1\nfor i in range(n):\n    os.chdir('..'); os.rmdir('d')\n"])
            .cwd(repo.path())
            .run()
            .assert_code(0);
    });
}

#[test]
fn what_an_agent_does_to_git_never_runs_on_the_host() {
    for_each_identity(BIN, |env| {
        let repo = env.repo().file("a.txt", "1\n").commit("first");
        let canary = env.work().join("canary");
        let touch = format!("touch {}", canary.display());
        let script = format!(
            "git config core.fsmonitor '{touch}'; git config diff.external '{touch}'; git config core.sshCommand '{touch}'
git config filter.x.clean '{touch}; cat'; git config filter.x.smudge '{touch}; cat'; git config diff.x.textconv '{touch}; cat'
git config alias.diff '!{touch}'; git config core.hooksPath .git/hooks; git config core.pager '{touch}'
mkdir -p .git/hooks; for h in pre-commit post-checkout pre-apply post-index-change reference-transaction; do printf '#!/bin/sh\\n{touch}\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done
echo '* filter=x diff=x' > .gitattributes; echo 2 > a.txt
rm -rf .git/objects; echo 'gitdir: /etc' > .git/commondir"
        );
        let output = run(env, &repo, "execute", &script);
        output.assert_code(0);
        assert!(!canary.exists(), "something of the agent's ran on the host");
        env.holon(["runs", "diff", "last"]).cwd(repo.path()).run().assert_code(0).assert_stdout("+2");
        env.holon(["runs", "apply", "last"]).cwd(repo.path()).run().assert_code(0);
        assert_eq!(repo.read("a.txt"), b"2\n");
        assert!(!canary.exists(), "something of the agent's ran on the host");
    });
}
