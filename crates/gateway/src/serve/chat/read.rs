//! The body of a chat completion request.

use holon_model::{
    MessagePart, ModelMessage, ModelRequest, Reasoning, ReplyFormat, Role, Seal, ToolCall, ToolChoice,
    ToolSpec,
};
use holon_model::{ToolResult, WireFormat};
use serde_json::{Value, json};

use crate::serve::ClientRequest;
use crate::serve::fields::{
    add_system, effort, flag, limit, list, owned, pieces, schema, temperature, text, texts,
};

pub(crate) fn read(body: &Value) -> Result<ClientRequest, String> {
    if list(body, "messages").is_empty() {
        return Err("`messages` must be a list with at least one message".to_owned());
    }
    let mut request = ModelRequest { model: owned(body, "model"), ..ModelRequest::default() };
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
    Ok(ClientRequest { request, stream: flag(body, "stream"), ..ClientRequest::default() })
}

fn take(message: &Value, request: &mut ModelRequest) {
    match text(message, "role").unwrap_or("user") {
        "system" | "developer" => {
            add_system(&mut request.system, &pieces(message.get("content")).join("\n"));
        }
        "assistant" => {
            let parts = assistant(message);
            if !parts.is_empty() {
                request.messages.push(ModelMessage { role: Role::Assistant, parts });
            }
        }
        "tool" | "function" => {
            let call_id = owned(message, "tool_call_id");
            let result = ToolResult::ok(call_id, pieces(message.get("content")).join("\n"));
            results(request).parts.push(MessagePart::Result(result));
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
fn results(request: &mut ModelRequest) -> &mut ModelMessage {
    let fits = request.messages.last().is_some_and(|last| {
        last.role == Role::User && last.parts.iter().all(|part| matches!(part, MessagePart::Result(_)))
    });
    if !fits {
        request.messages.push(ModelMessage { role: Role::User, parts: Vec::new() });
    }
    let at = request.messages.len() - 1;
    &mut request.messages[at]
}

fn assistant(message: &Value) -> Vec<MessagePart> {
    let mut parts = Vec::new();
    parts.extend(thoughts(message).map(MessagePart::Reasoning));
    parts.extend(texts(message.get("content")));
    for call in list(message, "tool_calls") {
        let function = call.get("function").unwrap_or(&Value::Null);
        parts.push(MessagePart::Call(ToolCall::new(
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
    let seal = details.map(|value| Seal { wire: WireFormat::Chat, value: value.clone() });
    (seal.is_some() || !words.is_empty()).then_some(Reasoning { text: words, seal })
}

fn tool(tool: &Value) -> Option<ToolSpec> {
    let function = tool.get("function").filter(|_| text(tool, "type").unwrap_or("function") == "function")?;
    let name = text(function, "name")?;
    Some(ToolSpec::new(name, owned(function, "description"), schema(function, "parameters")))
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

fn format(format: &Value) -> Option<ReplyFormat> {
    match text(format, "type")? {
        "json_schema" => {
            let told = format.get("json_schema")?;
            let name = text(told, "name").unwrap_or("answer").to_owned();
            Some(ReplyFormat { name, schema: schema(told, "schema") })
        }
        "json_object" => Some(ReplyFormat { name: "object".to_owned(), schema: json!({"type": "object"}) }),
        _ => None,
    }
}
