use serde_json::{Value, json};

use super::{brief, data, decode};
use crate::error::ModelErrorKind;
use crate::reply::ReplyDelta;
use crate::wire::WireFormat;

fn delta(delta: Value) -> Value {
    json!({"id": "gen-1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn check(chunks: &[Value], expect: &str) {
    let (_, reply) = decode(WireFormat::Chat, &(data(chunks) + "data: [DONE]\n\n"));
    assert_eq!(brief(&reply.unwrap()), expect);
}

fn fails(stream: &str, kind: ModelErrorKind, words: &str) {
    let error = decode(WireFormat::Chat, stream).1.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn words_and_calls_in_fragments() {
    check(
        &[
            delta(json!({"role": "assistant", "content": ""})),
            delta(json!({"content": "Let me "})),
            delta(json!({"content": "see."})),
            delta(
                json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": ""}}]}),
            ),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"p\":"}}]})),
            delta(
                json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "ls", "arguments": "{}"}}]}),
            ),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]})),
            end("tool_calls"),
        ],
        "Let me see. / read#a{\"p\":1} / ls#b{} | ToolUse",
    );
}

#[test]
fn thoughts_between_tags_are_thoughts() {
    check(
        &[
            delta(json!({"content": "\n<th"})),
            delta(json!({"content": "ink>hm"})),
            delta(json!({"content": ", ```json\n{\"tool\": \"ls\"}\n``` no</thi"})),
            delta(json!({"content": "nk>\n\nYes"})),
            end("stop"),
        ],
        "(hm, ```json\n{\"tool\": \"ls\"}\n``` no) / Yes | EndTurn",
    );
    check(&[delta(json!({"content": "<thin"})), end("stop")], "<thin | EndTurn");
}

#[test]
fn calls_without_index_or_id_and_calls_sent_whole() {
    // No index: by id, else the last one.
    check(
        &[
            delta(json!({"tool_calls": [{"id": "a", "function": {"name": "read", "arguments": "{"}}]})),
            delta(json!({"tool_calls": [{"function": {"arguments": "\"p\":1"}}]})),
            delta(json!({"tool_calls": [{"id": "a", "function": {"arguments": "}"}}]})),
            end("tool_calls"),
        ],
        "read#a{\"p\":1} | ToolUse",
    );
    // Whole calls, no ids, one index for all, and a finish reason that does not mention calls.
    check(
        &[
            delta(
                json!({"tool_calls": [{"index": 0, "function": {"name": "read", "arguments": "{\"p\":1}"}}]}),
            ),
            delta(
                json!({"tool_calls": [{"index": 0, "function": {"name": "read", "arguments": "{\"p\":2}"}}]}),
            ),
            end("stop"),
        ],
        "read#call_0{\"p\":1} / read#call_1{\"p\":2} | ToolUse",
    );
    // Different ids under one index.
    check(
        &[
            delta(
                json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "ls", "arguments": ""}}]}),
            ),
            delta(
                json!({"tool_calls": [{"index": 0, "id": "y", "function": {"name": "ls", "arguments": ""}}]}),
            ),
            end("tool_calls"),
        ],
        "ls#x{} / ls#y{} | ToolUse",
    );
    // Id and name repeated in every fragment.
    check(
        &[
            delta(
                json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "ls", "arguments": "{\"a\""}}]}),
            ),
            delta(
                json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "ls", "arguments": ":1}"}}]}),
            ),
            end("tool_calls"),
        ],
        "ls#x{\"a\":1} | ToolUse",
    );
    // The same id twice gets told apart; arguments as an object; the old form.
    check(
        &[
            delta(json!({"tool_calls": [
                {"index": 0, "id": "x", "function": {"name": "ls", "arguments": {"a": 1}}},
                {"index": 1, "id": "x", "function": {"name": "ls", "arguments": null}},
            ]})),
            end("tool_calls"),
        ],
        "ls#x{\"a\":1} / ls#call_x_1{} | ToolUse",
    );
    check(
        &[delta(json!({"function_call": {"name": "ls", "arguments": "{}"}})), end("function_call")],
        "ls#call_0{} | ToolUse",
    );
}

#[test]
fn a_call_without_a_name_is_not_understood() {
    let chunks = [
        delta(json!({"tool_calls": [{"index": 0, "id": "x", "function": {"arguments": "{}"}}]})),
        end("stop"),
    ];
    fails(&data(&chunks), ModelErrorKind::Malformed, "no name");
}

#[test]
fn thoughts_under_all_their_names() {
    check(
        &[delta(json!({"reasoning": "a"})), delta(json!({"content": "b"})), end("stop")],
        "(a) / b | EndTurn",
    );
    check(
        &[delta(json!({"reasoning_content": "a"})), delta(json!({"content": "b"})), end("stop")],
        "(a) / b | EndTurn",
    );
    check(
        &[
            delta(json!({"reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]})),
            end("stop"),
        ],
        "(a) | EndTurn",
    );
}

#[test]
fn openrouter_details_are_joined_once_and_kept_to_be_sent_back() {
    let detail = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "format": "f"});
    let signed = json!({"type": "reasoning.text", "signature": "sig", "index": 0});
    let secret = json!({"type": "reasoning.encrypted", "data": "zzz", "index": 1});
    let stream = data(&[
        delta(json!({"reasoning": "one ", "reasoning_details": [detail("one ")]})),
        delta(json!({"reasoning": "two", "reasoning_details": [detail("two")]})),
        delta(json!({"reasoning_details": [signed, secret]})),
        delta(json!({"content": "x"})),
        end("stop"),
    ]);
    let reply = decode(WireFormat::Chat, &stream).1.unwrap();
    assert_eq!(brief(&reply), "(one two) / x | EndTurn");
    let crate::message::MessagePart::Reasoning(reasoning) = &reply.parts[0] else { panic!() };
    assert_eq!(
        reasoning.seal.as_ref().unwrap().value,
        json!([
            {"type": "reasoning.text", "text": "one two", "index": 0, "format": "f", "signature": "sig"},
            {"type": "reasoning.encrypted", "data": "zzz", "index": 1},
        ])
    );
}

#[test]
fn content_may_be_null_or_a_list_of_parts() {
    check(
        &[
            delta(json!({"content": null})),
            delta(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})),
            end("stop"),
        ],
        "ab | EndTurn",
    );
}

#[test]
fn reasons_to_stop() {
    for (reason, expect) in [
        ("stop", "x | EndTurn"),
        ("tool_calls", "x | EndTurn"),
        ("length", "x | MaxTokens"),
        ("content_filter", "x | Refusal"),
        ("eos", "x | EndTurn"),
    ] {
        check(&[delta(json!({"content": "x"})), end(reason)], expect);
    }
    check(&[delta(json!({"refusal": "no"})), end("stop")], "no | Refusal");
}

#[test]
fn usage_comes_in_a_chunk_without_choices_and_in_disjoint_buckets() {
    let usage = json!({"choices": [], "usage": {
        "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150, "cost": 0.0125,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 20},
        "cost_details": {"upstream_inference_cost": null}, "is_byok": false,
    }});
    let stream = data(&[delta(json!({"content": "x"})), end("stop"), usage]) + "data: [DONE]\n\n";
    let reply = decode(WireFormat::Chat, &stream).1.unwrap();
    let usage = reply.usage.unwrap();
    assert_eq!(
        (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning, usage.cost_usd),
        (30, 60, 10, 30, 20, Some(0.0125))
    );
    assert_eq!((reply.id.as_deref(), reply.model.as_deref()), (Some("gen-1"), Some("m")));
    let none = decode(WireFormat::Chat, &data(&[delta(json!({"content": "x"})), end("stop")])).1.unwrap();
    assert_eq!(none.usage, None);
}

#[test]
fn a_stream_without_a_finish_reason_is_a_failure_even_with_its_end_marker() {
    let text = data(&[delta(json!({"content": "half"}))]);
    fails(&text, ModelErrorKind::Cut, "finish reason");
    fails(&(text.clone() + "data: [DONE]\n\n"), ModelErrorKind::Cut, "finish reason");
    fails("", ModelErrorKind::Cut, "finish reason");
    let empty_reason = json!({"choices": [{"delta": {"content": "x"}, "finish_reason": ""}]});
    fails(&data(&[empty_reason]), ModelErrorKind::Cut, "finish reason");
    // The end marker itself may be missing.
    let (_, reply) = decode(WireFormat::Chat, &data(&[delta(json!({"content": "x"})), end("stop")]));
    assert_eq!(brief(&reply.unwrap()), "x | EndTurn");
}

#[test]
fn comments_are_skipped() {
    let stream = format!(
        ": OPENROUTER PROCESSING\n\n{}: OPENROUTER PROCESSING\n\n{}",
        data(&[delta(json!({"content": "x"}))]),
        data(&[end("stop")])
    );
    assert_eq!(brief(&decode(WireFormat::Chat, &stream).1.unwrap()), "x | EndTurn");
}

#[test]
fn an_error_in_the_middle_of_a_good_answer() {
    let error = json!({
        "id": "gen-1", "error": {"code": 502, "message": "upstream died"},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
    });
    let stream =
        data(&[delta(json!({"content": "half"})), error, delta(json!({"content": "more"})), end("stop")]);
    let (deltas, reply) = decode(WireFormat::Chat, &stream);
    assert_eq!(deltas, [ReplyDelta::Text("half".into())]);
    let error = reply.unwrap_err();
    assert_eq!((error.kind, error.status), (ModelErrorKind::Overloaded, Some(502)));
    assert!(error.message.contains("upstream died"));
    // The code as a text, and the bare finish reason.
    fails(&data(&[json!({"error": {"code": "429", "message": "slow"}})]), ModelErrorKind::RateLimit, "slow");
    fails(&data(&[end("error")]), ModelErrorKind::Overloaded, "error");
    fails("event: error\ndata: {\"message\":\"boom\"}\n\n", ModelErrorKind::Overloaded, "boom");
    // A null error is none.
    let mut fine = delta(json!({"content": "x"}));
    fine["error"] = Value::Null;
    check(&[fine, end("stop")], "x | EndTurn");
}

#[test]
fn a_chunk_that_is_not_json() {
    fails("data: {\"choices\": [\n\n", ModelErrorKind::Malformed, "not JSON");
}

#[test]
fn pieces_come_as_they_are() {
    let stream = data(&[
        delta(json!({"reasoning": "r"})),
        delta(json!({"content": "t"})),
        delta(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{"}}]})),
        delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]})),
        end("tool_calls"),
    ]);
    assert_eq!(
        decode(WireFormat::Chat, &stream).0,
        [
            ReplyDelta::Reasoning("r".into()),
            ReplyDelta::Text("t".into()),
            ReplyDelta::CallStarted { index: 0, name: "ls".into() },
            ReplyDelta::CallArguments { index: 0, text: "{".into() },
            ReplyDelta::CallArguments { index: 0, text: "}".into() },
        ]
    );
}

#[test]
fn a_body_that_was_not_streamed() {
    let body = json!({"id": "1", "choices": [{"message": {"content": "hi", "tool_calls": [
        {"id": "a", "function": {"name": "ls", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]});
    let reply = WireFormat::Chat.decode_whole(body.to_string().as_bytes()).unwrap();
    assert_eq!(brief(&reply), "hi / ls#a{} | ToolUse");
    let failed = json!({"error": {"code": 503, "message": "no provider"}}).to_string();
    assert_eq!(
        WireFormat::Chat.decode_whole(failed.as_bytes()).unwrap_err().kind,
        ModelErrorKind::Overloaded
    );
    assert_eq!(WireFormat::Chat.decode_whole(b"<html>").unwrap_err().kind, ModelErrorKind::Malformed);
}
