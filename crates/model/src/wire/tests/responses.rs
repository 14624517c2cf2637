use serde_json::{Value, json};

use super::{brief, decode, named};
use crate::error::ModelErrorKind;
use crate::message::MessagePart;
use crate::reply::ReplyDelta;
use crate::wire::WireFormat;

fn created() -> Value {
    json!({"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "model": "gpt"}})
}

fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn delta(kind: &str, index: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": text})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "model": "gpt", "output": [], "usage": {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 130}}})
}

fn check(events: &[Value], expect: &str) {
    assert_eq!(brief(&decode(WireFormat::Responses, &named(events)).1.unwrap()), expect);
}

fn message() -> Value {
    json!({"type": "message", "id": "msg", "content": []})
}

#[test]
fn text_thoughts_and_calls() {
    let events = [
        created(),
        json!({"type": "response.in_progress", "response": {}}),
        added(0, json!({"type": "reasoning", "id": "rs", "summary": []})),
        json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs", "output_index": 0, "summary_index": 0, "delta": "one"}),
        json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs", "output_index": 0, "summary_index": 1, "delta": "two"}),
        done(
            0,
            json!({"type": "reasoning", "id": "rs", "encrypted_content": "zzz", "summary": [
            {"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]}),
        ),
        added(1, message()),
        json!({"type": "response.content_part.added", "output_index": 1, "part": {"type": "output_text", "text": ""}}),
        delta("output_text", 1, "Let me "),
        delta("output_text", 1, "see."),
        json!({"type": "response.output_text.done", "output_index": 1, "text": "Let me see."}),
        done(
            1,
            json!({"type": "message", "id": "msg", "content": [{"type": "output_text", "text": "Let me see."}]}),
        ),
        added(
            2,
            json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": ""}),
        ),
        delta("function_call_arguments", 2, "{\"p\""),
        delta("function_call_arguments", 2, ":1}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"p\":1}"}),
        done(
            2,
            json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{\"p\":1}"}),
        ),
        completed(),
    ];
    check(&events, "(one\n\ntwo) / Let me see. / read#call_1{\"p\":1} | ToolUse");
    let reply = decode(WireFormat::Responses, &named(&events)).1.unwrap();
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output, usage.reasoning), (60, 40, 20, 10));
    let MessagePart::Reasoning(reasoning) = &reply.parts[0] else { panic!() };
    assert_eq!(reasoning.seal.as_ref().unwrap().value["encrypted_content"], "zzz");
    assert_eq!((reply.id.as_deref(), reply.model.as_deref()), (Some("resp_1"), Some("gpt")));
}

#[test]
fn what_was_not_streamed_is_taken_from_the_finished_item() {
    let events = [
        created(),
        added(0, message()),
        delta("output_text", 0, "Hel"),
        done(
            0,
            json!({"type": "message", "id": "msg", "content": [{"type": "output_text", "text": "Hello"}]}),
        ),
        done(1, json!({"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"})),
        completed(),
    ];
    let (deltas, reply) = decode(WireFormat::Responses, &named(&events));
    assert_eq!(brief(&reply.unwrap()), "Hello / ls#c{} | ToolUse");
    assert_eq!(deltas[..2], [ReplyDelta::Text("Hel".into()), ReplyDelta::Text("lo".into())]);
}

#[test]
fn a_custom_tool_call_carries_its_text() {
    let item = json!({"type": "custom_tool_call", "id": "ct", "call_id": "c", "name": "patch", "input": "*** Begin"});
    let reply = decode(WireFormat::Responses, &named(&[created(), done(0, item), completed()])).1.unwrap();
    assert_eq!(brief(&reply), "patch#c{\"input\":\"*** Begin\"} | ToolUse");
    assert!(reply.calls().all(|call| call.custom));
}

#[test]
fn the_terminal_events() {
    let said = [created(), added(0, message()), delta("output_text", 0, "half")];
    let with = |last: Value| {
        let mut events = said.to_vec();
        events.push(last);
        decode(WireFormat::Responses, &named(&events)).1
    };
    let incomplete = |reason: &str| json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": reason}}});
    assert_eq!(brief(&with(incomplete("max_output_tokens")).unwrap()), "half | MaxTokens");
    assert_eq!(brief(&with(incomplete("content_filter")).unwrap()), "half | Refusal");
    let failed = json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "boom"}}});
    assert_eq!(with(failed).unwrap_err().kind, ModelErrorKind::Overloaded);
    let rate = json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "slow"}}});
    assert_eq!(with(rate).unwrap_err().kind, ModelErrorKind::RateLimit);
    assert_eq!(
        with(json!({"type": "response.failed", "response": {}})).unwrap_err().kind,
        ModelErrorKind::Overloaded
    );
    let error =
        json!({"type": "error", "code": "context_length_exceeded", "message": "too long", "param": null});
    assert_eq!(with(error).unwrap_err().kind, ModelErrorKind::ContextOverflow);
    // The end marker of the other wire ends nothing.
    let cut = named(&said) + "data: [DONE]\n\n";
    assert_eq!(decode(WireFormat::Responses, &cut).1.unwrap_err().kind, ModelErrorKind::Cut);
}

#[test]
fn a_refusal_is_told_as_one() {
    let events = [created(), added(0, message()), delta("refusal", 0, "I won't"), completed()];
    check(&events, "I won't | Refusal");
}

#[test]
fn the_end_repeats_items_without_doubling_them() {
    let item =
        json!({"type": "message", "id": "other-id", "content": [{"type": "output_text", "text": "hi"}]});
    let mut last = completed();
    last["response"]["output"] = json!([item]);
    check(&[created(), added(0, message()), delta("output_text", 0, "hi"), last.clone()], "hi | EndTurn");
    check(&[created(), last], "hi | EndTurn");
}

#[test]
fn a_body_that_was_not_streamed() {
    let body = json!({"id": "r", "status": "completed", "output": [
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "hi"}]}]});
    assert_eq!(
        brief(&WireFormat::Responses.decode_whole(body.to_string().as_bytes()).unwrap()),
        "hi | EndTurn"
    );
    let body = json!({"id": "r", "status": "failed", "error": {"code": "server_error", "message": "x"}});
    assert_eq!(
        WireFormat::Responses.decode_whole(body.to_string().as_bytes()).unwrap_err().kind,
        ModelErrorKind::Overloaded
    );
    assert_eq!(WireFormat::Responses.decode_whole(b"{}").unwrap_err().kind, ModelErrorKind::Cut);
}
