//! The body of a Responses request.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::message::{MessagePart, ModelMessage, Reasoning, Role, ToolCall};
use crate::request::{ModelRequest, ToolChoice};
use crate::wire::WireFormat;

pub(crate) fn encode(request: &ModelRequest) -> Value {
    // Nothing is kept at the provider, so thoughts travel with the conversation, encrypted.
    let mut body = json!({
        "model": request.model,
        "input": input(&request.messages),
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
    });
    if let Some(body) = body.as_object_mut() {
        options(request, body);
    }
    body
}

fn options(request: &ModelRequest, body: &mut Map<String, Value>) {
    let mut set = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    if !request.system.is_empty() {
        set("instructions", json!(request.system));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.schema, "strict": false,
            })
        });
        set("tools", tools.collect());
        match &request.choice {
            ToolChoice::Auto => {}
            ToolChoice::None => set("tool_choice", json!("none")),
            ToolChoice::Required => set("tool_choice", json!("required")),
            ToolChoice::Named(name) => set("tool_choice", json!({"type": "function", "name": name})),
        }
    }
    if let Some(most) = request.max_output {
        set("max_output_tokens", json!(most));
    }
    if let Some(temperature) = request.temperature {
        set("temperature", json!(temperature));
    }
    if let Some(effort) = request.effort {
        set("reasoning", json!({"effort": effort.word(), "summary": "auto"}));
    }
    if let Some(format) = &request.format {
        let schema =
            json!({"type": "json_schema", "name": format.name, "schema": format.schema, "strict": true});
        set("text", json!({"format": schema}));
    }
}

fn input(messages: &[ModelMessage]) -> Vec<Value> {
    let custom: HashSet<&str> = messages
        .iter()
        .flat_map(ModelMessage::calls)
        .filter(|call| call.custom)
        .map(|call| call.id.as_str())
        .collect();
    let mut items = Vec::new();
    for message in messages {
        // Results come first: they must follow their calls.
        for part in &message.parts {
            if let MessagePart::Result(result) = part {
                let kind = if custom.contains(result.call_id.as_str()) {
                    "custom_tool_call_output"
                } else {
                    "function_call_output"
                };
                items.push(json!({"type": kind, "call_id": result.call_id, "output": result.text}));
            }
        }
        items.extend(message.parts.iter().filter_map(|part| item(message.role, part)));
    }
    items
}

fn item(role: Role, part: &MessagePart) -> Option<Value> {
    match part {
        MessagePart::Text(text) if text.is_empty() => None,
        MessagePart::Text(text) => Some(match role {
            Role::User => json!({
                "type": "message", "role": "user", "content": [{"type": "input_text", "text": text}],
            }),
            Role::Assistant => json!({
                "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}],
            }),
        }),
        MessagePart::Reasoning(reasoning) => thought(reasoning),
        MessagePart::Call(call) => Some(call_item(call)),
        MessagePart::Result(_) => None,
    }
}

fn call_item(call: &ToolCall) -> Value {
    if call.custom {
        let input = call.object().ok().and_then(|mut object| object.remove("input"));
        return json!({
            "type": "custom_tool_call", "call_id": call.id, "name": call.name,
            "input": input.unwrap_or_else(|| json!(call.arguments)),
        });
    }
    let arguments = call.object_for_history().to_string();
    json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
}

/// A thought goes back as the item it came as.
fn thought(reasoning: &Reasoning) -> Option<Value> {
    let seal = reasoning.seal.as_ref().filter(|seal| seal.wire == WireFormat::Responses)?;
    Some(seal.value.clone())
}
