use serde_json::{Value, json};

use crate::message::{MessagePart, ModelMessage, Reasoning, Role, Seal, ToolCall, ToolResult};
use crate::request::{Effort, ModelRequest, ReplyFormat, ToolChoice, ToolSpec};
use crate::wire::{WireDialect, WireFormat};

/// A conversation with everything in it: a thought, two calls and their results with words after them.
fn request(wire: WireFormat, seal: Value) -> ModelRequest {
    let reasoning = Reasoning { text: "hm".into(), seal: Some(Seal { wire, value: seal }) };
    ModelRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        messages: vec![
            ModelMessage::user("Fix it."),
            ModelMessage {
                role: Role::Assistant,
                parts: vec![
                    MessagePart::Reasoning(reasoning),
                    MessagePart::Text("Reading.".into()),
                    MessagePart::Call(ToolCall::new("a", "read", r#"{"p": 1}"#)),
                    MessagePart::Call(ToolCall::new("b", "read", "{broken")),
                ],
            },
            ModelMessage {
                role: Role::User,
                parts: vec![
                    MessagePart::Text("And hurry.".into()),
                    MessagePart::Result(ToolResult::ok("a", "one")),
                    MessagePart::Result(ToolResult::error("b", "bad arguments")),
                ],
            },
            ModelMessage::user("Please."),
        ],
        tools: vec![ToolSpec::new("read", "Reads.", json!({"type": "object"}))],
        ..ModelRequest::default()
    }
}

#[test]
fn chat_puts_results_before_words_and_repairs_arguments() {
    let body =
        WireFormat::Chat.encode(&request(WireFormat::Chat, json!([{"type": "t"}])), WireDialect::OpenRouter);
    assert_eq!(
        body,
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Fix it."},
                {"role": "assistant", "content": "Reading.", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"p\":1}"}},
                    {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{\"unparsed\":\"{broken\"}"}},
                ], "reasoning_details": [{"type": "t"}]},
                {"role": "tool", "tool_call_id": "a", "content": "one"},
                {"role": "tool", "tool_call_id": "b", "content": "bad arguments"},
                {"role": "user", "content": "And hurry."},
                {"role": "user", "content": "Please."},
            ],
            "stream": true,
            "tools": [{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}}],
            "provider": {"require_parameters": true},
        })
    );
}

#[test]
fn chat_dialects_differ_where_they_must() {
    let request = ModelRequest {
        max_output: Some(5),
        effort: Some(Effort::Low),
        choice: ToolChoice::Named("read".into()),
        format: Some(ReplyFormat { name: "f".into(), schema: json!({}) }),
        ..request(WireFormat::Messages, json!({}))
    };
    let of = |dialect| WireFormat::Chat.encode(&request, dialect);
    let (router, openai, other) =
        (of(WireDialect::OpenRouter), of(WireDialect::OpenAi), of(WireDialect::Compatible));
    assert_eq!((&router["max_tokens"], &router["reasoning"]["effort"]), (&json!(5), &json!("low")));
    assert_eq!((&openai["max_completion_tokens"], &openai["reasoning_effort"]), (&json!(5), &json!("low")));
    assert_eq!((&other["max_tokens"], &other["reasoning_effort"]), (&json!(5), &json!("low")));
    assert_eq!(router.get("stream_options"), None);
    assert_eq!(openai["stream_options"]["include_usage"], true);
    assert_eq!(other["stream_options"]["include_usage"], true);
    assert_eq!(other["response_format"]["json_schema"]["name"], "f");
    assert_eq!(other["tool_choice"]["function"]["name"], "read");
    // A thought sealed by another wire stays at home.
    assert!(!router.to_string().contains("reasoning_details"));
}

#[test]
fn messages_joins_neighbours_with_results_first() {
    let body = WireFormat::Messages
        .encode(&request(WireFormat::Messages, json!({"signature": "s"})), WireDialect::Compatible);
    assert_eq!(
        body,
        json!({
            "model": "m",
            "max_tokens": 8192,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "Reading."},
                    {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}},
                    {"type": "tool_use", "id": "b", "name": "read", "input": {"unparsed": "{broken"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "bad arguments", "is_error": true},
                    {"type": "text", "text": "And hurry."},
                    {"type": "text", "text": "Please.", "cache_control": {"type": "ephemeral"}},
                ]},
            ],
            "stream": true,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}],
        })
    );
}

#[test]
fn a_router_is_told_what_to_cache_for_those_who_cache_only_what_is_marked() {
    let body = |model: &str| {
        let mut request = request(WireFormat::Chat, json!([]));
        request.model = model.to_owned();
        WireFormat::Chat.encode(&request, WireDialect::OpenRouter)["messages"].to_string()
    };
    assert_eq!(body("anthropic/claude-x").matches("cache_control").count(), 2);
    assert_eq!(body("openai/gpt-x").matches("cache_control").count(), 0);
}

#[test]
fn messages_thinking_excludes_temperature_and_forced_calls() {
    let mut request = request(WireFormat::Chat, json!([]));
    request.effort = Some(Effort::Medium);
    request.temperature = Some(0.5);
    request.choice = ToolChoice::Required;
    request.format = Some(ReplyFormat { name: "f".into(), schema: json!({"type": "object"}) });
    let body = WireFormat::Messages.encode(&request, WireDialect::Compatible);
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 8192}));
    assert!(body["max_tokens"].as_u64() > Some(8192));
    assert_eq!((body.get("temperature"), body.get("tool_choice")), (None, None));
    // A thought without this wire's signature would be refused.
    assert!(!body["messages"].to_string().contains("thinking"));
    assert!(body["system"][0]["text"].as_str().unwrap().contains("JSON Schema"));
    request.effort = None;
    let body = WireFormat::Messages.encode(&request, WireDialect::Compatible);
    assert_eq!((&body["temperature"], &body["tool_choice"]["type"]), (&json!(0.5), &json!("any")));
}

#[test]
fn responses_echoes_thoughts_and_keeps_nothing_there() {
    let item = json!({"type": "reasoning", "id": "rs", "encrypted_content": "zzz", "summary": []});
    let mut request = request(WireFormat::Responses, item.clone());
    request.effort = Some(Effort::High);
    request.format = Some(ReplyFormat { name: "f".into(), schema: json!({}) });
    let body = WireFormat::Responses.encode(&request, WireDialect::OpenAi);
    assert_eq!((&body["store"], &body["include"]), (&json!(false), &json!(["reasoning.encrypted_content"])));
    assert_eq!(body["instructions"], "Be brief.");
    assert_eq!(
        body["input"],
        json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
            item,
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Reading."}]},
            {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{\"p\":1}"},
            {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{\"unparsed\":\"{broken\"}"},
            {"type": "function_call_output", "call_id": "a", "output": "one"},
            {"type": "function_call_output", "call_id": "b", "output": "bad arguments"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And hurry."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Please."}]},
        ])
    );
    assert_eq!(body["tools"][0]["name"], "read");
    assert_eq!(body["text"]["format"]["type"], "json_schema");
}

#[test]
fn a_custom_call_is_answered_as_one() {
    let call = ToolCall { custom: true, ..ToolCall::new("c", "patch", r#"{"input":"*** Begin"}"#) };
    let request = ModelRequest {
        messages: vec![
            ModelMessage { role: Role::Assistant, parts: vec![MessagePart::Call(call)] },
            ModelMessage::results([ToolResult::ok("c", "done")]),
        ],
        ..ModelRequest::default()
    };
    assert_eq!(
        WireFormat::Responses.encode(&request, WireDialect::OpenAi)["input"],
        json!([
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
        ])
    );
}
