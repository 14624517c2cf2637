//! Good answers.

use holon_model::cassette::{CassetteStep, CassetteTurn};
use holon_model::{Cassette, Endpoint, MessagePart, ReplyDelta, ReplyStop, TokenUsage, ToolSpec, WireFormat};
use holon_testkit::model::{ModelServer, ScriptedResponse, StreamSplit};
use serde_json::json;

use proptest::prelude::*;

use super::{WIRES, ask, hello, http};

const CONVERSATION: &str = "
- reasoning: Let me think about é.
  text: I will read both.
  tools:
    - read_file: { path: src/é.rs }
    - ls: {}
  usage: { input: 7, cache_read: 5, output: 11 }
  id: reply-1
  model: some-model
";

fn turn() -> CassetteTurn {
    CONVERSATION.parse::<Cassette>().unwrap().turns.remove(0)
}

#[test]
fn a_cassette_served_on_any_wire_and_in_any_pieces_gives_its_reply() {
    let expect = turn().outcome(1).unwrap();
    for wire in WIRES {
        for split in [StreamSplit::Events, StreamSplit::Every(1), StreamSplit::Every(7), StreamSplit::Whole] {
            let server =
                ModelServer::start(wire, [ScriptedResponse::from(turn()).split(split).with_comments()]);
            let (deltas, reply) = ask(http(&server), &hello());
            assert_eq!(reply.unwrap(), expect, "{wire:?} {split:?}");
            let text: String = deltas
                .iter()
                .filter_map(|d| if let ReplyDelta::Text(t) = d { Some(t.as_str()) } else { None })
                .collect();
            assert_eq!(text, "I will read both.");
            assert!(deltas.contains(&ReplyDelta::CallStarted { index: 1, name: "ls".into() }));
        }
    }
}

#[test]
fn the_stops_that_a_wire_knows_arrive() {
    for (wire, stops) in [
        (WireFormat::Chat, &[ReplyStop::EndTurn, ReplyStop::MaxTokens, ReplyStop::Refusal][..]),
        (WireFormat::Responses, &[ReplyStop::EndTurn, ReplyStop::MaxTokens, ReplyStop::Refusal]),
        (
            WireFormat::Messages,
            &[
                ReplyStop::EndTurn,
                ReplyStop::MaxTokens,
                ReplyStop::Refusal,
                ReplyStop::ContextFull,
                ReplyStop::Pause,
                ReplyStop::StopSequence,
            ],
        ),
    ] {
        for stop in stops {
            let server = ModelServer::start(
                wire,
                [CassetteTurn { stop: Some(*stop), ..CassetteTurn::text("x") }.into()],
            );
            assert_eq!(ask(http(&server), &hello()).1.unwrap().stop, *stop, "{wire:?}");
        }
    }
}

#[test]
fn usage_is_in_disjoint_buckets_on_every_wire() {
    let usage = TokenUsage {
        input: 1,
        cache_read: 20,
        cache_write: 300,
        output: 4000,
        reasoning: 50_000,
        cost_usd: Some(0.5),
    };
    for wire in WIRES {
        let server =
            ModelServer::start(wire, [CassetteTurn { usage: Some(usage), ..CassetteTurn::text("x") }.into()]);
        let got = ask(http(&server), &hello()).1.unwrap().usage.unwrap();
        assert_eq!((got.total_input(), got.total_output()), (321, 54_000), "{wire:?}");
        assert_eq!(got.cache_read, 20);
        match wire {
            WireFormat::Chat => assert_eq!(got, usage),
            WireFormat::Responses => assert_eq!((got.input, got.reasoning), (301, 50_000)),
            WireFormat::Messages => assert_eq!((got.input, got.cache_write, got.output), (1, 300, 54_000)),
        }
    }
}

#[test]
fn sealed_thoughts_come_back_to_the_provider_as_they_were() {
    for (wire, seal) in [
        (WireFormat::Chat, json!([{"type": "reasoning.text", "text": "hm", "signature": "s"}])),
        (
            WireFormat::Responses,
            json!({"type": "reasoning", "id": "rs_0", "encrypted_content": "zzz", "summary": [{"type": "summary_text", "text": "hm"}]}),
        ),
        (WireFormat::Messages, json!({"signature": "s"})),
    ] {
        let seal = holon_model::Seal { wire, value: seal };
        let thought = holon_model::Reasoning { text: "hm".into(), seal: Some(seal.clone()) };
        let first = CassetteTurn {
            steps: vec![CassetteStep::Reasoning(thought.clone()), CassetteStep::Text("x".into())],
            ..CassetteTurn::default()
        };
        let server = ModelServer::start(wire, [first.into(), CassetteTurn::text("y").into()]);
        let endpoint = Endpoint { dialect: holon_model::WireDialect::OpenRouter, ..server.endpoint() };
        let provider =
            std::sync::Arc::new(holon_model::HttpProvider::new(endpoint, super::timeouts()).unwrap());
        let mut request = hello();
        let reply = ask(provider.clone(), &request).1.unwrap();
        assert_eq!(reply.parts[0], MessagePart::Reasoning(thought), "{wire:?}");
        request.messages.push(reply.message());
        request.messages.push(holon_model::ModelMessage::user("go on"));
        ask(provider, &request).1.unwrap();
        let body = server.requests()[1].body.to_string();
        let inside = match wire {
            WireFormat::Chat => seal.value[0].to_string(),
            WireFormat::Responses => seal.value.to_string(),
            WireFormat::Messages => r#"{"type":"thinking","thinking":"hm","signature":"s"}"#.to_owned(),
        };
        assert!(body.contains(&inside), "{wire:?}: {body}");
    }
}

#[test]
fn the_request_carries_what_the_wire_wants() {
    for wire in WIRES {
        let server = ModelServer::play(wire, "- text: x\n");
        let mut request = hello();
        request.tools = vec![ToolSpec::new("ls", "Lists.", json!({"type": "object"}))];
        ask(http(&server), &request).1.unwrap();
        let seen = server.requests().remove(0);
        assert_eq!((seen.method.as_str(), &seen.path), ("POST", &format!("/v1{}", wire.path())));
        assert_eq!(seen.body["stream"], true);
        assert_eq!(seen.body["tools"].as_array().unwrap().len(), 1);
        assert!(seen.header("user-agent").unwrap().starts_with("holon/"));
        match wire {
            WireFormat::Messages => {
                assert_eq!(seen.header("x-api-key"), Some("test-key-0123456789"));
                assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
            }
            WireFormat::Chat | WireFormat::Responses => {
                assert_eq!(seen.header("authorization"), Some("Bearer test-key-0123456789"));
            }
        }
    }
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    let body =
        json!({"choices": [{"message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]});
    let server = ModelServer::start(WireFormat::Chat, [ScriptedResponse::json(200, body.to_string())]);
    let (deltas, reply) = ask(http(&server), &hello());
    assert_eq!(reply.unwrap().text(), "whole");
    assert_eq!(deltas, [ReplyDelta::Text("whole".into())]);
}

#[test]
fn a_connection_is_used_again() {
    for wire in WIRES {
        let server = ModelServer::play(wire, "- text: a\n- text: b\n- error: bad_request\n- text: c\n");
        let provider = holon_model::BlockingProvider::new(http(&server)).unwrap();
        for _ in 0..4 {
            let _ = provider.stream(&hello(), &mut |_: ReplyDelta| {}, &holon_model::ModelCancel::default());
        }
        let connections: Vec<usize> = server.requests().iter().map(|seen| seen.connection).collect();
        assert_eq!(connections, [0; 4], "{wire:?}");
    }
}

#[test]
fn a_recorded_conversation_replays_offline_to_the_same_replies() {
    use std::sync::{Arc, Mutex};
    for wire in WIRES {
        let server = ModelServer::start(
            wire,
            [
                turn().into(),
                "- error: { kind: overloaded, message: busy with test-key-0123456789 }\n"
                    .parse::<Cassette>()
                    .unwrap()
                    .turns
                    .remove(0)
                    .into(),
                CassetteTurn::text("Done.").into(),
            ],
        );
        let tape = Arc::new(Mutex::new(String::new()));
        let writes = Arc::clone(&tape);
        let normaliser =
            holon_model::Normaliser::new(holon_core::redact::Redactor::new([("key", "test-key-0123456789")]));
        let recorder =
            Arc::new(holon_model::RecordingProvider::new(http(&server), normaliser.clone(), move |text| {
                writes.lock().unwrap().push_str(text);
                Ok(())
            }));
        let mut requests = [hello(), hello(), hello()];
        requests[1].messages.push(holon_model::ModelMessage::user("my key is test-key-0123456789"));
        let live: Vec<_> = requests.iter().map(|request| ask(recorder.clone(), request).1).collect();
        drop(server);
        let text = tape.lock().unwrap().clone();
        assert!(!text.contains("test-key-0123456789"), "{text}");
        let replay = Arc::new(holon_model::ReplayProvider::new(text.parse().unwrap(), normaliser));
        let again: Vec<_> = requests.iter().map(|request| ask(replay.clone(), request).1).collect();
        assert_eq!(format!("{again:?}"), format!("{live:?}"), "{wire:?}");
        assert_eq!(replay.left(), 0);
    }
}

fn any_step() -> impl Strategy<Value = CassetteStep> {
    let arguments = prop_oneof![r#"\{"a":"[a-zé\\n]{0,9}"\}"#, ".{1,12}"];
    prop_oneof![
        ".{1,20}".prop_map(CassetteStep::Text),
        ".{1,20}".prop_map(|text| CassetteStep::Reasoning(holon_model::Reasoning { text, seal: None })),
        ("[a-z_]{1,9}", arguments)
            .prop_filter("an empty one becomes {}", |(_, a)| !a.trim().is_empty())
            .prop_map(|(name, arguments)| {
                CassetteStep::Call(holon_model::cassette::CassetteCall {
                    name,
                    arguments,
                    ..Default::default()
                })
            }),
    ]
}

/// Neighbours of one kind become one part where a wire does not separate them.
fn joined(reply: &holon_model::ModelReply) -> Vec<MessagePart> {
    let mut out: Vec<MessagePart> = Vec::new();
    for part in &reply.parts {
        match (out.last_mut(), part) {
            (Some(MessagePart::Text(all)), MessagePart::Text(more)) => all.push_str(more),
            (Some(MessagePart::Reasoning(all)), MessagePart::Reasoning(more)) => {
                all.text.push_str(&more.text)
            }
            _ => out.push(part.clone()),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_turn_arrives_as_it_was_written(
        steps in prop::collection::vec(any_step(), 1..5),
        size in 1usize..40,
        wire in prop::sample::select(&WIRES[..]),
    ) {
        let turn = CassetteTurn { steps, ..CassetteTurn::default() };
        let server = ModelServer::start(wire, [ScriptedResponse::from(turn.clone()).split(StreamSplit::Every(size))]);
        let reply = ask(http(&server), &hello()).1.unwrap();
        let expect = turn.outcome(1).unwrap();
        prop_assert_eq!(joined(&reply), joined(&expect));
        prop_assert_eq!(reply.stop, expect.stop);
    }
}
