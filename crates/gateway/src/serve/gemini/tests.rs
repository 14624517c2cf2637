//! A client of Google's wire, written down from its side: what it says is understood, and it understands what is told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_model::{
    MessagePart, ModelError, ModelErrorKind, ModelMessage, ModelReply, ModelRequest, Reasoning, ReplyDelta,
    ReplyStop, Role, TokenUsage, ToolCall, ToolChoice, ToolResult,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::read;
use crate::client_wire::ClientWire;
use crate::serve::tests::{any_wire, bare, labels, reply, request, told};
use crate::serve::{carrier, reply_encoder, whole};

/// A request as a client says it, with the ids of calls or without.
fn said(request: &ModelRequest, ids: bool) -> Value {
    let contents: Vec<Value> = request.messages.iter().map(|message| content(message, ids)).collect();
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}))
        .collect();
    let calling = match &request.choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    };
    let mut config = json!({"maxOutputTokens": request.max_output, "temperature": request.temperature});
    if let Some(effort) = request.effort {
        config["thinkingConfig"] = json!({"includeThoughts": true, "thinkingBudget": effort.tokens()});
    }
    if let Some(format) = &request.format {
        config["responseMimeType"] = json!("application/json");
        config["responseJsonSchema"] = format.schema.clone();
    }
    json!({
        "model": request.model, "contents": contents, "generationConfig": config,
        "systemInstruction": {"role": "user", "parts": [{"text": request.system}]},
        "tools": [{"functionDeclarations": tools}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": calling},
    })
}

fn content(message: &ModelMessage, ids: bool) -> Value {
    let sealed: Vec<String> = thoughts(message)
        .filter_map(|thought| Some(carrier::pack(&thought.text, thought.seal.as_ref()?)))
        .collect();
    let mut parts: Vec<Value> = message.parts.iter().map(|part| written(part, ids)).collect();
    if let Some(first) = parts.iter_mut().find(|part| part.get("functionCall").is_some()) {
        let none = "skip_thought_signature_validator".to_owned();
        first["thoughtSignature"] = json!(if sealed.is_empty() { none } else { sealed.join("\n") });
    }
    json!({"role": if message.role == Role::User { "user" } else { "model" }, "parts": parts})
}

fn written(part: &MessagePart, ids: bool) -> Value {
    let mut out = match part {
        MessagePart::Text(text) => json!({"text": text}),
        MessagePart::Reasoning(thought) => json!({"text": thought.text, "thought": true}),
        MessagePart::Call(call) => {
            json!({"functionCall": {"id": call.id, "name": call.name, "args": call.object().unwrap()}})
        }
        MessagePart::Result(result) => {
            let key = if result.is_error { "error" } else { "output" };
            json!({"functionResponse": {"id": result.call_id, "name": "", "response": {key: result.text}}})
        }
    };
    for key in ["functionCall", "functionResponse"] {
        if let Some(Value::Object(fields)) = out.get_mut(key).filter(|_| !ids) {
            fields.remove("id");
        }
    }
    out
}

fn thoughts(message: &ModelMessage) -> impl Iterator<Item = &Reasoning> {
    message.parts.iter().filter_map(|part| match part {
        MessagePart::Reasoning(thought) => Some(thought),
        _ => None,
    })
}

/// What a client makes of a stream; an error is told bare.
fn heard(stream: &str) -> Result<ModelReply, Value> {
    let mut parts: Vec<MessagePart> = Vec::new();
    let mut last = Value::Null;
    for frame in stream.split("\n\n").map(str::trim).filter(|frame| !frame.is_empty()) {
        let Some(data) = frame.strip_prefix("data: ") else {
            return Err(serde_json::from_str::<Value>(frame).unwrap()["error"].take());
        };
        let chunk: Value = serde_json::from_str(data).unwrap();
        for part in chunk["candidates"][0]["content"]["parts"].as_array().unwrap() {
            add(&mut parts, part);
        }
        last = chunk;
    }
    Ok(ended(&last, parts))
}

/// What a client makes of a body.
fn at_once(body: &Value) -> ModelReply {
    let mut parts = Vec::new();
    body["candidates"][0]["content"]["parts"].as_array().unwrap().iter().for_each(|p| add(&mut parts, p));
    ended(body, parts)
}

/// Thoughts that travel on a call are put in front of it.
fn add(parts: &mut Vec<MessagePart>, part: &Value) {
    let sealed = part["thoughtSignature"].as_str().map(carrier::unpack_all).unwrap_or_default();
    parts.extend(sealed.into_iter().map(MessagePart::Reasoning));
    let call = &part["functionCall"];
    let text = part["text"].as_str().unwrap_or_default();
    match (parts.last_mut(), part["thought"] == true) {
        _ if call.is_object() => {
            let (id, name) = (call["id"].as_str().unwrap(), call["name"].as_str().unwrap());
            parts.push(MessagePart::Call(ToolCall::new(id, name, call["args"].to_string())));
        }
        (Some(MessagePart::Text(said)), false) => said.push_str(text),
        (Some(MessagePart::Reasoning(said)), true) => said.text.push_str(text),
        (_, true) => parts.push(MessagePart::Reasoning(Reasoning { text: text.to_owned(), seal: None })),
        (_, false) => parts.push(MessagePart::Text(text.to_owned())),
    }
}

fn ended(last: &Value, parts: Vec<MessagePart>) -> ModelReply {
    let calls = parts.iter().any(|part| matches!(part, MessagePart::Call(_)));
    let stop = match last["candidates"][0]["finishReason"].as_str() {
        Some("STOP") if calls => ReplyStop::ToolUse,
        Some("STOP") => ReplyStop::EndTurn,
        Some("MAX_TOKENS") => ReplyStop::MaxTokens,
        Some("SAFETY") => ReplyStop::Refusal,
        other => panic!("{other:?}"),
    };
    let figures = last.get("usageMetadata").map(|told| {
        let count = |key: &str| told[key].as_u64().unwrap();
        let cache_read = count("cachedContentTokenCount");
        let usage = TokenUsage {
            input: count("promptTokenCount") - cache_read,
            cache_read,
            output: count("candidatesTokenCount"),
            reasoning: count("thoughtsTokenCount"),
            ..TokenUsage::default()
        };
        assert_eq!(count("totalTokenCount"), usage.total_input() + usage.total_output());
        usage
    });
    let model = last["modelVersion"].as_str().map(str::to_owned);
    ModelReply { id: None, model, parts, stop, usage: figures }
}

/// The conversation as the gateway can know it: a thought's seal travels on a call, so without one it is lost; calls without
/// ids are counted.
fn known(mut request: ModelRequest, ids: bool) -> ModelRequest {
    let mut names = std::collections::HashMap::new();
    for message in &mut request.messages {
        let calls = message.calls().next().is_some();
        for part in &mut message.parts {
            match part {
                MessagePart::Reasoning(thought) if !calls => thought.seal = None,
                MessagePart::Call(call) if !ids => {
                    let id = format!("call_{}", names.len() + 1);
                    names.insert(std::mem::replace(&mut call.id, id.clone()), id);
                }
                MessagePart::Result(result) if !ids => result.call_id = names[&result.call_id].clone(),
                _ => {}
            }
        }
    }
    if let Some(format) = &mut request.format {
        format.name = "answer".into();
    }
    request
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_a_client_says_is_understood(request in any_wire().prop_flat_map(request), ids in any::<bool>()) {
        let mut body = said(&request, ids);
        if !ids {
            name_results(&mut body);
        }
        prop_assert_eq!(read(&body).unwrap().request, known(request, ids));
    }

    #[test]
    fn what_is_told_is_heard(reply in any_wire().prop_flat_map(reply), cut in 0usize..6) {
        let reply = bare(reply);
        let body = whole(ClientWire::Gemini, &labels(), &reply);
        prop_assert_eq!(&at_once(&body), &reply);
        prop_assert_eq!(&heard(&told(ClientWire::Gemini, &reply, cut)), &Ok(reply));
    }

    #[test]
    fn a_seal_comes_back_on_a_call(
        reply in any_wire().prop_flat_map(reply), cut in 0usize..6, streamed in any::<bool>(), drops in any::<bool>(),
    ) {
        prop_assume!(reply.calls().next().is_some());
        let frames = if streamed {
            told(ClientWire::Gemini, &reply, cut)
        } else {
            format!("data: {}\n\n", whole(ClientWire::Gemini, &labels(), &reply))
        };
        // A client puts the parts of all chunks together as they are; the best known one drops thoughts.
        let chunks = frames.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
        let parts = chunks.flat_map(|chunk| {
            let mut chunk: Value = serde_json::from_str(chunk).unwrap();
            let Value::Array(parts) = chunk["candidates"][0]["content"]["parts"].take() else { panic!("{chunk}") };
            parts
        });
        let parts: Vec<Value> = joined(parts.filter(|part| !drops || part["thought"] != true));
        let body = json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": parts}]});
        prop_assert_eq!(read(&body).unwrap().request.messages[1].clone(), reply.message());
    }

    #[test]
    fn any_body_is_survived(body in json_value()) {
        let _ = read(&body);
        let content = json!({"role": "model", "parts": [body.clone()]});
        let _ = read(&json!({
            "contents": [content, body.clone()], "tools": [{"functionDeclarations": [body.clone()]}],
            "generationConfig": body.clone(), "toolConfig": body.clone(), "systemInstruction": body,
        }));
    }
}

/// Neighbouring texts as one, as clients keep them.
fn joined(parts: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for part in parts {
        match all.last_mut().filter(|last| last["text"].is_string() && last["thought"] == part["thought"]) {
            Some(last) if part["text"].is_string() => {
                last["text"] =
                    json!(format!("{}{}", last["text"].as_str().unwrap(), part["text"].as_str().unwrap()));
            }
            _ => all.push(part),
        }
    }
    all
}

/// Gives each result the name of its call, which is how they are matched without ids: in order.
fn name_results(body: &mut Value) {
    let mut names = Vec::new();
    for content in body["contents"].as_array_mut().unwrap() {
        for part in content["parts"].as_array_mut().unwrap() {
            if let Some(call) = part.get("functionCall") {
                names.push(call["name"].clone());
            } else if let Some(answer) = part.get_mut("functionResponse") {
                answer["name"] = names.remove(0);
            }
        }
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 22] = [
        "role",
        "user",
        "model",
        "system",
        "parts",
        "text",
        "thought",
        "thoughtSignature",
        "holon.{}",
        "functionCall",
        "functionResponse",
        "name",
        "id",
        "args",
        "response",
        "error",
        "output",
        "parameters",
        "type",
        "OBJECT",
        "contents",
        "inlineData",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
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

fn results(parts: Value) -> Vec<ToolResult> {
    let call = |name: &str, id: Value| json!({"functionCall": {"name": name, "id": id, "args": {}}});
    let calls = json!([call("ls", json!("a")), call("cat", Value::Null), call("ls", Value::Null)]);
    let body = json!({"contents": [
        {"parts": [{"text": "go"}]}, {"role": "model", "parts": calls}, {"role": "function", "parts": parts},
    ]});
    let request = read(&body).unwrap().request;
    let ids: Vec<&str> = request.messages[1].calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "call_2", "call_3"]);
    let parts = request.messages[2].parts.iter();
    parts
        .map(|part| if let MessagePart::Result(result) = part { result.clone() } else { panic!("{part:?}") })
        .collect()
}

#[test]
fn results_find_their_calls_with_and_without_ids() {
    let told = |name: &str, id: Value, response: Value| json!({"functionResponse": {"name": name, "id": id, "response": response}});
    let found = results(json!([
        told("ls", json!("a"), json!({"output": "one"})),
        told("ls", Value::Null, json!({"error": "none"})),
        told("cat", Value::Null, json!({"output": "two", "lines": 1})),
        told("cat", Value::Null, json!("three")),
    ]));
    let text = json!({"output": "two", "lines": 1}).to_string();
    assert_eq!(
        found,
        [
            ToolResult::ok("a", "one"),
            ToolResult::error("call_3", "none"),
            ToolResult::ok("call_2", text),
            ToolResult::ok("", "three"),
        ]
    );
}

#[test]
fn what_cannot_be_carried_over_is_said_or_refused() {
    let body = json!({
        "contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA"}}, {"text": "see"}]}],
        "system_instruction": "be kind",
        "tools": [{"functionDeclarations": [{"name": "t", "parameters": {"type": "OBJECT"}}, {"name": "u"}]}, {"urlContext": {}}],
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}, "responseMimeType": "application/json"},
    });
    let request = read(&body).unwrap().request;
    assert_eq!(request.system, "be kind");
    assert!(request.messages[0].text().starts_with("[image/png: left out"), "{request:?}");
    let schemas: Vec<&Value> = request.tools.iter().map(|tool| &tool.schema).collect();
    assert_eq!(schemas, [&json!({"type": "object"}), &json!({"type": "object", "properties": {}})]);
    assert_eq!(request.effort, Some(holon_model::Effort::High));
    assert_eq!(request.format.unwrap().schema, json!({"type": "object"}));
    let kept = json!({"cachedContent": "c/1", "contents": [{"parts": [{"text": "x"}]}]});
    assert!(read(&kept).unwrap_err().contains("nothing is kept"));
    assert!(read(&json!({"contents": []})).unwrap_err().contains("contents"));
}

#[test]
fn a_failure_in_the_middle_is_a_piece_of_its_own() {
    let mut teller = reply_encoder(ClientWire::Gemini, labels());
    let half = teller.delta(&ReplyDelta::Text("half".into()));
    assert!(half.starts_with("data: {") && half.ends_with("}\n\n"), "{half}");
    let mut error = ModelError::new(ModelErrorKind::RateLimit, "slow");
    error.retry_after = Some(std::time::Duration::from_millis(1500));
    let told: Value = serde_json::from_str(&teller.fail(&error)).unwrap();
    assert_eq!(
        (&told["error"]["code"], &told["error"]["status"]),
        (&json!(429), &json!("RESOURCE_EXHAUSTED"))
    );
    assert_eq!(told["error"]["details"][0]["retryDelay"], "1.5s");
}

#[test]
fn a_long_call_shows_signs_of_life_and_broken_arguments_stay_visible() {
    let mut teller = reply_encoder(ClientWire::Gemini, labels());
    teller.delta(&ReplyDelta::CallStarted { index: 0, name: "write".into() });
    let sign = teller.delta(&ReplyDelta::CallArguments { index: 0, text: "x".repeat(2000) });
    assert!(!sign.is_empty() && sign.trim().is_empty(), "{sign:?}");
    let call = MessagePart::Call(ToolCall::new("c", "write", "{oops"));
    let reply =
        ModelReply { id: None, model: None, parts: vec![call], stop: ReplyStop::ToolUse, usage: None };
    let heard = heard(&teller.end(&reply)).unwrap();
    assert_eq!(heard.calls().next().unwrap().arguments, r#"{"unparsed":"{oops"}"#);
}
