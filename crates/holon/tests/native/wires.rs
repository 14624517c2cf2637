//! A whole run over each wire that a server on loopback can speak: words, thoughts, calls, usage.

use holon_model::WireFormat;
use holon_testkit::TestEnv;
use holon_testkit::model::{ModelServer, ScriptedResponse, StreamSplit};

use crate::stage::{
    BIN, EDIT, KEY, PlayedProvider, artifact, asking, ended, events, of_type, questions, repo, run,
};

/// A model that calls tools natively, as far as its name tells.
fn model(who: PlayedProvider) -> Vec<&'static str> {
    if who == PlayedProvider::Compatible { vec!["--model", "qwen3:32b"] } else { Vec::new() }
}

#[test]
fn an_edit_over_every_wire() {
    for who in PlayedProvider::ALL {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let server = ModelServer::play(who.wire(), EDIT).with_models(["qwen3:32b"]);
        let output = asking(run(&env, &repo, "execute", &model(who)), who, &server).run();
        let manifest = ended(&env, &output, 0);
        assert!(artifact(&env, "diff.patch").contains("-one\n+two\n"), "{who:?}");
        assert_eq!(artifact(&env, "summary.md"), "The file says two now.\n");
        assert_eq!(server.left(), 0, "{who:?}");
        assert_eq!(manifest["metadata"]["usage"]["input"], 1000, "{who:?} {manifest:#}");
        assert!(manifest["metadata"]["model"]["why"].as_str().unwrap().contains("asked for"), "{manifest:#}");

        // The key went where it belongs, and what was read came back.
        let requests = questions(&server);
        let sent = |n: usize, header: &str| requests[n].header(header).unwrap_or_default().to_owned();
        match who {
            PlayedProvider::Anthropic => assert_eq!(sent(0, "x-api-key"), KEY),
            _ => assert_eq!(sent(0, "authorization"), format!("Bearer {KEY}")),
        }
        assert!(requests[1].body.to_string().contains("one"), "{who:?}");
        assert!(!requests.iter().any(|request| request.body.to_string().contains(KEY)));

        let events = events(&env);
        let text = |kind: &str| -> String {
            of_type(&events, kind).iter().map(|event| event["text"].as_str().unwrap()).collect()
        };
        assert_eq!(text("message_delta"), "Let me see.I will change it.", "{who:?}");
        assert_eq!(text("reasoning_delta"), "hm", "{who:?}");
        assert_eq!(of_type(&events, "round_started").len(), 3);
        assert_eq!(of_type(&events, "tool_finished").len(), 4);
    }
}

#[test]
fn a_compatible_server_is_spoken_to_on_the_wire_it_speaks() {
    for (wire, name) in
        [(WireFormat::Chat, "chat"), (WireFormat::Responses, "responses"), (WireFormat::Messages, "messages")]
    {
        for filed in [false, true] {
            let env = TestEnv::new(BIN);
            let repo = repo(&env);
            let server = ModelServer::play(wire, EDIT);
            let call = run(&env, &repo, "execute", &[]).env("HOLON_API_KEY", KEY);
            let call = if filed {
                let base = server.base();
                let text =
                    format!("[models]\nbase_url = \"{base}\"\nwire = \"{name}\"\ntools = \"native\"\n");
                env.write("config/holon/config.toml", &text);
                call
            } else {
                call.env("HOLON_BASE_URL", server.base()).env("HOLON_WIRE", name).env("HOLON_TOOLS", "native")
            };
            ended(&env, &call.run(), 0);
            assert!(artifact(&env, "diff.patch").contains("-one\n+two\n"), "{name}");
            let requests = questions(&server);
            assert_eq!(requests.len(), 3, "{name}");
            for request in &requests {
                assert!(request.path.ends_with(wire.path()), "{name}: {}", request.path);
                assert!(request.body["tools"].is_array(), "{name}: {}", request.body);
                let (header, value) = match wire {
                    WireFormat::Messages => ("x-api-key", KEY.to_owned()),
                    _ => ("authorization", format!("Bearer {KEY}")),
                };
                assert_eq!(request.header(header), Some(value.as_str()), "{name}");
            }
        }
    }
    let env = TestEnv::new(BIN);
    let repo = repo(&env);
    let call = run(&env, &repo, "execute", &["--model", "m"]).env("HOLON_BASE_URL", "http://127.0.0.1:9/v1");
    let manifest = ended(&env, &call.env("HOLON_WIRE", "smoke").run(), 1);
    let message = manifest["error"]["message"].as_str().unwrap();
    assert!(message.contains("HOLON_WIRE is `smoke`: it must be chat, responses or messages"), "{message}");
}

#[test]
fn packets_may_end_anywhere() {
    for (split, comments) in
        [(StreamSplit::Every(1), false), (StreamSplit::Every(7), true), (StreamSplit::Whole, false)]
    {
        let env = TestEnv::new(BIN);
        let repo = repo(&env);
        let turns = EDIT.parse::<holon_model::Cassette>().unwrap().turns.into_iter();
        let script = turns.map(|turn| {
            let turn = ScriptedResponse::from(turn).split(split);
            if comments { turn.with_comments() } else { turn }
        });
        let server = ModelServer::start(PlayedProvider::OpenRouter.wire(), script);
        let output = asking(run(&env, &repo, "execute", &[]), PlayedProvider::OpenRouter, &server).run();
        ended(&env, &output, 0);
        assert!(artifact(&env, "diff.patch").contains("+two"), "{split:?}");
    }
}
