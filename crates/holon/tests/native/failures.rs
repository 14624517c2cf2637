//! A model that does not answer as it should: each run ends as it must, with a manifest.

use std::net::TcpListener;

use holon_testkit::model::{BodyPiece, ModelServer, ScriptedResponse};
use holon_testkit::{CommandEnd, TestEnv, assert_unchanged, tree_state};
use serde_json::Value;

use crate::stage::{
    BIN, EDIT, KEY, PlayedProvider, artifact, asking, ended, events, files_below, named, of_type, out,
    questions, repo, run,
};

/// Runs once with a script for the model and a number of repetitions.
fn told(who: PlayedProvider, script: &str, retries: &str) -> (TestEnv, CommandEnd, Value, ModelServer) {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let before = tree_state(repo.path());
    let server = ModelServer::play(who.wire(), script);
    let call = asking(run(&env, &repo, "execute", &[]), who, &server).env("HOLON_RETRIES", retries);
    let output = call.run();
    assert_unchanged(&before, repo.path());
    let manifest = output.manifest(out(&env));
    (env, output, manifest, server)
}

#[track_caller]
fn assert_failed(told: &(TestEnv, CommandEnd, Value, ModelServer), kind: &str, words: &str) {
    let (env, output, manifest, _) = told;
    ended(env, output, 1);
    // A model that declines came to an end.
    let status = if kind == "refused" { "completed" } else { "failed" };
    assert_eq!((&manifest["status"], &manifest["outcome"]), (&status.into(), &"failure".into()));
    assert_eq!(manifest["error"]["kind"], kind, "{manifest:#}");
    assert!(manifest["error"]["message"].as_str().unwrap().contains(words), "{manifest:#}");
    assert!(manifest["error"]["hint"].is_string(), "it says what to do: {manifest:#}");
    output.assert_stderr(words);
    assert_eq!(events(env).last().unwrap()["type"], "run_finished");
}

#[test]
fn a_rate_limit_is_waited_out_as_the_server_asks() {
    for who in [PlayedProvider::OpenRouter, PlayedProvider::Anthropic] {
        let script = format!("- error: {{ kind: rate_limit, retry_after: 20ms }}\n{EDIT}");
        let (env, output, _, server) = told(who, &script, "5");
        ended(&env, &output, 0);
        assert_eq!(server.requests().len(), 4);
        let events = events(&env);
        let waits = of_type(&events, "model_waiting");
        assert_eq!(waits.len(), 1, "{events:#?}");
        assert_eq!(waits[0]["wait_ms"], 20);
        assert!(artifact(&env, "diff.patch").contains("+two"));
    }
}

#[test]
fn a_limit_that_stays_is_a_failure() {
    let script = "- error: { kind: rate_limit, retry_after: 1ms, message: too many }\n".repeat(6);
    let told = told(PlayedProvider::OpenRouter, &script, "5");
    assert_failed(&told, "model", "too many");
    assert_eq!(told.3.left(), 0, "five repetitions, and no more");
    // One that asks for more patience than there is fails at once.
    let patient =
        self::told(PlayedProvider::Anthropic, "- error: { kind: rate_limit, retry_after: 1h }\n", "5");
    assert_failed(&patient, "model", "");
}

#[test]
fn a_run_that_waits_too_long_says_what_it_waited_for() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let script = "- error: { kind: rate_limit, retry_after: 25s, message: too many cooks }\n";
    let server = ModelServer::play(PlayedProvider::Anthropic.wire(), script);
    let call = run(&env, &repo, "execute", &["--idle-timeout", "6s"]);
    let output = asking(call, PlayedProvider::Anthropic, &server).run();
    let manifest = ended(&env, &output, 1);
    assert_eq!(
        (&manifest["status"], &manifest["error"]["kind"]),
        (&"timeout".into(), &"idle_timeout".into())
    );
    assert!(manifest["error"]["message"].as_str().unwrap().contains("too many cooks"), "{manifest:#}");
    assert!(manifest["error"]["hint"].as_str().unwrap().contains("the model"), "{manifest:#}");
}

#[test]
fn an_error_in_mid_stream_is_told_and_asked_again() {
    let broken = "- reply: [{ text: half }, { error: { kind: overloaded, message: upstream died } }]\n";
    for who in [PlayedProvider::OpenRouter, PlayedProvider::Anthropic] {
        assert_failed(&told(who, broken, "0"), "model", "upstream died");
    }
    let (env, output, _, _) = told(PlayedProvider::Anthropic, &format!("{broken}{EDIT}"), "1");
    ended(&env, &output, 0);
    let events = events(&env);
    assert_eq!(of_type(&events, "message_restarted").len(), 1, "{events:#?}");
}

#[test]
fn a_cut_stream_is_asked_for_again_and_fails_when_it_is_always_cut() {
    for (who, cut) in [
        (PlayedProvider::OpenRouter, "- text: half\n  cut: true\n"),
        (PlayedProvider::Anthropic, "- cut: true\n"),
    ] {
        let (env, output, _, _) = told(who, &format!("{cut}{EDIT}"), "1");
        ended(&env, &output, 0);
        let twice = told(who, &cut.repeat(2), "1");
        assert_failed(&twice, "model", "");
        assert_eq!(twice.3.left(), 0);
        // A call in half an answer was never made.
        assert!(of_type(&events(&twice.0), "tool_proposed").is_empty());
    }
}

#[test]
fn a_program_that_asks_gets_the_answer_and_nothing_that_was_cut_off() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let cut = "- text: The answer is for\n  cut: true\n- text: The answer is forty-two.\n";
    let script = format!("{cut}- text: half\n  cut: true\n{cut}");
    let server = ModelServer::play(PlayedProvider::Anthropic.wire(), &script);
    let ask = |how: &[&str], retries: &str| {
        let call = env.holon(["ask", "What is it?"]).args(how).cwd(repo.path()).env("HOLON_RETRIES", retries);
        asking(call, PlayedProvider::Anthropic, &server).run()
    };
    assert_eq!(ask(&["--whole"], "1").assert_code(0).stdout, "The answer is forty-two.\n");
    assert_eq!(ask(&["--whole"], "0").assert_code(1).stdout, "", "half an answer is none");
    // Whoever reads along has seen the half, and is told.
    let streamed = ask(&[], "1");
    streamed.assert_code(0).assert_stderr("the answer was cut off; it is asked for again");
    assert!(streamed.stdout.starts_with("The answer is for"), "{streamed}");
    assert!(streamed.stdout.ends_with("The answer is forty-two.\n"), "{streamed}");
}

#[test]
fn half_a_call_is_never_made() {
    let script = "- reply: [{ tool: write_file, args: { path: b.txt, content: x } }, { cut: true }]\n";
    for who in [PlayedProvider::OpenRouter, PlayedProvider::Anthropic] {
        let told = told(who, script, "0");
        assert_failed(&told, "model", "");
        assert!(of_type(&events(&told.0), "tool_proposed").is_empty());
        assert_eq!(told.2["no_changes"], true, "{:#}", told.2);
    }
}

#[test]
fn a_full_window_makes_room_once_and_then_fails_cleanly() {
    let fill = "- tool: execute\n  args: { command: \"seq 1 3000\" }\n".repeat(4);
    let script =
        format!("{fill}- error: context_overflow\n- tool: finish\n  args: {{ summary: Made it fit. }}\n");
    let (env, output, _, _) = told(PlayedProvider::Anthropic, &script, "0");
    ended(&env, &output, 0);
    let events = events(&env);
    let compacted = of_type(&events, "compacted");
    assert_eq!(compacted.len(), 1, "{events:#?}");
    assert!(compacted[0]["after"].as_u64() < compacted[0]["before"].as_u64());

    let script = format!("{fill}{}", "- error: { kind: context_overflow, message: too long }\n".repeat(2));
    let full = told(PlayedProvider::OpenRouter, &script, "0");
    assert_failed(&full, "model", "too long");
    assert!(full.2["error"]["hint"].as_str().unwrap().contains("window"), "{:#}", full.2);
    // With nothing to shorten it is not asked twice.
    let tiny =
        told(PlayedProvider::OpenRouter, "- error: { kind: context_overflow, message: too long }\n", "0");
    assert_failed(&tiny, "model", "too long");
}

#[test]
fn a_refused_key_is_about_credentials_on_every_wire() {
    for who in PlayedProvider::ALL {
        let told = told(who, "- error: { kind: auth, message: no such user }\n", "5");
        assert_failed(&told, "credentials", "no such user");
        assert_eq!(questions(&told.3).len(), 1, "asking again would not help");
    }
}

#[test]
fn other_refusals_have_their_own_words() {
    for (script, kind, words) in [
        ("- error: { kind: billing, message: no credit left }\n", "model", "no credit left"),
        ("- error: { kind: refused, message: not this }\n", "refused", "not this"),
        ("- text: I will not.\n  stop: refusal\n", "refused", "I will not."),
        ("- error: { kind: bad_request, message: no such model }\n", "model", "no such model"),
    ] {
        assert_failed(&told(PlayedProvider::Anthropic, script, "0"), kind, words);
    }
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let nonsense = ScriptedResponse::stream([BodyPiece::Bytes(b"data: {not json\n\n".to_vec())]);
    let server = ModelServer::start(PlayedProvider::OpenRouter.wire(), [nonsense]);
    let call = asking(run(&env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &server)
        .env("HOLON_RETRIES", "0");
    let manifest = ended(&env, &call.run(), 1);
    assert_eq!(manifest["error"]["kind"], "model", "{manifest:#}");
}

#[test]
fn a_missing_key_fails_before_anything_starts() {
    for who in [PlayedProvider::OpenRouter, PlayedProvider::Anthropic, PlayedProvider::OpenAi] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let server = ModelServer::play(who.wire(), EDIT);
        let output = named(run(&env, &repo, "execute", &[]), who, &server.base()).run();
        let manifest = ended(&env, &output, 1);
        assert_eq!(manifest["error"]["kind"], "credentials", "{manifest:#}");
        assert!(manifest["error"]["message"].as_str().unwrap().contains(who.key_variable()), "{manifest:#}");
        output.assert_stderr(who.key_variable());
        assert!(server.requests().is_empty());
        let events = events(&env);
        let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert!(!kinds.contains(&"agent_started"), "{kinds:?}");
    }
    // Without a provider, a key or a server there is nobody to ask, and it says what would help.
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let output = run(&env, &repo, "plan", &["--provider", "anthropic"]).run();
    let manifest = ended(&env, &output, 1);
    assert_eq!(manifest["error"]["kind"], "credentials");
    output.assert_stderr("ANTHROPIC_API_KEY");
}

#[test]
fn what_is_wrong_here_is_not_said_of_the_provider() {
    for (variables, words) in [
        ([("HOLON_BASE_URL", "localhost:1234"), ("HOLON_MODEL", "m")], "`localhost:1234` is no base URL"),
        ([("HOLON_BASE_URL", "http://example.com/v1"), ("HOLON_MODEL", "m")], "is not encrypted"),
        ([("HOLON_BASE_URL", "http://127.0.0.1:9/v1"), ("HOLON_RETRIES", "0")], "nobody lists models"),
        ([("HOLON_PROVIDER", "nonesuch"), ("HOLON_RETRIES", "many")], "HOLON_RETRIES is `many`"),
        ([("HOLON_PROVIDER", "nonesuch"), ("HOLON_MODEL", "m")], "unknown provider `nonesuch`"),
    ] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let call = run(&env, &repo, "execute", &[]).env("HOLON_API_KEY", KEY);
        let output = variables.into_iter().fold(call, |call, (name, value)| call.env(name, value)).run();
        let manifest = ended(&env, &output, 1);
        let message = manifest["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("no model can be asked: ") && message.contains(words), "{message}");
    }
}

#[test]
fn a_server_that_is_not_there_is_a_failure_of_the_network() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for who in [PlayedProvider::OpenRouter, PlayedProvider::Anthropic] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let call = named(run(&env, &repo, "execute", &[]), who, &format!("http://{gone}/v1"));
        let output = call.env(who.key_variable(), KEY).env("HOLON_RETRIES", "0").run();
        let manifest = ended(&env, &output, 1);
        assert_eq!(manifest["error"]["kind"], "model", "{manifest:#}");
        assert!(manifest["error"]["hint"].as_str().unwrap().contains("network"), "{manifest:#}");
        assert!(files_below(&env.state()).len() > 3, "the run is in the store");
    }
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let call =
        named(run(&env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &format!("http://{gone}/v1"));
    let output = call.env("OPENROUTER_API_KEY", KEY).env("HOLON_RETRIES", "often").run();
    ended(&env, &output, 1);
    output.assert_stderr("HOLON_RETRIES is `often`");
}
