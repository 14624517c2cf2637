//! The body of a Messages request.

use serde_json::{Map, Value, json};

use crate::message::{MessagePart, ModelMessage, Reasoning, Role};
use crate::request::{ModelRequest, ToolChoice};
use crate::wire::WireFormat;

/// The limit must be given; this one every current model accepts.
const DEFAULT_MAX_OUTPUT: u32 = 8_192;

pub(crate) fn encode(request: &ModelRequest) -> Value {
    let thinking = request.effort.map(|effort| effort.tokens());
    // Thoughts count towards the limit, so it must leave room for the answer.
    let most = match (request.max_output, thinking) {
        (None, thoughts) => DEFAULT_MAX_OUTPUT + thoughts.unwrap_or(0),
        (Some(most), _) => most,
    };
    let mut body = json!({
        "model": request.model,
        "max_tokens": most,
        "messages": messages(&request.messages),
        "stream": true,
    });
    if let Some(body) = body.as_object_mut() {
        options(request, thinking.filter(|thoughts| *thoughts < most), body);
    }
    body
}

fn options(request: &ModelRequest, thinking: Option<u32>, body: &mut Map<String, Value>) {
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    let system = system(request);
    if !system.is_empty() {
        // The prefix up to here, tools included, is the same in every request of a run.
        let cached = json!({"type": "text", "text": system, "cache_control": {"type": "ephemeral"}});
        set("system", json!([cached]));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(
            |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}),
        );
        set("tools", tools.collect());
        let forced = match &request.choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(json!({"type": "none"})),
            // Forcing a call is refused together with thinking.
            _ if thinking.is_some() => None,
            ToolChoice::Required => Some(json!({"type": "any"})),
            ToolChoice::Named(name) => Some(json!({"type": "tool", "name": name})),
        };
        if let Some(choice) = forced {
            set("tool_choice", choice);
        }
    }
    match (thinking, request.temperature) {
        (Some(budget), _) => drop(set("thinking", json!({"type": "enabled", "budget_tokens": budget}))),
        // Only without thinking may the temperature be chosen.
        (None, Some(temperature)) => drop(set("temperature", json!(temperature))),
        (None, None) => {}
    }
}

/// The system prompt; this wire has no schema for answers that all its models know, so the wish is put into words.
fn system(request: &ModelRequest) -> String {
    let Some(format) = &request.format else { return request.system.clone() };
    let wish = format!(
        "Answer with one JSON value only, without any other text, that follows this JSON Schema:\n{}",
        format.schema
    );
    if request.system.is_empty() { wish } else { format!("{}\n\n{wish}", request.system) }
}

/// Roles must alternate and results come first, so neighbours of one role are joined.
fn messages(all: &[ModelMessage]) -> Vec<Value> {
    let mut joined: Vec<(Role, Vec<Value>, Vec<Value>)> = Vec::new();
    for message in all {
        if joined.last().is_none_or(|(role, ..)| *role != message.role) {
            joined.push((message.role, Vec::new(), Vec::new()));
        }
        if let Some((_, results, others)) = joined.last_mut() {
            for part in &message.parts {
                let list = if matches!(part, MessagePart::Result(_)) { &mut *results } else { &mut *others };
                list.extend(block(part));
            }
        }
    }
    let mut out: Vec<Value> = Vec::new();
    for (role, mut content, others) in joined {
        content.extend(others);
        if !content.is_empty() {
            let role = if role == Role::User { "user" } else { "assistant" };
            out.push(json!({"role": role, "content": content}));
        }
    }
    // The conversation so far is the prefix of the next request.
    if let Some(last) = out.last_mut().and_then(|m| m["content"].as_array_mut()?.last_mut())
        && last["type"] != "thinking"
        && last["type"] != "redacted_thinking"
    {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    out
}

fn block(part: &MessagePart) -> Option<Value> {
    match part {
        // Empty texts are refused.
        MessagePart::Text(text) if text.trim().is_empty() => None,
        MessagePart::Text(text) => Some(json!({"type": "text", "text": text})),
        MessagePart::Reasoning(reasoning) => thinking(reasoning),
        MessagePart::Call(call) => Some(json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": call.object_for_history(),
        })),
        MessagePart::Result(result) => {
            let mut block =
                json!({"type": "tool_result", "tool_use_id": result.call_id, "content": result.text});
            if result.is_error {
                block["is_error"] = json!(true);
            }
            Some(block)
        }
    }
}

/// A thought goes back only as it came, with its signature.
fn thinking(reasoning: &Reasoning) -> Option<Value> {
    let seal = reasoning.seal.as_ref().filter(|seal| seal.wire == WireFormat::Messages)?;
    match seal.value.get("data") {
        Some(data) => Some(json!({"type": "redacted_thinking", "data": data})),
        None => {
            let signature = seal.value.get("signature")?;
            Some(json!({"type": "thinking", "thinking": reasoning.text, "signature": signature}))
        }
    }
}
