//! How real agents fail, and that the exit code and the manifest say so.

use holon_model::ReplyStop;
use holon_model::cassette::{CassetteStep, CassetteTurn};
use holon_testkit::TestEnv;
use holon_testkit::model::{BodyPiece, ScriptedResponse};

use crate::stage::{ALL, LAST_WORDS, ModelPart, RealAgentStage, ScriptedToolCall, call};

/// Modes with and without a writable workspace end the same way.
const MODES: [&str; 3] = ["execute", "plan", "review"];

fn check(stage: &RealAgentStage, mode: &str, args: &[&str], status: &str, kinds: &[&str]) {
    let output = stage.run(mode, args).run();
    output.assert_code(1);
    let manifest = stage.manifest();
    let agent = format!("{} in {mode}", stage.agent);
    assert_eq!(manifest["status"], status, "{agent}: {manifest:#}");
    assert_eq!(manifest["outcome"], "failure");
    let kind = manifest["error"]["kind"].as_str().unwrap();
    assert!(kinds.contains(&kind), "{agent}: {kind} is none of {kinds:?}\n{manifest:#}");
    stage.env.assert_nothing_left();
}

fn everywhere() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.into_iter().flat_map(|agent| MODES.into_iter().map(move |mode| (agent, mode)))
}

#[test]
fn inv_07_a_refusal_is_a_failure_for_all_agents() {
    for (agent, mode) in everywhere() {
        let Some(stage) = RealAgentStage::with(agent, |_, _| {
            CassetteTurn {
                steps: vec![CassetteStep::Text("I cannot help with that.".into())],
                stop: Some(ReplyStop::Refusal),
                ..CassetteTurn::default()
            }
            .into()
        }) else {
            continue;
        };
        check(&stage, mode, &[], "failed", &["refused"]);
    }
}

#[test]
fn inv_07_a_key_that_is_not_accepted_is_told() {
    for agent in ALL {
        let Some(stage) = RealAgentStage::with(agent, |_, _| {
            ScriptedResponse::json(
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            )
        }) else {
            continue;
        };
        check(&stage, "execute", &["--timeout", "3m"], "failed", &["credentials"]);
    }
}

#[test]
fn inv_07_missing_credentials_fail_before_anything_starts() {
    for (agent, mode) in everywhere() {
        let Some(stage) = RealAgentStage::set(agent, ModelPart::new(&[], LAST_WORDS)) else { continue };
        let run = stage.run(mode, &["--provider", "anthropic"]);
        let output = run
            .env_remove("HOLON_BASE_URL")
            .env_remove("HOLON_PROVIDER")
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .run();
        output.assert_code(1).assert_stderr("ANTHROPIC_API_KEY");
        let manifest = stage.manifest();
        assert_eq!(manifest["error"]["kind"], "credentials", "{manifest:#}");
        assert!(!stage.out("evidence/events.jsonl").contains("agent_started"), "{agent} was started");
    }
}

#[test]
fn inv_03_a_crash_leaves_a_manifest() {
    for (agent, mode) in everywhere() {
        // Everything of the agent, its init excepted, which is not for it to kill.
        let Some(stage) =
            RealAgentStage::set(agent, ModelPart::new(&["kill -9 -1; kill -9 $PPID"], LAST_WORDS))
        else {
            continue;
        };
        check(&stage, mode, &[], "failed", &["agent_killed", "agent_failed", "no_end"]);
    }
}

#[test]
fn inv_08_a_hang_ends_at_the_idle_limit() {
    for (agent, mode) in everywhere() {
        let Some(stage) = RealAgentStage::with(agent, |_, _| ScriptedResponse::stream([BodyPiece::Hang]))
        else {
            continue;
        };
        check(&stage, mode, &["--idle-timeout", "4s"], "timeout", &["idle_timeout"]);
    }
}

#[test]
fn a_loop_without_end_stops_at_the_rounds() {
    for (agent, mode) in everywhere() {
        let name = agent.to_owned();
        let Some(stage) = RealAgentStage::with(agent, move |round, _| {
            let deed = ScriptedToolCall::Shell(format!("echo {round}"));
            CassetteTurn { steps: vec![CassetteStep::Call(call(&name, &deed))], ..CassetteTurn::default() }
                .into()
        }) else {
            continue;
        };
        check(&stage, mode, &["--max-rounds", "4"], "timeout", &["rounds"]);
        let asked = stage.seen.lock().unwrap().len();
        assert!(asked <= 5, "{agent} asked {asked} times");
    }
}

#[test]
fn inv_04_garbage_is_a_failure_whatever_the_exit_code() {
    let garbage = "#!/bin/sh\nhead -c 100000 /dev/urandom | tr -d '\\n'\necho\necho '{\"type\":\"result\"'\necho '[]'\necho '{}'\nexit 0\n";
    for (agent, mode) in everywhere() {
        let program = agent.trim_end_matches("-code");
        let env = TestEnv::new(env!("CARGO_BIN_EXE_holon"));
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        let fake = env.write(format!("fakes/{program}"), garbage);
        std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let cassette = env.write("work/c.yaml", "- text: never asked for\n");
        let output = env
            .holon(["run", "--mode", mode, "--goal", "x", "--agent", agent, "--out", "../out", "--replay"])
            .arg(&cassette)
            .env("HOLON_AGENTS_DIR", fake.parent().unwrap())
            .cwd(repo.path())
            .run();
        output.assert_code(1);
        let text = std::fs::read_to_string(env.work().join("out/manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest["error"]["kind"], "no_end", "{agent}: {manifest:#}");
    }
}
