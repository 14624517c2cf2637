//! Budgets end a run cleanly: it says which one, and what was made is kept.

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_model::{TokenUsage, WireFormat};
use holon_testkit::TestEnv;
use holon_testkit::model::{ModelServer, ScriptedResponse};
use serde_json::Value;

use crate::stage::{BIN, KEY, PlayedProvider, artifact, asking, ended, events, named, of_type, repo, run};

/// A model that never comes to an end.
fn restless(usage: TokenUsage) -> ModelServer {
    ModelServer::improvise(move |_, seen| {
        let call = |name: &str, arguments: &str| {
            CassetteStep::Call(CassetteCall {
                name: name.into(),
                arguments: arguments.into(),
                ..CassetteCall::default()
            })
        };
        let asked = seen.body["messages"].as_array().map_or(0, Vec::len);
        let steps = match asked {
            0..=2 => vec![call("edit_file", r#"{"path":"a.txt","old":"one","new":"two"}"#)],
            _ => vec![call("ls", "{}"), call("execute", r#"{"command":"echo again"}"#)],
        };
        ScriptedResponse::from(CassetteTurn { steps, usage: Some(usage), ..CassetteTurn::default() })
    })
}

fn small() -> TokenUsage {
    TokenUsage { input: 100, output: 10, ..TokenUsage::default() }
}

#[track_caller]
fn assert_spent(env: &TestEnv, manifest: &Value, limit: &str) {
    assert_eq!((&manifest["status"], &manifest["outcome"]), (&"timeout".into(), &"failure".into()));
    assert_eq!(manifest["error"]["kind"], limit, "{manifest:#}");
    assert!(manifest["error"]["hint"].as_str().unwrap().contains("--max-"), "{manifest:#}");
    let events = events(env);
    let hits = of_type(&events, "limit_hit");
    assert_eq!(hits.len(), 1, "{hits:#?}");
    assert_eq!(hits[0]["limit"], limit);
    assert!(artifact(env, "diff.patch").contains("+two"), "what was made so far is kept");
    assert!(!artifact(env, "evidence/model.yaml").is_empty());
}

#[test]
fn rounds_end_an_endless_loop() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let server = restless(small());
    let call = run(&env, &repo, "execute", &["--max-rounds", "7"]);
    let manifest = ended(&env, &asking(call, PlayedProvider::OpenRouter, &server).run(), 1);
    assert_spent(&env, &manifest, "rounds");
    assert_eq!(of_type(&events(&env), "round_started").len(), 7);
    env.assert_nothing_left();
}

#[test]
fn money_ends_a_run_by_the_providers_own_figure() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let server = restless(TokenUsage { cost_usd: Some(0.04), ..small() });
    let call = run(&env, &repo, "execute", &["--max-cost", "0.10"]);
    let manifest = ended(&env, &asking(call, PlayedProvider::OpenRouter, &server).run(), 1);
    assert_spent(&env, &manifest, "cost_usd");
    let cost = manifest["metadata"]["usage"]["cost_usd"].as_f64().unwrap();
    assert!((0.119..0.121).contains(&cost), "{manifest:#}");
    assert_eq!(of_type(&events(&env), "round_started").len(), 3);
}

#[test]
fn money_ends_a_run_by_the_price_list() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    // Anthropic tells tokens only; a million of them costs dollars at any price there is.
    let server = restless(TokenUsage { input: 1_000_000, ..small() });
    let call = named(
        run(&env, &repo, "execute", &["--max-cost", "0.50"]),
        PlayedProvider::Anthropic,
        &server.base(),
    );
    let manifest = ended(&env, &call.env("ANTHROPIC_API_KEY", KEY).run(), 1);
    assert!(manifest["metadata"]["usage"]["cost_usd"].as_f64().unwrap() > 0.5, "{manifest:#}");
    assert_eq!(manifest["error"]["kind"], "cost_usd", "{manifest:#}");
    assert_eq!(manifest["status"], "timeout");
}

#[test]
fn a_limit_of_money_that_cannot_hold_is_named() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let word = "warning: a limit of 0.5 dollars cannot hold this run: nobody says what scripted-model";
    let ask = |args: &[&str]| {
        let server =
            ModelServer::play(WireFormat::Chat, "- tool: finish\n  args: { summary: Nothing to do. }\n");
        let call = run(&env, &repo, "execute", args).env("HOLON_BASE_URL", server.base());
        call.env("HOLON_MODEL", "scripted-model").run()
    };
    ask(&["--max-cost", "0.5"]).assert_code(0).assert_stderr(word);
    let unlimited = ask(&[]);
    assert!(!unlimited.assert_code(0).stderr.contains("cannot hold"), "{unlimited}");
}

#[test]
fn time_ends_a_run_in_the_middle_of_anything() {
    let waits = [
        ("a command", "- tool: execute\n  args: { command: sleep 600, timeout: 900 }\n"),
        ("an answer", "- reply: [{ text: Well }, { delay: 9s }]\n"),
        ("a pause", "- error: { kind: rate_limit, retry_after: 20s }\n"),
    ];
    for (what, script) in waits {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let edit = "- tool: edit_file\n  args: { path: a.txt, old: one, new: two }\n";
        let server = ModelServer::play(PlayedProvider::Anthropic.wire(), &format!("{edit}{script}"));
        let call = run(&env, &repo, "execute", &["--timeout", "1s"]);
        let output = asking(call, PlayedProvider::Anthropic, &server).run();
        let manifest = ended(&env, &output, 1);
        assert_eq!((&manifest["status"], &manifest["error"]["kind"]), (&"timeout".into(), &"timeout".into()));
        assert!(artifact(&env, "diff.patch").contains("+two"), "{what}");
        assert!(output.elapsed.as_secs() < 8, "{what}: {:?}", output.elapsed);
        env.assert_nothing_left();
    }
}

#[test]
fn a_command_that_prints_is_a_sign_of_life_and_silence_is_not() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let chatty = "
- tool: execute
  args: { command: \"for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.3; done\" }
- tool: finish
  args: { summary: It took its time. }
";
    let output = crate::stage::play(&env, &repo, "execute", chatty, &["--idle-timeout", "1s"]);
    ended(&env, &output, 0);
    let silent = chatty.replace("echo $i;", ":;");
    let output = crate::stage::play(&env, &repo, "execute", &silent, &["--idle-timeout", "1s"]);
    assert_eq!(ended(&env, &output, 1)["error"]["kind"], "idle_timeout");
}
