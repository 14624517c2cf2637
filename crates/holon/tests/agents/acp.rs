//! Agents that speak the Agent Client Protocol, behind the walls.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, assert_unchanged, tree_state};
use serde_json::Value;

use crate::BIN;

/// A small agent: it asks for leave, runs a command, asks the model for its last words, and does what its argument says.
const AGENT: &str = r##"#!/usr/bin/python3
import http.client, json, os, subprocess, sys
how = sys.argv[1]

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def update(**update):
    send(method="session/update", params={"sessionId": "s", "update": update})

def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(3)
    return json.loads(line)

def model(prompt):
    door = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("//")[1].split("/")[0], timeout=20)
    body = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": prompt}]}
    door.request("POST", "/v1/chat/completions", json.dumps(body), {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    return json.loads(door.getresponse().read())["choices"][0]["message"]["content"]

while True:
    asked = hear()
    if asked["method"] == "initialize":
        print("a note that is no message", flush=True)
        send(id=asked["id"], result={"protocolVersion": 1, "agentInfo": {"name": "small", "version": "1.2.3"}})
    elif asked["method"] == "session/new":
        if how == "locked":
            send(id=asked["id"], error={"code": -32000, "message": "Authentication required"})
            continue
        send(id=asked["id"], result={"sessionId": "s"})
    else:
        if how == "dies":
            sys.exit(0)
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Let me see."})
        update(sessionUpdate="tool_call", toolCallId="c1", title="Write b.txt", kind="execute", status="pending", rawInput={"command": "echo"})
        options = [{"optionId": "n", "name": "No", "kind": "reject_once"}, {"optionId": "e", "name": "Ever", "kind": "allow_always"}, {"optionId": "y", "name": "Yes", "kind": "allow_once"}]
        send(id="p1", method="session/request_permission", params={"sessionId": "s", "toolCall": {"toolCallId": "c1"}, "options": options})
        assert hear()["result"]["outcome"]["optionId"] == "y"
        send(id="f1", method="fs/write_text_file", params={"sessionId": "s", "path": "/etc/x", "content": ""})
        assert hear()["error"]["code"] == -32601
        done = subprocess.run("echo two > b.txt", shell=True, capture_output=True, text=True)
        content = [{"type": "content", "content": {"type": "text", "text": done.stderr or "written"}}]
        update(sessionUpdate="tool_call_update", toolCallId="c1", status="completed" if done.returncode == 0 else "failed", content=content)
        words = model(asked["params"]["prompt"][0]["text"])
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": words[:5]})
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": words[5:]})
        send(id=asked["id"], result={"stopReason": "refusal" if how == "refuses" else "end_turn"})
"##;

struct AcpAgentScene {
    env: TestEnv,
    repo: TestWorkspace,
}

impl AcpAgentScene {
    fn new() -> Self {
        let env = TestEnv::new(BIN);
        let program = env.write("agents/small-agent", AGENT);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        Self { env, repo }
    }

    fn run(&self, mode: &str, how: &str, last: &str) -> CommandEnd {
        let tape = self.env.write("work/tape.yaml", format!("- text: \"{last}\"\n"));
        let call =
            self.env.holon(["run", "--mode", mode, "--goal", "Add b.txt", "--agent", "acp", "--replay"]);
        let call = call.arg(&tape).args(["--no-auto-checks", "--out", "../out", "--", "small-agent", how]);
        call.env("HOLON_AGENTS_DIR", self.env.root().join("agents")).cwd(self.repo.path()).run()
    }

    fn out(&self, name: &str) -> String {
        fs::read_to_string(self.env.work().join("out").join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn manifest(&self) -> Value {
        serde_json::from_str(&self.out("manifest.json")).unwrap()
    }
}

#[test]
fn a_turn_is_held_and_told() {
    let scene = AcpAgentScene::new();
    let before = tree_state(scene.repo.path());
    let output = scene.run("execute", "works", "I wrote b.txt, as I was asked to.");
    output.assert_code(0);
    assert!(scene.out("diff.patch").contains("+two"));
    assert_eq!(scene.out("summary.md").trim(), "I wrote b.txt, as I was asked to.");
    let events = scene.out("evidence/events.jsonl");
    assert!(events.contains("\"tool\":\"execute\"") && events.contains("\"class\":\"exec\""), "{events}");
    assert!(events.contains("tool_finished"), "{events}");
    assert_eq!(scene.manifest()["metadata"]["agent"]["version"], "1.2.3");

    let plan = "# Plan\\n\\n## Goal\\nG.\\n\\n## Context\\nC.\\n\\n## Steps\\n1. S.\\n\\n## Risks\\nR.\\n\\n## Verification\\nV.\\n";
    scene.run("plan", "works", plan).assert_code(0);
    assert!(scene.out("evidence/events.jsonl").to_lowercase().contains("read-only file system"));
    assert_unchanged(&before, scene.repo.path());
    scene.env.assert_nothing_left();
}

#[test]
fn an_end_that_is_none_is_a_failure() {
    let scene = AcpAgentScene::new();
    for (how, kind) in [("refuses", "refused"), ("locked", "credentials"), ("dies", "agent_failed")] {
        scene.run("execute", how, "Something.").assert_code(1);
        assert_eq!(scene.manifest()["error"]["kind"], kind, "{how}: {:#}", scene.manifest());
    }
    let call =
        scene.env.holon(["run", "--goal", "x", "--agent", "acp", "--out", "../out"]).cwd(scene.repo.path());
    call.run().assert_code(64).assert_stderr("needs the name of a program");
}
