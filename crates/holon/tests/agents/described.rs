//! Descriptions of agents, and machines that have none of them, or another version.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use holon_testkit::{Invocation, TestEnv};
use serde_json::Value;

use crate::BIN;

/// Does one thing and says that it is done, as Claude Code would.
const CLAUDE: &str = r#"#!/bin/sh
echo two > b.txt
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I wrote b.txt, as I was asked to."}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"I wrote b.txt, as I was asked to."}'
"#;

/// A package as npm installs it, with this version; returns the folder that agents are looked for in.
fn install(env: &TestEnv, version: &str) -> PathBuf {
    let program = env.write("installed/claude-code/node_modules/@a/claude/claude", CLAUDE);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let package = program.parent().unwrap();
    fs::write(package.join("package.json"), format!("{{\"version\":\"{version}\"}}")).unwrap();
    let modules = package.ancestors().nth(2).unwrap();
    fs::create_dir_all(modules.join(".bin")).unwrap();
    let _ = symlink("../@a/claude/claude", modules.join(".bin/claude"));
    modules.ancestors().nth(2).unwrap().to_owned()
}

fn run(env: &TestEnv, agent: &str) -> Invocation {
    let tape = env.write("work/tape.yaml", "- text: never asked for\n");
    let call =
        env.holon(["run", "--goal", "Add b.txt", "--no-auto-checks", "--out", "../out", "--agent", agent]);
    call.arg("--replay").arg(&tape)
}

#[test]
fn a_machine_without_agents_is_told_how_to_get_each() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let list = || env.holon(["agents", "list"]).cwd(repo.path()).env("PATH", "/usr/bin:/bin");
    let output = list().run();
    output.assert_code(0).assert_stdout("not installed");
    let listed: Value = serde_json::from_str(&list().args(["--json"]).run().stdout).unwrap();
    for agent in ["claude-code", "codex", "opencode", "gemini", "goose", "qwen"] {
        let install = output.stdout.lines().find(|line| line.starts_with(&format!("{agent}: npm install")));
        assert!(install.is_some(), "{agent}: {}", output.stdout);
        let row = listed.as_array().unwrap().iter().find(|row| row["name"] == agent).unwrap();
        assert_eq!((&row["available"], &row["version"]), (&Value::Bool(false), &Value::Null), "{row}");
        let output = run(&env, agent).cwd(repo.path()).env("PATH", "/usr/bin:/bin").run();
        output.assert_code(64).assert_stderr("not installed").assert_stderr("npm install --global");
        let output = env.holon(["agents", "check", agent, "--breach"]).env("PATH", "/usr/bin:/bin").run();
        output.assert_code(64).assert_stderr("not installed").assert_stderr("npm install --global");
    }
    env.holon(["agents", "check", "codxe"]).run().assert_code(64).assert_stderr("did you mean `codex`?");
}

#[test]
fn a_version_that_was_not_tried_is_a_warning_and_no_refusal() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    for (version, tried) in [("2.1.7", true), ("99.0.0", false), ("1.0.3", false)] {
        let folder = install(&env, version);
        let listed = env.holon(["agents", "list"]).cwd(repo.path()).env("HOLON_AGENTS_DIR", &folder).run();
        listed.assert_code(0).assert_stdout(version);
        assert_eq!(listed.stdout.contains("(untried)"), !tried, "{}", listed.stdout);
        let output = run(&env, "claude-code").cwd(repo.path()).env("HOLON_AGENTS_DIR", &folder).run();
        output.assert_code(0);
        let said = output
            .stderr
            .contains(&format!("claude-code {version} is outside of the versions it was tried with"));
        assert_eq!(said, !tried, "{version}: {}", output.stderr);
        let manifest = fs::read_to_string(env.work().join("out/manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        assert_eq!(manifest["metadata"]["agent"]["version"], version);
    }
}

#[test]
fn inv_15_a_broken_description_of_a_project_stops_nobody_who_does_not_want_it() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let folder = install(&env, "2.1.7");
    env.write(
        "work/repo/.holon/agents/mine.toml",
        "name = \"mine\"\nkind = \"exec\"\n\"comm\\u001b[31mand\" = 1\n",
    );
    env.write(
        "work/repo/.holon/agents/typo.toml",
        "name = \"typo\"\nkind = \"exec\"\ncommand = [\"sh\", \"-c\", \"echo 'Nothing to do.' > $HOLON_OUTPUT_DIR/summary.md\"]\nmodes.paln.args = [\"x\"]\n",
    );
    let call = |args: &[&str]| {
        env.holon(args.iter().copied()).cwd(repo.path()).env("HOLON_AGENTS_DIR", &folder).run()
    };
    let listed = call(&["agents", "list"]);
    listed.assert_code(0).assert_stdout("typo").assert_stderr("mine.toml: line 3: unknown key");
    assert!(!listed.stderr.contains('\u{1b}'), "{:?}", listed.stderr);
    let output = run(&env, "claude-code").cwd(repo.path()).env("HOLON_AGENTS_DIR", &folder).run();
    output.assert_code(0).assert_stderr("mine.toml: line 3: unknown key");
    assert!(!output.stderr.contains('\u{1b}'), "{:?}", output.stderr);
    run(&env, "mine").cwd(repo.path()).run().assert_code(64).assert_stderr("mine.toml: line 3: unknown key");
    // It reaches no model, so there is nothing a cassette could answer.
    run(&env, "typo").cwd(repo.path()).run().assert_code(64).assert_stderr("--replay");
    let output = call(&["run", "--goal", "Add b.txt", "--no-auto-checks", "--agent", "typo"]);
    output.assert_code(0).assert_stderr("`modes.paln` is no mode (did you mean `plan`?)");
}
