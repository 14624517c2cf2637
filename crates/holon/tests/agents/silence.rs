//! What a person hears while a foreign agent and its provider have trouble with each other.

use std::sync::atomic::{AtomicUsize, Ordering};

use holon_model::cassette::CassetteTurn;
use holon_testkit::TestEnv;
use holon_testkit::model::{ModelServer, ScriptedResponse};
use serde_json::Value;

use crate::BIN;

/// Asks until it is answered, four times at most.
const AGENT: &str = r##"#!/usr/bin/python3
import http.client, json, os
for _ in range(4):
    door = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("//")[1].split("/")[0], timeout=20)
    body = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": "Hello"}]}
    door.request("POST", "/v1/chat/completions", json.dumps(body), {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    answer = door.getresponse()
    said = json.loads(answer.read())
    if answer.status == 200:
        print(said["choices"][0]["message"]["content"])
        break
"##;

const DESCRIPTION: &str = r#"
name = "stubborn"
kind = "exec"
command = ["{program}"]
env = { OPENAI_BASE_URL = "{gateway}/v1", OPENAI_API_KEY = "{token}", OPENAI_MODEL = "{model}" }
find = { program = "stubborn", install = "it is a script of the test" }
model = { wire = "chat" }
"#;

#[test]
fn failures_of_the_provider_are_told_while_the_agent_tries_again() {
    let env = TestEnv::new(BIN);
    let agents = env.agent("stubborn", AGENT).parent().unwrap().to_owned();
    let repo = env.repo().file("a.txt", "one\n").file(".holon/agents/s.toml", DESCRIPTION).commit("first");
    let asked = AtomicUsize::new(0);
    let server = ModelServer::improvise(move |_, _| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => ScriptedResponse::json(503, r#"{"error": {"message": "no capacity"}}"#),
        1 => ScriptedResponse::json(429, r#"{"error": {"message": "slow down"}}"#).header("retry-after", "3"),
        _ => CassetteTurn::text("Looked around.").into(),
    });
    let call =
        env.holon(["run", "--goal", "x", "--agent", "stubborn", "--no-auto-checks", "--out", "../out"]);
    let call = call.args(["--model", "gpt-4.1"]).cwd(repo.path()).env("HOLON_AGENTS_DIR", agents);
    let call = call.env("HOLON_BASE_URL", server.base()).env("HOLON_PROVIDER", "openai");
    let output = call.env("OPENAI_API_KEY", "sk-real-key-0123456789abcdefghij").run();
    output.assert_code(0);
    output.assert_stderr("a request to the model failed").assert_stderr("no capacity");
    output.assert_stderr("2 requests to the model failed in a row").assert_stderr("waiting 3");
    output.assert_stderr("answers again, after 2 failed requests");
    let events = std::fs::read_to_string(env.work().join("out/evidence/events.jsonl")).unwrap();
    let waits = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let waits: Vec<u64> = waits.filter_map(|event| event["wait_ms"].as_u64()).collect();
    assert_eq!(waits, [0, 3000, 0], "{events}");
}
