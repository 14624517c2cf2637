//! Both halves of each wire fit together: what the model crate says is understood, and it understands what is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_model::sse::SseDecoder;
use holon_model::{
    Effort, MessagePart, ModelError, ModelErrorKind, ModelMessage, ModelReply, ModelRequest, Reasoning,
    ReplyDelta, ReplyFormat, ReplyStop, Role, Seal, TokenUsage, ToolCall, ToolChoice, ToolResult, ToolSpec,
    WireDialect, WireFormat,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::stream_encoder::ReplyStreamEncoder;
use super::{ClientRequest, ReplyLabels};
use crate::client_wire::ClientWire;

const WIRES: [WireFormat; 3] = [WireFormat::Chat, WireFormat::Responses, WireFormat::Messages];

fn read(wire: WireFormat, body: &Value) -> Result<ClientRequest, String> {
    super::read(wire.into(), body)
}

fn teller(wire: impl Into<ClientWire>, labels: ReplyLabels) -> ReplyStreamEncoder {
    super::reply_encoder(wire.into(), labels)
}

fn whole(wire: WireFormat, labels: &ReplyLabels, reply: &ModelReply) -> Value {
    super::whole(wire.into(), labels, reply)
}

fn words() -> impl Strategy<Value = String> {
    "[a-zé\"\\\\\n]{0,3}[a-z]"
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        words().prop_map(|text| json!({"path": text, "n": [1, null]}).to_string())
    ]
}

fn seal(wire: WireFormat) -> impl Strategy<Value = Option<Seal>> {
    let value = move |text: String| match wire {
        WireFormat::Chat => json!([{"type": "reasoning.text", "text": text, "index": 0}]),
        WireFormat::Responses => {
            json!({"type": "reasoning", "id": "rs_x", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "e"})
        }
        WireFormat::Messages => json!({"signature": text}),
    };
    words().prop_map(move |text| Some(Seal { wire, value: value(text) }))
}

fn thought(wire: WireFormat) -> impl Strategy<Value = MessagePart> {
    (words(), seal(wire)).prop_map(move |(text, mut seal)| {
        // The words of a thought are part of the seal on these two wires.
        match (wire, seal.as_mut()) {
            (WireFormat::Chat, Some(seal)) => seal.value[0]["text"] = json!(text),
            (WireFormat::Responses, Some(seal)) => seal.value["summary"][0]["text"] = json!(text),
            _ => {}
        }
        MessagePart::Reasoning(Reasoning { text, seal })
    })
}

fn assistant(wire: WireFormat, turn: usize) -> impl Strategy<Value = Vec<MessagePart>> {
    let call = ("[a-z]{1,4}", arguments());
    (prop::option::of(thought(wire)), words(), prop::collection::vec(call, 0..3)).prop_map(
        move |(thought, text, calls)| {
            let mut parts: Vec<MessagePart> = thought.into_iter().collect();
            parts.push(MessagePart::Text(text));
            for (number, (name, arguments)) in calls.into_iter().enumerate() {
                parts.push(MessagePart::Call(ToolCall::new(
                    format!("call_{turn}_{number}"),
                    name,
                    arguments,
                )));
            }
            parts
        },
    )
}

/// A conversation as agents have them: words, an answer with calls, their results, and so on.
fn conversation(wire: WireFormat) -> impl Strategy<Value = Vec<ModelMessage>> {
    let turns: Vec<_> = (0..3).map(|turn| (words(), assistant(wire, turn), any::<bool>())).collect();
    (turns, words(), 0usize..4).prop_map(move |(turns, last, count)| {
        let mut messages: Vec<ModelMessage> = Vec::new();
        let mut results: Vec<MessagePart> = Vec::new();
        for (text, parts, failed) in turns.into_iter().take(count) {
            let mut said = std::mem::take(&mut results);
            said.push(MessagePart::Text(text.clone()));
            messages.push(ModelMessage { role: Role::User, parts: said });
            for part in &parts {
                if let MessagePart::Call(call) = part {
                    let is_error = failed && wire == WireFormat::Messages;
                    let result = ToolResult { call_id: call.id.clone(), text: text.clone(), is_error };
                    results.push(MessagePart::Result(result));
                }
            }
            messages.push(ModelMessage { role: Role::Assistant, parts });
        }
        results.push(MessagePart::Text(last));
        messages.push(ModelMessage { role: Role::User, parts: results });
        messages
    })
}

pub(super) fn request(wire: WireFormat) -> impl Strategy<Value = ModelRequest> {
    // No two of them have the same name.
    let tools = prop::collection::btree_map("[a-z]{1,4}", words(), 0..3);
    let choice = prop::sample::select(vec![
        ToolChoice::Auto,
        ToolChoice::None,
        ToolChoice::Required,
        ToolChoice::Named("ls".into()),
    ]);
    let effort =
        prop::sample::select(vec![None, Some(Effort::Low), Some(Effort::Medium), Some(Effort::High)]);
    let rest = (prop::option::of(words()), tools, choice, any::<bool>(), effort, any::<bool>());
    (conversation(wire), rest).prop_map(move |(messages, (system, tools, choice, warm, effort, shaped))| {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let tools: Vec<ToolSpec> =
            tools.into_iter().map(|(name, about)| ToolSpec::new(name, about, schema.clone())).collect();
        let free = wire != WireFormat::Messages || effort.is_none();
        ModelRequest {
            model: "m".into(),
            system: system.unwrap_or_default(),
            messages,
            // What a wire cannot say is not asked for on it.
            choice: if tools.is_empty() || !free { ToolChoice::Auto } else { choice },
            tools,
            max_output: Some(50_000),
            temperature: (warm && free).then_some(0.5),
            effort,
            format: (shaped && wire != WireFormat::Messages)
                .then(|| ReplyFormat { name: "shape".into(), schema }),
        }
    })
}

pub(super) fn any_wire() -> impl Strategy<Value = WireFormat> {
    prop::sample::select(&WIRES[..])
}

pub(super) fn reply(wire: WireFormat) -> impl Strategy<Value = ModelReply> {
    let stops = vec![ReplyStop::EndTurn, ReplyStop::ToolUse, ReplyStop::MaxTokens, ReplyStop::Refusal];
    let figures = (0u64..1000, 0u64..1000, 0u64..1000);
    (assistant(wire, 7), prop::sample::select(stops), prop::option::of(figures)).prop_map(
        move |(parts, stop, figures)| {
            let usage = figures.map(|(input, cache_read, output)| TokenUsage {
                input,
                cache_read,
                output,
                ..TokenUsage::default()
            });
            let calls = parts.iter().any(|part| matches!(part, MessagePart::Call(_)));
            let stop = match stop {
                ReplyStop::EndTurn | ReplyStop::ToolUse if calls => ReplyStop::ToolUse,
                ReplyStop::EndTurn | ReplyStop::ToolUse => ReplyStop::EndTurn,
                other => other,
            };
            ModelReply { id: None, model: Some("m".into()), parts, stop, usage }
        },
    )
}

pub(super) fn labels() -> ReplyLabels {
    ReplyLabels { number: 3, model: "m".into(), ..ReplyLabels::default() }
}

/// What a client of a wire makes of a stream.
fn heard(wire: WireFormat, stream: &str) -> Result<ModelReply, ModelError> {
    let mut sse = SseDecoder::default();
    let mut decoder = wire.decoder();
    for event in sse.push(stream.as_bytes()).unwrap() {
        decoder.push(&event);
    }
    decoder.finish()
}

/// A reply told piece by piece.
pub(super) fn told(wire: impl Into<ClientWire>, reply: &ModelReply, cut: usize) -> String {
    let mut teller = teller(wire, labels());
    let mut out = String::new();
    for delta in reply.deltas() {
        match delta {
            // Pieces may be cut anywhere.
            ReplyDelta::Text(text) => {
                let at = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).nth(cut).unwrap_or(0);
                out += &teller.delta(&ReplyDelta::Text(text[..at].to_owned()));
                out += &teller.delta(&ReplyDelta::Text(text[at..].to_owned()));
            }
            delta => out += &teller.delta(&delta),
        }
    }
    out + &teller.end(reply)
}

/// A reply as a client can know it: ids are the gateway's, and not every wire tells every figure.
fn known(wire: WireFormat, mut reply: ModelReply) -> ModelReply {
    reply.id = None;
    if wire != WireFormat::Chat {
        reply.usage = Some(reply.usage.unwrap_or_default());
    }
    reply
}

pub(super) fn bare(mut reply: ModelReply) -> ModelReply {
    for part in &mut reply.parts {
        if let MessagePart::Reasoning(thought) = part {
            thought.seal = None;
        }
    }
    reply
}

/// The conversation after a reply, as the client sends it and the gateway reads it.
fn sent_back(wire: WireFormat, heard: &ModelReply) -> ModelMessage {
    let mut request = ModelRequest::new("m", "x");
    request.messages.push(heard.message());
    request.messages.push(ModelMessage::user("y"));
    request.max_output = Some(9);
    read(wire, &wire.encode(&request, WireDialect::OpenRouter)).unwrap().request.messages[1].clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_the_model_crate_says_is_understood(
        (wire, request) in any_wire().prop_flat_map(|wire| (Just(wire), request(wire))),
    ) {
        let body = wire.encode(&request, WireDialect::OpenRouter);
        let asked = read(wire, &body).unwrap();
        prop_assert!(asked.stream);
        prop_assert_eq!(asked.request, request);
    }

    #[test]
    fn what_is_told_is_heard(
        (wire, reply) in any_wire().prop_flat_map(|wire| (Just(wire), reply(wire))), cut in 0usize..6,
    ) {
        let reply = bare(reply);
        let mut heard = heard(wire, &told(wire, &reply, cut)).unwrap();
        prop_assert!(heard.id.take().is_some());
        prop_assert_eq!(&heard, &known(wire, reply.clone()));
        let mut at_once = wire.decode_whole(whole(wire, &labels(), &reply).to_string().as_bytes()).unwrap();
        at_once.id = None;
        prop_assert_eq!(&at_once, &heard);
    }

    #[test]
    fn a_seal_comes_back_through_a_client_of_any_wire(
        client in prop::sample::select(vec![WireFormat::Responses, WireFormat::Messages]),
        reply in any_wire().prop_flat_map(reply), cut in 0usize..6,
    ) {
        let heard = heard(client, &told(client, &reply, cut)).unwrap();
        prop_assert_eq!(sent_back(client, &heard), reply.message());
    }

    #[test]
    fn any_body_is_survived(wire in any_wire(), body in json_value()) {
        let _ = read(wire, &body);
        let wrapped = json!({"messages": [body.clone()], "input": [body.clone()], "tools": [body.clone()], "system": body});
        let _ = read(wire, &wrapped);
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 24] = [
        "role",
        "user",
        "assistant",
        "tool",
        "system",
        "content",
        "type",
        "text",
        "tool_use",
        "tool_result",
        "input",
        "function_call",
        "custom",
        "reasoning",
        "summary",
        "thinking",
        "redacted_thinking",
        "data",
        "holon.{}",
        "name",
        "function",
        "tool_calls",
        "custom_tool_call",
        "encrypted_content",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0u64..3).prop_map(Value::from),
        prop::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(&WORDS[..]), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

#[test]
fn a_failure_in_the_middle_is_heard_as_what_it_is() {
    for wire in WIRES {
        for (kind, expect) in [
            (ModelErrorKind::Overloaded, ModelErrorKind::Overloaded),
            (ModelErrorKind::RateLimit, ModelErrorKind::RateLimit),
            (ModelErrorKind::ContextOverflow, ModelErrorKind::ContextOverflow),
            (ModelErrorKind::Billing, ModelErrorKind::Billing),
            (ModelErrorKind::Cut, ModelErrorKind::Overloaded),
        ] {
            let mut teller = teller(wire, labels());
            let mut out = teller.delta(&ReplyDelta::Text("half".into()));
            out += &teller.fail(&ModelError::new(kind, "told"));
            let error = heard(wire, &out).unwrap_err();
            assert_eq!(error.kind, expect, "{wire:?} {kind:?}: {error}");
            assert!(error.message.contains("told"), "{error}");
        }
    }
}

#[test]
fn thoughts_may_begin_again_and_words_may_not() {
    for wire in WIRES {
        let reply = ModelReply {
            id: None,
            model: Some("m".into()),
            parts: vec![MessagePart::Text("hello".into())],
            stop: ReplyStop::EndTurn,
            usage: None,
        };
        let mut fine = teller(wire, labels());
        let mut out = fine.delta(&ReplyDelta::Reasoning("hm".into()));
        out += &fine.delta(&ReplyDelta::Restart);
        out += &fine.delta(&ReplyDelta::Text("hello".into()));
        out += &fine.end(&reply);
        assert_eq!(heard(wire, &out).unwrap().text(), "hello");

        let mut spoilt = teller(wire, labels());
        let mut out = spoilt.delta(&ReplyDelta::Text("good".into()));
        out += &spoilt.delta(&ReplyDelta::Restart);
        out += &spoilt.delta(&ReplyDelta::Text("hello".into()));
        out += &spoilt.end(&reply);
        assert!(heard(wire, &out).is_err());
    }
}

#[test]
fn a_long_call_shows_signs_of_life() {
    for (wire, sign) in [
        (WireFormat::Chat, ": working"),
        (WireFormat::Responses, ": working"),
        (WireFormat::Messages, "event: ping"),
    ] {
        let mut teller = teller(wire, labels());
        teller.delta(&ReplyDelta::CallStarted { index: 0, name: "write".into() });
        let quiet = teller.delta(&ReplyDelta::CallArguments { index: 0, text: "{".into() });
        assert_eq!(quiet, "");
        let sign_of_life = teller.delta(&ReplyDelta::CallArguments { index: 0, text: "x".repeat(2000) });
        assert!(sign_of_life.starts_with(sign), "{sign_of_life}");
    }
}

#[test]
fn a_tool_that_takes_plain_text_is_told_as_one() {
    let body = json!({"input": "x", "stream": true, "tools": [
        {"type": "custom", "name": "apply_patch", "description": "patches", "format": {"type": "grammar", "definition": "start: x"}},
        {"type": "web_search"},
    ]});
    let asked = read(WireFormat::Responses, &body).unwrap();
    assert_eq!(asked.request.tools.len(), 1);
    assert!(asked.request.tools[0].description.contains("start: x"));
    let reply = ModelReply {
        id: None,
        model: None,
        parts: vec![MessagePart::Call(ToolCall::new("c1", "apply_patch", r#"{"input":"*** Begin"}"#))],
        stop: ReplyStop::ToolUse,
        usage: None,
    };
    let labels = ReplyLabels { custom: asked.custom, ..labels() };
    let out = teller(WireFormat::Responses, labels).end(&reply);
    assert!(out.contains(r#""type":"custom_tool_call""#) && out.contains(r#""input":"*** Begin""#), "{out}");
    assert!(heard(WireFormat::Responses, &out).unwrap().calls().next().unwrap().custom);
}

#[test]
fn what_a_provider_keeps_is_refused() {
    for body in [
        json!({"input": "x", "previous_response_id": "r"}),
        json!({"input": [{"type": "item_reference", "id": "r"}]}),
    ] {
        assert!(read(WireFormat::Responses, &body).unwrap_err().contains("nothing is kept"));
    }
    assert!(read(WireFormat::Responses, &json!({"input": "x", "previous_response_id": null})).is_ok());
    assert!(read(WireFormat::Messages, &json!({})).is_err());
    assert!(read(WireFormat::Chat, &json!({"messages": "x"})).is_err());
}

#[test]
fn a_picture_becomes_a_note_and_a_billing_note_nothing() {
    let body = json!({
        "system": [{"type": "text", "text": "x-anthropic-billing-header: a=1"}, {"type": "text", "text": "be kind"}],
        "messages": [{"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "data": "AA"}}, {"type": "text", "text": "see"},
        ]}],
    });
    let request = read(WireFormat::Messages, &body).unwrap().request;
    assert_eq!(request.system, "be kind");
    assert_eq!(request.messages[0].parts.len(), 2);
    assert!(request.messages[0].text().contains("[image: left out"));
}
