//! Models that call no tools natively: what they want is read out of their words.

use holon_model::cassette::{CassetteStep, CassetteTurn};
use holon_testkit::TestEnv;
use holon_testkit::model::ModelServer;

use crate::stage::{BIN, PlayedProvider, artifact, asking, ended, events, of_type, questions, repo, run};

/// What a small model says, with all the untidiness of one.
const SAYS: [&str; 4] = [
    "Sure! I will look at the file first.\n\n```json\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n```\n",
    "```json\n{\"say\": \"Changing it.\", \"tool\": \"write_file\", \"arguments\": {\"path\": \"a.txt\", \"content\": \"two\\n\",}}\n```",
    "{\"tool\": \"execute\", \"arguments\": {\"command\": \"grep two a.txt\"}}",
    "Done.\n```\n{\"tool\": \"finish\", \"arguments\": {\"summary\": \"The file says two now.\"}}\n```",
];

fn script() -> Vec<holon_testkit::model::ScriptedResponse> {
    SAYS.iter().map(|text| CassetteTurn::text(*text).into()).collect()
}

#[test]
fn fenced_json_completes_an_edit() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    // Nothing is known about this model, and gemma3 is known to call no tools.
    for model in ["scripted-model", "gemma3:4b"] {
        let server = ModelServer::start(PlayedProvider::Compatible.wire(), script()).with_models([model]);
        let call = run(&env, &repo, "execute", &["--model", model, "--check", "grep two a.txt"]);
        let manifest = ended(&env, &asking(call, PlayedProvider::Compatible, &server).run(), 0);
        assert!(manifest["metadata"]["model"]["why"].as_str().unwrap().contains("in words"), "{manifest:#}");
        assert_eq!(manifest["metadata"]["verification"]["state"], "verified");
        assert!(artifact(&env, "diff.patch").contains("-one\n+two\n"));
        assert_eq!(artifact(&env, "summary.md"), "The file says two now.\n");

        let requests = questions(&server);
        for request in &requests {
            assert!(request.body.get("tools").is_none(), "no tools are offered natively: {}", request.body);
            let messages = request.body["messages"].as_array().unwrap();
            assert!(messages.iter().all(|message| message["role"] != "tool"), "{}", request.body);
        }
        assert!(requests[0].body.to_string().contains("write_file"), "they are explained in words");
        assert!(requests[3].body.to_string().contains("exit code 0"), "and answered in words");
        let events = events(&env);
        let tools: Vec<&str> =
            of_type(&events, "tool_proposed").iter().map(|event| event["tool"].as_str().unwrap()).collect();
        assert_eq!(tools, ["read_file", "write_file", "execute", "finish"]);
    }
}

#[test]
fn words_are_told_while_the_answer_is_still_coming() {
    // The answer breaks off, so only what was told before its end can be there.
    for answer in [
        "Let me look.\n```json\n{\"tool\": \"ls\"",
        "{\"say\": \"Let me look.\", \"tool\": \"ls\", \"argu",
        "Let me look. <tool_call>{\"name\"",
    ] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let turn = CassetteTurn {
            steps: vec![CassetteStep::Text(answer.to_owned()), CassetteStep::Cut],
            ..CassetteTurn::default()
        };
        let server = ModelServer::start(PlayedProvider::Compatible.wire(), [turn.into()]);
        let call = asking(run(&env, &repo, "execute", &[]), PlayedProvider::Compatible, &server)
            .env("HOLON_RETRIES", "0");
        ended(&env, &call.run(), 1);
        let events = events(&env);
        let told: String =
            of_type(&events, "message_delta").iter().filter_map(|e| e["text"].as_str()).collect();
        assert_eq!(told, "Let me look.", "{answer}");
        assert!(of_type(&events, "tool_proposed").is_empty(), "half a call is none");
    }
}

#[test]
fn inv_10_words_are_under_the_same_policy() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let server = ModelServer::start(PlayedProvider::Compatible.wire(), script());
    let call = asking(run(&env, &repo, "plan", &[]), PlayedProvider::Compatible, &server);
    let manifest = ended(&env, &call.run(), 1);
    assert_ne!(manifest["outcome"], "success");
    // What this mode does not have is not even read as a call.
    let events = events(&env);
    let tools: Vec<&str> =
        of_type(&events, "tool_finished").iter().filter_map(|event| event["summary"].as_str()).collect();
    assert!(tools.iter().all(|told| !told.contains("a.txt: ")), "{tools:?}");
    assert_eq!(repo.read("a.txt"), b"one\n");
}
