//! `holon models` as a person or a script meets it, without a network.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod selection;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use holon_model::WireFormat;
use holon_model::cassette::CassetteTurn;
use holon_testkit::model::{ModelServer, ScriptedResponse};
use holon_testkit::{CommandEnd, TestEnv};
use serde_json::json;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

fn run(env: &TestEnv, args: &[&str]) -> CommandEnd {
    env.holon(args).run()
}

#[test]
fn help_teaches() {
    let env = TestEnv::new(BIN);
    run(&env, &["models", "--help"]).assert_code(0).assert_stdout("list").assert_stdout("select");
    run(&env, &["models", "list", "--help"])
        .assert_code(0)
        .assert_stdout("Works offline")
        .assert_stdout("Examples:");
    run(&env, &["models", "select", "--help"])
        .assert_code(0)
        .assert_stdout("--max-price")
        .assert_stdout("holon models select --intent review --explain");
}

#[test]
fn the_table_is_listed_with_its_age() {
    let env = TestEnv::new(BIN);
    let list = run(&env, &["models", "list"]);
    list.assert_code(0)
        .assert_stdout("MODEL")
        .assert_stdout("anthropic/claude-")
        .assert_stdout("openai/gpt-")
        .assert_stderr("figures: the table that comes with Holon, 20");
    let filtered = run(&env, &["models", "list", "Claude", "--provider", "anthropic"]);
    filtered.assert_code(0);
    assert!(filtered.stdout.lines().skip(1).all(|line| line.starts_with("claude-")), "{filtered}");
    let json = run(&env, &["models", "list", "--json"]).json();
    assert_eq!(
        (json["provider"].as_str(), json["figures"]["from"].as_str()),
        (Some("openrouter"), Some("table"))
    );
    assert!(json["models"].as_array().unwrap().len() >= 20);
    run(&env, &["models", "list", "zzz"]).assert_code(0).assert_stderr("has `zzz` in its name");
    // Nothing was fetched, so nothing is kept.
    assert!(!env.cache().join("holon").exists());
}

#[test]
fn the_provider_with_a_key_is_the_default() {
    let env = TestEnv::new(BIN);
    let list = env.holon(["models", "list", "--json"]).env("OPENAI_API_KEY", "k").run();
    assert_eq!(list.json()["provider"], "openai");
    let asked =
        env.holon(["models", "list", "--json"]).env("OPENAI_API_KEY", "k").env("HOLON_PROVIDER", "Anthropic");
    assert_eq!(asked.run().json()["provider"], "anthropic");
}

#[test]
fn a_choice_is_one_word_on_standard_output_and_its_reason_beside_it() {
    let env = TestEnv::new(BIN);
    for intent in ["code", "architect", "review", "debug", "ethical", "orchestrate"] {
        let chosen = run(&env, &["models", "select", "--intent", intent]);
        chosen.assert_code(0).assert_stderr(&format!("fit {intent}")).assert_stderr("figures: the table");
        assert_eq!(chosen.stdout.split_whitespace().count(), 1, "{chosen}");
    }
    let explained = run(&env, &["models", "select", "--intent", "debug", "--max-price", "1.5", "--explain"]);
    explained
        .assert_code(0)
        .assert_stdout("Candidates, best first")
        .assert_stdout("Not possible")
        .assert_stdout("per million tokens is above $1.50");
    let json = run(&env, &["models", "select", "--intent", "review", "--json"]).json();
    assert_eq!(json["candidates"][0]["id"], json["model"]);
    assert_eq!((&json["intent"], &json["policy"]), (&"review".into(), &"auto".into()));
    assert_eq!(json["figures"]["from"], "table");
}

#[test]
fn policies_and_limits() {
    let env = TestEnv::new(BIN);
    let choose = |args: &[&str]| {
        let output = env.holon(["models", "select"]).args(args).run();
        output.assert_code(0);
        output.stdout.trim().to_owned()
    };
    assert_eq!(choose(&["--model", "some/thing"]), "some/thing");
    assert_eq!(choose(&["--policy", "pinned", "--model", "some/thing", "--max-price", "0"]), "some/thing");
    let auto = choose(&[]);
    assert_ne!(auto, choose(&["--policy", "cheapest"]));
    assert_ne!(auto, choose(&["--max-price", "1"]));
    assert!(choose(&["--provider", "anthropic"]).starts_with("claude-"));
    let kept = choose(&["--policy", "best"]);
    assert_eq!(choose(&["--policy", "best", "--current", &kept]), kept);
}

#[test]
fn what_cannot_be_is_explained() {
    let env = TestEnv::new(BIN);
    for (args, code, expected) in [
        (&["models", "select", "--intent", "reviw"][..], 64, "(did you mean `review`?)"),
        (
            &["models", "select", "--policy", "best-ever"],
            64,
            "the values are: auto, pinned, cheapest, best, legacy_default",
        ),
        (&["models", "select", "--min-context", "much"], 64, "such as 200000, 200k or 1M"),
        (&["models", "select", "--max-price", "cheap"], 64, "such as 2.50"),
        (&["models", "select", "--policy", "pinned"], 1, "hint: add --model"),
        (&["models", "select", "--min-context", "900M"], 1, "models fits code: "),
        (&["models", "list", "--provider", "antropic"], 64, "(did you mean `anthropic`?)"),
        (&["models", "list", "--provider", "openai", "--refresh"], 64, "openai has no list to fetch"),
    ] {
        let output = run(&env, args);
        output.assert_code(code).assert_stderr(expected);
        assert_eq!(output.stdout, "", "{args:?}");
    }
}

/// Serves these answers in order, and gives back the heads of what was asked.
fn serve(answers: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let answer = |answer: &String| {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(&stream).lines().map(Result::unwrap);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            stream.write_all(answer.as_bytes()).unwrap();
            head.join("\n").to_lowercase()
        };
        answers.iter().map(answer).collect()
    });
    (base, thread)
}

#[test]
fn a_fetched_list_is_kept_for_a_day_and_serves_offline() {
    let body = r#"{"data": [
        {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}},
        {"id": "anthropic/claude-sonnet-9", "context_length": 500000, "supported_parameters": ["tools", "structured_outputs"],
         "pricing": {"prompt": "0.000002", "completion": "0.00001"}}
    ]}"#;
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\netag: \"x\"\r\n";
    let (base, server) = serve(vec![format!("{head}content-length: {}\r\n\r\n{body}", body.len())]);
    let env = TestEnv::new(BIN);
    let holon = |args: &[&str]| {
        let key = "sk-or-v1-0123456789abcdef0123456789abcdef";
        let holon = env.holon(args).env("HOLON_PROVIDER", "openrouter").env("HOLON_BASE_URL", &base);
        holon.env("OPENROUTER_API_KEY", key).run()
    };
    let fetched = holon(&["models", "list", "--refresh"]);
    fetched
        .assert_code(0)
        .assert_stdout("anthropic/claude-sonnet-9")
        .assert_stderr("figures: fetched just now");
    let asked = server.join().unwrap();
    // The list is public: it is not asked for with a key.
    assert!(!asked[0].contains("sk-or-v1"), "{}", asked[0]);

    // The server is gone; within a day nobody misses it.
    let chosen = holon(&["models", "select", "--explain"]);
    chosen
        .assert_code(0)
        .assert_stdout("anthropic/claude-sonnet-9")
        .assert_stdout("stands for other models")
        .assert_stderr("figures: the cache, 0 min old");
    let refused = holon(&["models", "list", "--refresh"]);
    refused
        .assert_code(1)
        .assert_stderr("error: the list of models cannot be fetched")
        .assert_stderr("hint: without --refresh the last known figures are used");

    // Another day it is missed, and the old figures do.
    let file = env.cache().join("holon/models/models.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, after) = text.split_once("\"checked_at\":\"").unwrap();
    let (_, after) = after.split_once('"').unwrap();
    std::fs::write(&file, format!("{before}\"checked_at\":\"2026-01-01T00:00:00Z\"{after}")).unwrap();
    holon(&["models", "list"])
        .assert_code(0)
        .assert_stdout("anthropic/claude-sonnet-9")
        .assert_stderr("warning: the list of models cannot be fetched")
        .assert_stderr(" days old");
}

#[test]
fn models_of_a_server_on_this_machine() {
    let env = TestEnv::new(BIN);
    let server = ModelServer::play(WireFormat::Chat, "- text: unused\n");
    let holon =
        |args: &[&str]| env.holon(args).env("OLLAMA_HOST", format!("127.0.0.1:{}", server.port())).run();
    holon(&["models", "list", "--provider", "ollama"])
        .assert_code(0)
        .assert_stdout("scripted-model")
        .assert_stderr("figures: as the server on this machine says");
    let chosen = holon(&["models", "select", "--intent", "code", "--provider", "ollama"]);
    chosen.assert_code(0);
    assert_eq!(chosen.stdout, "scripted-model\n");
}

/// A server in the shape of llama.cpp's, with a window that is too small to change files in.
fn llama_cpp(script: Vec<ScriptedResponse>) -> ModelServer {
    let row =
        json!({"id": "tiny", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}});
    let props = json!({"default_generation_settings": {"n_ctx": 4096}, "chat_template": "{{ messages }}"});
    ModelServer::start(WireFormat::Chat, script)
        .with_fact("/v1/models", &json!({"object": "list", "data": [row]}))
        .with_fact("/props", &props)
}

#[test]
fn a_model_is_probed_and_what_is_found_is_remembered() {
    let env = TestEnv::new(BIN);
    let counted = "one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve";
    let no_grammar = ScriptedResponse::json(500, r#"{"error":{"message":"Failed to parse grammar"}}"#);
    let server = llama_cpp(vec![
        CassetteTurn::text(counted).into(),
        CassetteTurn::text("A holon is a whole.").into(),
        no_grammar,
    ]);
    let holon = |args: &[&str]| env.holon(args).env("HOLON_BASE_URL", server.base()).run();
    holon(&["models", "probe", "--told"])
        .assert_code(0)
        .assert_stdout("llama.cpp at http://127.0.0.1:")
        .assert_stdout("4096 tokens, of 32768 it was made for")
        .assert_stdout("never");
    assert_eq!(server.requests().len(), 0);
    let probed = holon(&["models", "probe"]);
    probed
        .assert_code(0)
        .assert_stdout("native tools  no")
        .assert_stdout("schema        no")
        .assert_stdout("tokens/s")
        .assert_stdout("note: schemas are refused")
        .assert_stdout("too small for execute: it can ask and review; start llama-server with `-c 16384`");
    assert_eq!(server.requests().len(), 3, "{probed}");
    let json = holon(&["models", "probe", "--told", "--json"]).json();
    assert_eq!((&json["model"], &json["window"]), (&"tiny".into(), &4096.into()));
    assert_eq!(json["tested"]["tools"], false);
    assert_eq!(json["told"]["kind"], "llama.cpp");
    assert_eq!(server.requests().len(), 3, "what is remembered is not tried again");

    // The same server is what a choice and the doctor speak of.
    let chosen = holon(&["models", "select", "--explain"]);
    chosen.assert_code(0).assert_stdout("tiny").assert_stdout("a window of 4096 tokens");
    let json = holon(&["models", "select", "--json"]).json();
    assert_eq!(json["model"], "tiny");
    let doctor = holon(&["doctor", "--json"]).json();
    let told = doctor["model"].as_str().unwrap();
    assert!(told.starts_with("tiny at http://127.0.0.1:") && told.contains("window 4096 tokens"), "{told}");
}

#[test]
fn what_is_wrong_with_a_server_is_told_in_one_sentence() {
    let env = TestEnv::new(BIN);
    let missing = ScriptedResponse::json(404, r#"{"error":{"message":"model 'tiny' not found"}}"#);
    let server = llama_cpp(vec![missing]);
    let holon = |base: &str, args: &[&str]| env.holon(args).env("HOLON_BASE_URL", base).run();
    holon(&server.base(), &["models", "probe"])
        .assert_code(1)
        .assert_stderr("model 'tiny' not found")
        .assert_stderr("hint: ");
    let gone = ModelServer::start(WireFormat::Chat, []).base();
    holon(&gone, &["models", "probe"]).assert_code(1).assert_stderr("start the server there");
    let told = holon(&gone, &["doctor", "--json"]).json()["model"].as_str().unwrap().to_owned();
    assert!(told.contains("correct HOLON_BASE_URL"), "{told}");
    let told = env.holon(["doctor", "--json"]).run().json()["model"].as_str().unwrap().to_owned();
    assert!(told.contains("set OPENROUTER_API_KEY"), "{told}");
}
