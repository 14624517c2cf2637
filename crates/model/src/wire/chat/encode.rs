//! The body of a chat completion request.

use serde_json::{Map, Value, json};

use crate::message::{MessagePart, ModelMessage, Role};
use crate::request::{ModelRequest, ToolChoice, ToolSpec};
use crate::wire::{WireDialect, WireFormat};

pub(crate) fn encode(request: &ModelRequest, dialect: WireDialect) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.push(assistant(message, dialect)),
        }
    }
    if dialect == WireDialect::OpenRouter && request.model.starts_with("anthropic/") {
        mark(&mut messages);
    }
    let mut body = json!({"model": request.model, "messages": messages, "stream": true});
    if let Some(body) = body.as_object_mut() {
        options(request, dialect, body);
    }
    body
}

/// Marks for the cache of whoever caches only what is marked: the system prompt, with the tools before it, and the last
/// words of the user. Everyone else caches a beginning that stays the same by itself.
fn mark(messages: &mut [Value]) {
    let last = messages.iter().rposition(|message| message["role"] == "user");
    let system = messages.iter().position(|message| message["role"] == "system");
    for at in system.into_iter().chain(last) {
        if let Some(text) = messages[at]["content"].as_str() {
            let part = json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
            messages[at]["content"] = json!([part]);
        }
    }
}

fn options(request: &ModelRequest, dialect: WireDialect, body: &mut Map<String, Value>) {
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    if dialect != WireDialect::OpenRouter {
        // There it is always on, and the option a no-op.
        set("stream_options", json!({"include_usage": true}));
    }
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
        match &request.choice {
            ToolChoice::Auto => {}
            ToolChoice::None => drop(set("tool_choice", json!("none"))),
            ToolChoice::Required => drop(set("tool_choice", json!("required"))),
            ToolChoice::Named(name) => {
                set("tool_choice", json!({"type": "function", "function": {"name": name}}));
            }
        }
    }
    if let Some(most) = request.max_output {
        let key = if dialect == WireDialect::OpenAi { "max_completion_tokens" } else { "max_tokens" };
        set(key, json!(most));
    }
    if let Some(temperature) = request.temperature {
        set("temperature", json!(temperature));
    }
    if let Some(effort) = request.effort {
        match dialect {
            WireDialect::OpenRouter => set("reasoning", json!({"effort": effort.word()})),
            WireDialect::OpenAi | WireDialect::Compatible => set("reasoning_effort", json!(effort.word())),
        };
    }
    if let Some(format) = &request.format {
        let schema = json!({"name": format.name, "schema": format.schema, "strict": true});
        set("response_format", json!({"type": "json_schema", "json_schema": schema}));
    }
    if dialect == WireDialect::OpenRouter && (!request.tools.is_empty() || request.format.is_some()) {
        // Otherwise a request may be routed to a provider that silently drops tools or the schema.
        set("provider", json!({"require_parameters": true}));
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.schema,
    }})
}

/// Results become messages of their own, before the words: they must follow their calls directly.
fn user(message: &ModelMessage, out: &mut Vec<Value>) {
    for part in &message.parts {
        if let MessagePart::Result(result) = part {
            out.push(json!({"role": "tool", "tool_call_id": result.call_id, "content": result.text}));
        }
    }
    let text = message.text();
    if !text.is_empty() {
        out.push(json!({"role": "user", "content": text}));
    }
}

fn assistant(message: &ModelMessage, dialect: WireDialect) -> Value {
    let text = message.text();
    let content = if text.is_empty() { Value::Null } else { Value::String(text) };
    let mut out = json!({"role": "assistant", "content": content});
    let calls: Vec<Value> = message
        .calls()
        .map(|call| {
            let arguments = call.object_for_history().to_string();
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        })
        .collect();
    if !calls.is_empty() {
        out["tool_calls"] = calls.into();
    }
    if dialect == WireDialect::OpenRouter
        && let Some(details) = reasoning_details(message)
    {
        out["reasoning_details"] = details;
    }
    out
}

fn reasoning_details(message: &ModelMessage) -> Option<Value> {
    message.parts.iter().find_map(|part| match part {
        MessagePart::Reasoning(reasoning) => {
            let seal = reasoning.seal.as_ref().filter(|seal| seal.wire == WireFormat::Chat)?;
            Some(seal.value.clone())
        }
        _ => None,
    })
}
