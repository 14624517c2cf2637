//! An agent that somebody describes in one file works without anything being built anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use holon_testkit::{Invocation, TestEnv, assert_unchanged, tree_state};
use serde_json::Value;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// A small agent with a wire of its own choice: it asks, runs what it is told to, and tells what it does.
const AGENT: &str = r##"#!/usr/bin/python3
import http.client, json, os, subprocess, sys
prompt, model = sys.argv[1], sys.argv[2]
settings = json.load(open(os.path.expanduser("~/.mine/settings.json")))
host = settings["url"].split("//")[1]

def ask(messages):
    door = http.client.HTTPConnection(host, timeout=20)
    tools = [{"name": "run", "description": "", "input_schema": {"type": "object"}}]
    body = {"model": model, "max_tokens": 100, "messages": messages, "tools": tools}
    door.request("POST", "/v1/messages", json.dumps(body), {"x-api-key": os.environ["MINE_KEY"], "content-type": "application/json"})
    return json.loads(door.getresponse().read())

def say(**event):
    print(json.dumps(event), flush=True)

say(type="system", subtype="init", claude_code_version="9.9.9")
messages = [{"role": "user", "content": prompt}]
while True:
    content = ask(messages)["content"]
    say(type="assistant", message={"content": content})
    calls = [part for part in content if part["type"] == "tool_use"]
    if not calls:
        break
    results = []
    for call in calls:
        done = subprocess.run(["sh", "-c", call["input"]["command"]], capture_output=True, text=True)
        results.append({"type": "tool_result", "tool_use_id": call["id"], "content": done.stdout + done.stderr})
    messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    say(type="user", message={"content": results})
words = "".join(part.get("text", "") for part in content)
say(type="result", subtype="success", is_error=False, result=words, usage={"input_tokens": 3, "output_tokens": 2})
"##;

const DESCRIPTION: &str = r#"
name = "mine"
description = "An agent of my own"
kind = "exec"
events = "claude"
command = ["{program}", "{system}\n{prompt}", "{model}", "{mode}"]
env = { MINE_KEY = "{token}" }
find = { program = "mine-agent", install = "copy it from somewhere", tested = ">=9" }
model = { wire = "messages" }
files = { ".mine/settings.json" = '{"url": "{gateway}"}' }
modes.plan = { args = ["--plan"], native_plan = true }
tools.exec = ["run"]

[rehearsal.shell]
tool = "run"
arguments = '{"command": "{command}"}'
"#;

struct DescribedAgentScene {
    env: TestEnv,
    agents: PathBuf,
}

impl DescribedAgentScene {
    fn new() -> Self {
        let env = TestEnv::new(BIN);
        let program = env.write("agents/mine-agent", AGENT);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let agents = program.parent().unwrap().to_owned();
        Self { env, agents }
    }

    fn holon(&self, args: &[&str]) -> Invocation {
        self.env.holon(args).env("HOLON_AGENTS_DIR", &self.agents)
    }

    fn out(&self, name: &str) -> String {
        fs::read_to_string(self.env.work().join("out").join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

#[test]
fn one_file_in_the_project_is_enough() {
    let scene = DescribedAgentScene::new();
    let repo =
        scene.env.repo().file("a.txt", "one\n").file(".holon/agents/mine.toml", DESCRIPTION).commit("first");
    let list = scene.holon(&["agents", "list"]).cwd(repo.path()).run();
    list.assert_code(0).assert_stdout("An agent of my own").assert_stdout("project");
    let plan = "# Plan\\n\\n## Goal\\nG.\\n\\n## Context\\nC.\\n\\n## Steps\\n1. S.\\n\\n## Risks\\nR.\\n\\n## Verification\\nV.\\n";
    let cassette = |last: &str| {
        format!(
            "- tool: run\n  args: {{ command: \"echo two > b.txt\" }}\n- expect: {{ tools: [run] }}\n  text: \"{last}\"\n"
        )
    };
    let before = tree_state(repo.path());
    for (mode, last, artifact) in
        [("execute", "I wrote b.txt, as I was told to.", "diff.patch"), ("plan", plan, "plan.md")]
    {
        let tape = scene.env.write(format!("work/{mode}.yaml"), cassette(last));
        let run = scene.holon(&["run", "--mode", mode, "--goal", "Add b.txt", "--agent", "mine"]);
        let run = run.args(["--no-auto-checks", "--out", "../out", "--replay"]).arg(&tape);
        run.cwd(repo.path()).run().assert_code(0);
        assert_unchanged(&before, repo.path());
        let manifest: Value = serde_json::from_str(&scene.out("manifest.json")).unwrap();
        let metadata = &manifest["metadata"];
        assert_eq!((&metadata["adapter"], &manifest["outcome"]), (&"mine".into(), &"success".into()));
        assert_eq!(metadata["native_plan_used"], mode == "plan");
        assert_eq!(metadata["agent"]["version"], "9.9.9");
        assert_eq!(metadata["sandbox"]["enforced"]["net_ns"], true);
        assert!(!scene.out(artifact).is_empty());
        let events = scene.out("evidence/events.jsonl");
        assert!(events.contains("\"tool\":\"run\"") && events.contains("\"class\":\"exec\""), "{events}");
        let read_only = events.to_lowercase().contains("read-only file system");
        assert_eq!(read_only, mode == "plan", "{events}");
    }
    scene.env.assert_nothing_left();
}

#[test]
fn one_file_of_the_users_can_be_rehearsed() {
    let scene = DescribedAgentScene::new();
    let folder = scene.env.config().join("holon/agents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mine.toml"), DESCRIPTION).unwrap();
    scene.env.own(&scene.env.config());
    let check = scene.holon(&["agents", "check", "mine"]).run();
    check.assert_code(0);
    assert!(!check.stdout.contains("FAILED"), "{}", check.stdout);
    for seen in
        ["plan.md", "0 bytes changed", "ran what the model asked for", "1 calls told", "only the gateway"]
    {
        assert!(check.stdout.contains(seen), "{seen}: {}", check.stdout);
    }
    // One that does not do what it is told to is found out.
    let idle = AGENT.replace(
        "subprocess.run([\"sh\", \"-c\", call[\"input\"][\"command\"]]",
        "subprocess.run([\"true\"]",
    );
    assert_ne!(idle, AGENT);
    scene.env.write("agents/mine-agent", idle);
    let check = scene.holon(&["agents", "check", "mine"]).run();
    check.assert_code(1).assert_stdout("it did not run a command");
}
