//! The body of a chat completion request.

use holon_model::{Format, Message, Part, Reasoning, Request, Role, Seal, Tool, ToolCall, ToolChoice};
use holon_model::{ToolResult, Wire};
use serde_json::{Value, json};

use crate::serve::Asked;
use crate::serve::fields::{
    add_system, effort, flag, limit, list, owned, pieces, schema, temperature, text, texts,
};

pub(crate) fn read(body: &Value) -> Result<Asked, String> {
    if list(body, "messages").is_empty() {
        return Err("`messages` must be a list with at least one message".to_owned());
    }
    let mut request = Request { model: owned(body, "model"), ..Request::default() };
    for message in list(body, "messages") {
        take(message, &mut request);
    }
    request.tools = list(body, "tools").iter().filter_map(tool).collect();
    request.choice = choice(body.get("tool_choice"));
    request.max_output = limit(body, &["max_completion_tokens", "max_tokens"]);
    request.temperature = temperature(body);
    let thinking = body.get("reasoning").and_then(|reasoning| text(reasoning, "effort"));
    request.effort = thinking.or_else(|| text(body, "reasoning_effort")).and_then(effort);
    request.format = body.get("response_format").and_then(format);
    Ok(Asked { request, stream: flag(body, "stream"), ..Asked::default() })
}

fn take(message: &Value, request: &mut Request) {
    match text(message, "role").unwrap_or("user") {
        "system" | "developer" => {
            add_system(&mut request.system, &pieces(message.get("content")).join("\n"));
        }
        "assistant" => {
            let parts = assistant(message);
            if !parts.is_empty() {
                request.messages.push(Message { role: Role::Assistant, parts });
            }
        }
        "tool" | "function" => {
            let call_id = owned(message, "tool_call_id");
            let result = ToolResult::ok(call_id, pieces(message.get("content")).join("\n"));
            results(request).parts.push(Part::Result(result));
        }
        _ => {
            let words = texts(message.get("content"));
            if !words.is_empty() {
                results(request).parts.extend(words);
            }
        }
    }
}

/// The message of the user that holds nothing but results so far, begun when there is none: results and the words after
/// them are one message.
fn results(request: &mut Request) -> &mut Message {
    let fits = request.messages.last().is_some_and(|last| {
        last.role == Role::User && last.parts.iter().all(|part| matches!(part, Part::Result(_)))
    });
    if !fits {
        request.messages.push(Message { role: Role::User, parts: Vec::new() });
    }
    let at = request.messages.len() - 1;
    &mut request.messages[at]
}

fn assistant(message: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.extend(thoughts(message).map(Part::Reasoning));
    parts.extend(texts(message.get("content")));
    for call in list(message, "tool_calls") {
        let function = call.get("function").unwrap_or(&Value::Null);
        parts.push(Part::Call(ToolCall::new(
            owned(call, "id"),
            owned(function, "name"),
            owned(function, "arguments"),
        )));
    }
    parts
}

fn thoughts(message: &Value) -> Option<Reasoning> {
    let details =
        message.get("reasoning_details").filter(|list| list.as_array().is_some_and(|l| !l.is_empty()));
    let named = ["reasoning", "reasoning_content"].iter().find_map(|key| text(message, key));
    let words = named.map_or_else(
        || {
            let told = list(message, "reasoning_details").iter();
            told.filter_map(|detail| text(detail, "text").or_else(|| text(detail, "summary"))).collect()
        },
        str::to_owned,
    );
    let seal = details.map(|value| Seal { wire: Wire::Chat, value: value.clone() });
    (seal.is_some() || !words.is_empty()).then_some(Reasoning { text: words, seal })
}

fn tool(tool: &Value) -> Option<Tool> {
    let function = tool.get("function").filter(|_| text(tool, "type").unwrap_or("function") == "function")?;
    let name = text(function, "name")?;
    Some(Tool::new(name, owned(function, "description"), schema(function, "parameters")))
}

fn choice(choice: Option<&Value>) -> ToolChoice {
    match choice {
        Some(Value::String(word)) if word == "none" => ToolChoice::None,
        Some(Value::String(word)) if word == "required" => ToolChoice::Required,
        Some(object @ Value::Object(_)) => {
            let name = object.get("function").and_then(|function| text(function, "name"));
            name.map_or(ToolChoice::Auto, |name| ToolChoice::Named(name.to_owned()))
        }
        _ => ToolChoice::Auto,
    }
}

fn format(format: &Value) -> Option<Format> {
    match text(format, "type")? {
        "json_schema" => {
            let told = format.get("json_schema")?;
            let name = text(told, "name").unwrap_or("answer").to_owned();
            Some(Format { name, schema: schema(told, "schema") })
        }
        "json_object" => Some(Format { name: "object".to_owned(), schema: json!({"type": "object"}) }),
        _ => None,
    }
}
