//! Agents that the tests do without where they are not installed: `cargo xtask setup agents` brings them, `.ci/run` does
//! without. They hand over the same things and fail in the same ways as the others.

use holon_model::ReplyStop;
use holon_model::cassette::{CassetteStep, CassetteTurn};
use holon_testkit::model::{BodyPiece, ReceivedRequest, ScriptedResponse};
use holon_testkit::{assert_unchanged, tree_state};
use serde_json::Value;

use crate::stage::{KEY, LAST_WORDS, ModelPart, PLAN, RealAgentStage, ScriptedToolCall, call, is_installed};

fn all() -> impl Iterator<Item = &'static str> {
    ["gemini", "goose", "qwen"].into_iter().filter(|agent| is_installed(agent))
}

fn set(agent: &str, shell: &[&str], last: &str) -> RealAgentStage {
    RealAgentStage::set(agent, ModelPart::new(shell, last)).unwrap()
}

fn with(
    agent: &str,
    answer: impl Fn(usize, &ReceivedRequest) -> ScriptedResponse + Send + Sync + 'static,
) -> RealAgentStage {
    RealAgentStage::with(agent, answer).unwrap()
}

/// Runs it to a good end and gives the manifest; nothing changed but the artifacts.
fn succeeds(stage: &RealAgentStage, mode: &str, artifacts: &[&str]) -> Value {
    let before = tree_state(stage.repo.path());
    let output = stage.run(mode, &[]).run();
    output.assert_code(0);
    assert_unchanged(&before, stage.repo.path());
    let manifest = stage.manifest();
    let all = manifest["artifacts"].as_array().unwrap();
    for name in artifacts {
        assert!(
            all.iter().any(|a| a["path"] == *name && a["valid"] == true),
            "{name}: {manifest:#}\n{output}"
        );
    }
    assert_eq!(manifest["metadata"]["adapter"], stage.agent.as_str());
    assert_eq!(manifest["metadata"]["sandbox"]["enforced"]["net_ns"], true);
    stage.env.assert_nothing_left();
    manifest
}

fn fails(stage: &RealAgentStage, args: &[&str], status: &str, kinds: &[&str]) {
    stage.run("execute", args).run().assert_code(1);
    let manifest = stage.manifest();
    assert_eq!(manifest["status"], status, "{}: {manifest:#}", stage.agent);
    let kind = manifest["error"]["kind"].as_str().unwrap();
    assert!(kinds.contains(&kind), "{}: {kind} is none of {kinds:?}\n{manifest:#}", stage.agent);
    stage.env.assert_nothing_left();
}

#[test]
fn execute_plan_and_review_hand_over_what_they_must() {
    for agent in all() {
        let stage = set(agent, &["echo two > b.txt"], LAST_WORDS);
        let manifest = succeeds(&stage, "execute", &["diff.patch", "summary.md"]);
        let patch = stage.out("diff.patch");
        assert!(patch.contains("+two") && patch.matches("diff --git ").count() == 1, "{agent}: {patch}");
        assert_eq!(stage.out("summary.md").trim(), LAST_WORDS, "{agent}");
        assert!(manifest["metadata"]["usage"]["input"].as_u64().unwrap() > 0, "{agent}: {manifest:#}");
        let events = stage.out("evidence/events.jsonl");
        for kind in ["tool_proposed", "tool_finished", "message_delta", "round_started", "usage"] {
            assert!(events.contains(&format!("\"type\":\"{kind}\"")), "{agent}: no {kind}:\n{events}");
        }
        let stage = set(agent, &["echo two > b.txt; echo tried"], PLAN);
        succeeds(&stage, "plan", &["plan.md"]);
        assert!(stage.asked().to_lowercase().contains("read-only file system"), "{agent} was not told why");
        assert!(!stage.env.work().join("out/diff.patch").exists(), "{agent}");
        let review =
            "One thing.\n\n```json\n{\"version\": 1, \"verdict\": \"comment\", \"findings\": []}\n```\n";
        succeeds(&set(agent, &["cat a.txt"], review), "review", &["review.json", "summary.md"]);
    }
}

#[test]
fn inv_07_refusals_and_keys_that_are_not_accepted_are_told() {
    for agent in all() {
        let refused = CassetteTurn {
            steps: vec![CassetteStep::Text("I cannot help with that.".into())],
            stop: Some(ReplyStop::Refusal),
            ..CassetteTurn::default()
        };
        let stage = with(agent, move |_, _| refused.clone().into());
        fails(&stage, &[], "failed", &["refused"]);
        let body = r#"{"error":{"type":"invalid_request_error","code":"invalid_api_key","message":"no"}}"#;
        let stage = with(agent, move |_, _| ScriptedResponse::json(401, body));
        fails(&stage, &["--timeout", "3m"], "failed", &["credentials"]);
    }
}

#[test]
fn inv_08_hangs_loops_and_crashes_end() {
    for agent in all() {
        let stage = with(agent, |_, _| ScriptedResponse::stream([BodyPiece::Hang]));
        fails(&stage, &["--idle-timeout", "8s"], "timeout", &["idle_timeout"]);
        let stage = with(agent, move |round, _| {
            let deed = ScriptedToolCall::Shell(format!("echo {round}"));
            CassetteTurn { steps: vec![CassetteStep::Call(call(agent, &deed))], ..CassetteTurn::default() }
                .into()
        });
        fails(&stage, &["--max-rounds", "4"], "timeout", &["rounds"]);
        assert!(stage.seen.lock().unwrap().len() <= 5, "{agent}");
        let stage = set(agent, &["kill -9 -1; kill -9 $PPID"], LAST_WORDS);
        fails(&stage, &[], "failed", &["agent_killed", "agent_failed", "no_end"]);
    }
}

#[test]
fn inv_06_gemini_has_a_placeholder_and_no_key() {
    let look = "cat /proc/*/environ /proc/*/cmdline ~/.gemini/* 2>/dev/null | tr '\\0' '\\n'; echo looked";
    let Some(agent) = all().find(|agent| *agent == "gemini") else { return };
    let stage = set(agent, &[look], LAST_WORDS);
    stage.run("execute", &[]).env("GEMINI_API_KEY", KEY).env("GOOGLE_API_KEY", KEY).run().assert_code(0);
    let asked = stage.asked();
    assert!(asked.contains("looked") && asked.contains("GEMINI_API_KEY=holon-"), "{asked}");
    assert!(!asked.contains(KEY), "it found the key");
    for seen in stage.seen.lock().unwrap().iter() {
        assert!(seen.header("authorization").unwrap_or_default().ends_with(KEY));
        assert_eq!(seen.header("x-goog-api-key"), None, "the placeholder stays inside");
        assert!(!seen.path.contains("key="), "{}", seen.path);
    }
}
