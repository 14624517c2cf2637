//! Ends nobody planned: a person's, the kernel's, the power switch's. Each leaves a manifest and nothing running.

use std::fs;

use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};
use holon_testkit::{Invocation, TestEnv, for_each_identity};
use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{BIN, PlayedProvider, artifact, asking, events, named, of_type, out, repo, run};

const EDIT: &str = "- tool: edit_file\n  args: { path: a.txt, old: one, new: two }\n";

fn manifest(env: &TestEnv) -> Value {
    serde_json::from_str(&artifact(env, "manifest.json")).unwrap()
}

/// A server that answers an edit and then says something without an end.
fn trailing_off() -> ModelServer {
    let edit = EDIT.parse::<holon_model::Cassette>().unwrap().turns.remove(0);
    let begun = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Let me think\\n\"}}]}\n\n";
    let endless = ScriptedResponse::stream([BodyPiece::Bytes(begun.into()), BodyPiece::Hang]);
    ModelServer::start(PlayedProvider::OpenRouter.wire(), [edit.into(), endless])
}

fn in_mid_stream(env: &TestEnv, server: &ModelServer) -> Invocation {
    let repo = repo(env);
    asking(run(env, &repo, "execute", &["--json"]), PlayedProvider::OpenRouter, server)
}

fn in_mid_command(env: &TestEnv) -> Invocation {
    let repo = repo(env);
    let wait =
        "- tool: execute\n  args: { command: \"echo begun > begun.txt; (setsid sleep 611 &); sleep 612\" }\n";
    let tape = env.write("work/cassette.yaml", format!("{EDIT}{wait}"));
    run(env, &repo, "execute", &["--json", "--replay"]).arg(tape)
}

#[test]
fn ctrl_c_in_mid_stream_cancels() {
    let env = TestEnv::new(BIN);
    let server = trailing_off();
    let mut running = in_mid_stream(&env, &server).spawn();
    running.wait_for_text("Let me think");
    running.signal(Signal::INT);
    let output = running.wait();
    output.assert_code(1);
    assert!(output.elapsed.as_secs() < 20, "{:?}", output.elapsed);
    let told = manifest(&env);
    assert_eq!((&told["status"], &told["error"]["kind"]), (&"cancelled".into(), &"cancelled".into()));
    assert!(artifact(&env, "diff.patch").contains("+two"), "what was made is kept");
    assert_eq!(events(&env).last().unwrap()["type"], "run_finished");
    env.assert_nothing_left();
}

#[test]
fn ctrl_c_and_its_relatives_in_mid_command_cancel_and_leave_nothing_running() {
    for_each_identity(BIN, |env| {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let _ = fs::remove_dir_all(env.work().join("repo"));
            let mut running = in_mid_command(env).spawn();
            running.wait_for_text("\"2-1\",\"verdict\":\"allow\"");
            running.signal(signal);
            running.wait().assert_code(1);
            let told = manifest(env);
            assert_eq!(told["status"], "cancelled", "{told:#}");
            assert_eq!(told["exit_code"], 1);
            env.assert_nothing_left();
        }
    });
}

#[test]
fn inv_03_a_killed_host_takes_its_hands_along_and_the_run_is_marked() {
    for_each_identity(BIN, |env| {
        let mut running = in_mid_command(env).spawn();
        running.wait_for_text("\"2-1\",\"verdict\":\"allow\"");
        running.kill();
        env.assert_nothing_left();
        let repo = env.work().join("repo");
        env.holon(["runs", "list"]).cwd(&repo).run().assert_code(0).assert_stdout("interrupted");
        let folder = env.runs().pop().unwrap();
        let text = fs::read_to_string(folder.join("output/manifest.json")).unwrap();
        let told: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&told["status"], &told["exit_code"]), (&"interrupted".into(), &1.into()), "{told:#}");
        // What it had said was on disk as it was said.
        assert!(fs::read_to_string(folder.join("evidence/model.yaml")).unwrap().contains("edit_file"));
    });
}

#[test]
fn a_command_that_kills_the_hands_is_a_clear_failure() {
    for_each_identity(BIN, |env| {
        for kill in ["kill -9 -1", "kill -9 $PPID; sleep 600", "sh -c 'kill -9 -1' & sleep 600"] {
            let _ = fs::remove_dir_all(env.work().join("repo"));
            let repo = repo(env);
            let script =
                format!("{EDIT}- tool: execute\n  args: {{ command: \"{kill}\" }}\n- text: Still here?\n");
            let output = crate::stage::play(env, &repo, "execute", &script, &[]);
            output.assert_code(1);
            let told = manifest(env);
            assert_eq!(
                (&told["status"], &told["outcome"]),
                (&"failed".into(), &"failure".into()),
                "{told:#}"
            );
            assert_eq!(told["error"]["kind"], "hands_gone", "{kill}: {told:#}");
            assert!(told["error"]["hint"].as_str().unwrap().contains("killed"), "{told:#}");
            env.assert_nothing_left();
        }
    });
}

#[test]
fn hands_that_die_while_the_model_is_asked_end_the_run_at_once() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let script = "- tool: execute\n  args: { command: \"sleep 1; kill -9 -1\", background: true }\n";
    let turn = script.parse::<holon_model::Cassette>().unwrap().turns.remove(0);
    let server = ModelServer::start(
        PlayedProvider::OpenRouter.wire(),
        [turn.into(), ScriptedResponse::stream([BodyPiece::Hang])],
    );
    let output = asking(run(&env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &server).run();
    output.assert_code(1);
    assert!(output.elapsed.as_secs() < 8, "nobody waits for a model without hands: {:?}", output.elapsed);
    assert_eq!(manifest(&env)["error"]["kind"], "hands_gone");
    env.assert_nothing_left();
}

#[test]
fn an_answer_that_comes_while_the_run_is_cancelled_changes_nothing() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let slow = "- reply: [{ delay: 3s }, { tool: write_file, args: { path: late.txt, content: x } }]\n";
    let server = ModelServer::play(PlayedProvider::Anthropic.wire(), slow);
    let call = named(run(&env, &repo, "execute", &["--json"]), PlayedProvider::Anthropic, &server.base());
    let mut running = call.env("ANTHROPIC_API_KEY", crate::stage::KEY).spawn();
    running.wait_for_text("\"round_started\"");
    running.signal(Signal::TERM);
    running.wait().assert_code(1);
    assert!(of_type(&events(&env), "tool_proposed").is_empty());
    assert_eq!(manifest(&env)["no_changes"], true);
    assert!(out(&env).join("evidence/model.yaml").exists());
}
