use serde_json::{Value, json};

use super::{brief, decode, named};
use crate::error::ModelErrorKind;
use crate::message::MessagePart;
use crate::reply::ReplyDelta;
use crate::wire::WireFormat;

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude", "usage": {
        "input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 1}}})
}

fn open(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn grow(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn close(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ending(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 42}}),
        json!({"type": "message_stop"}),
    ]
}

fn stream(middle: &[Value], reason: &str) -> String {
    let mut events = vec![start()];
    events.extend_from_slice(middle);
    events.extend(ending(reason));
    named(&events)
}

fn check(middle: &[Value], reason: &str, expect: &str) {
    assert_eq!(brief(&decode(WireFormat::Messages, &stream(middle, reason)).1.unwrap()), expect);
}

#[test]
fn text_thoughts_and_tools() {
    let middle = [
        open(0, json!({"type": "thinking", "thinking": ""})),
        grow(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        grow(0, json!({"type": "signature_delta", "signature": "si"})),
        grow(0, json!({"type": "signature_delta", "signature": "g"})),
        close(0),
        json!({"type": "ping"}),
        open(1, json!({"type": "text", "text": ""})),
        grow(1, json!({"type": "text_delta", "text": "Let me see."})),
        close(1),
        open(2, json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})),
        grow(2, json!({"type": "input_json_delta", "partial_json": ""})),
        grow(2, json!({"type": "input_json_delta", "partial_json": "{\"p\":"})),
        grow(2, json!({"type": "input_json_delta", "partial_json": "1}"})),
        close(2),
        open(3, json!({"type": "tool_use", "id": "toolu_2", "name": "ls", "input": {}})),
        close(3),
    ];
    check(&middle, "tool_use", "(hm) / Let me see. / read#toolu_1{\"p\":1} / ls#toolu_2{} | ToolUse");
    let reply = decode(WireFormat::Messages, &stream(&middle, "tool_use")).1.unwrap();
    let MessagePart::Reasoning(reasoning) = &reply.parts[0] else { panic!() };
    assert_eq!(reasoning.seal.as_ref().unwrap().value, json!({"signature": "sig"}));
}

#[test]
fn input_excludes_the_cache_and_output_is_cumulative() {
    let usage = decode(WireFormat::Messages, &stream(&[], "end_turn")).1.unwrap().usage.unwrap();
    assert_eq!((usage.input, usage.cache_write, usage.cache_read, usage.output), (10, 5, 100, 42));
    assert_eq!(usage.total_input(), 115);
}

#[test]
fn reasons_to_stop() {
    for (reason, expect) in [
        ("end_turn", "EndTurn"),
        ("max_tokens", "MaxTokens"),
        ("stop_sequence", "StopSequence"),
        ("tool_use", "EndTurn"),
        ("pause_turn", "Pause"),
        ("refusal", "Refusal"),
        ("model_context_window_exceeded", "ContextFull"),
        ("something_new", "EndTurn"),
    ] {
        let text = [open(0, json!({"type": "text", "text": "x"})), close(0)];
        check(&text, reason, &format!("x | {expect}"));
    }
}

#[test]
fn input_may_be_given_at_once_and_thoughts_may_be_redacted() {
    check(
        &[
            open(0, json!({"type": "redacted_thinking", "data": "zzz"})),
            close(0),
            open(1, json!({"type": "tool_use", "id": "t", "name": "ls", "input": {"a": 1}})),
            close(1),
            open(2, json!({"type": "server_tool_use", "id": "s", "name": "web", "input": {}})),
            close(2),
        ],
        "tool_use",
        "() / ls#t{\"a\":1} | ToolUse",
    );
}

#[test]
fn a_stream_without_message_stop_is_a_failure() {
    let whole = stream(&[open(0, json!({"type": "text", "text": "x"})), close(0)], "end_turn");
    let cut = whole.split("event: message_stop").next().unwrap();
    let error = decode(WireFormat::Messages, cut).1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Cut);
    assert!(error.message.contains("message_stop"));
}

#[test]
fn an_error_in_the_middle() {
    let mut events = vec![start(), open(0, json!({"type": "text", "text": "half"}))];
    events.push(json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}));
    events.extend(ending("end_turn"));
    let (deltas, reply) = decode(WireFormat::Messages, &named(&events));
    assert_eq!(deltas, [ReplyDelta::Text("half".into())]);
    let error = reply.unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ModelErrorKind::Overloaded, "Overloaded"));
}

#[test]
fn events_may_lack_a_name_or_a_type_and_may_be_unknown() {
    let text =
        stream(&[json!({"type": "invented"}), open(0, json!({"type": "text", "text": "x"}))], "end_turn");
    let nameless: String =
        text.lines().filter(|l| !l.starts_with("event:")).map(|l| format!("{l}\n")).collect();
    assert_eq!(brief(&decode(WireFormat::Messages, &nameless).1.unwrap()), "x | EndTurn");
    let typeless =
        "event: message_start\ndata: {\"message\":{}}\n\nevent: message_stop\ndata: {}\n\ndata: [DONE]\n\n";
    assert_eq!(brief(&decode(WireFormat::Messages, typeless).1.unwrap()), " | EndTurn");
}

#[test]
fn a_body_that_was_not_streamed() {
    let body = json!({"type": "message", "id": "m", "content": [
        {"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "ls", "input": {"a": 1}},
    ], "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4}});
    let reply = WireFormat::Messages.decode_whole(body.to_string().as_bytes()).unwrap();
    assert_eq!(brief(&reply), "hi / ls#t{\"a\":1} | ToolUse");
    assert_eq!(reply.usage.unwrap().input, 3);
    let error =
        WireFormat::Messages.decode_whole(br#"{"type":"error","error":{"type":"api_error","message":"x"}}"#);
    assert_eq!(error.unwrap_err().kind, ModelErrorKind::Overloaded);
}
