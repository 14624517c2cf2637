//! What a model can take in, and what it is sent.

use holon_model::cassette::CassetteTurn;
use holon_testkit::TestEnv;
use holon_testkit::model::ModelServer;
use serde_json::{Value, json};

use crate::stage::{BIN, PlayedProvider, asking, ended, questions, repo, run};

#[test]
fn a_small_window_bounds_replies_and_is_told() {
    let row =
        json!({"id": "tiny", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}});
    let props = json!({"default_generation_settings": {"n_ctx": 4096}, "chat_template": "{{ messages }}"});
    for (mode, told) in [("execute", true), ("ask", false)] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let call = "```json\n{\"tool\": \"finish\", \"arguments\": {\"summary\": \"Nothing to do.\"}}\n```";
        let server = ModelServer::start(PlayedProvider::Compatible.wire(), [CassetteTurn::text(call).into()])
            .with_fact("/v1/models", &json!({"object": "list", "data": [row.clone()]}))
            .with_fact("/props", &props);
        let output = asking(run(&env, &repo, mode, &[]), PlayedProvider::Compatible, &server).run();
        let warning = "`tiny` has a window of 4096 tokens, too small for execute: it can ask and review";
        assert_eq!(output.stderr.contains(warning), told, "{mode}: {output}");
        let body = &questions(&server)[0].body;
        let most = body["max_tokens"].as_u64().unwrap();
        assert!((256..=1024).contains(&most), "{mode}: {most}");
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("read_file") && !system.contains("write_todos"), "{system}");
        if mode == "execute" {
            ended(&env, &output, output.code);
        }
    }
}

/// The same without marks for a cache, and with words as words.
fn unmarked(messages: &Value) -> Vec<String> {
    let words = |message: &Value| {
        let mut message = message.clone();
        for part in message["content"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            part.remove("cache_control");
        }
        if let [part] = message["content"].as_array().map_or(&[][..], Vec::as_slice)
            && part["type"] == "text"
        {
            message["content"] = part["text"].clone();
        }
        message.to_string()
    };
    messages.as_array().unwrap().iter().map(words).collect()
}

#[test]
fn each_request_begins_with_the_one_before() {
    for who in [PlayedProvider::OpenRouter, PlayedProvider::Anthropic, PlayedProvider::OpenAi] {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let script = "
- tool: ls
  args: {}
- tool: read_file
  args: { path: a.txt }
- tool: finish
  args: { summary: Looked. }
";
        let server = ModelServer::play(who.wire(), script);
        asking(run(&env, &repo, "execute", &[]), who, &server).run();
        let seen = questions(&server);
        assert_eq!(seen.len(), 3);
        for pair in seen.windows(2) {
            let (before, after) = (unmarked(&pair[0].body["messages"]), unmarked(&pair[1].body["messages"]));
            assert_eq!(before, after[..before.len()], "{who:?}");
            assert_eq!(pair[0].body["tools"], pair[1].body["tools"], "{who:?}");
            assert_eq!(pair[0].body["system"], pair[1].body["system"], "{who:?}");
        }
        let marked = seen[2].body.to_string().matches("cache_control").count();
        assert_eq!(marked, if who == PlayedProvider::OpenAi { 0 } else { 2 }, "{who:?}");
    }
}
