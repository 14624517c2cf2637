//! The body of a Messages request.

use holon_model::{
    Effort, MessagePart, ModelMessage, ModelRequest, Reasoning, ReplyFormat, Role, Seal, ToolCall,
    ToolChoice, ToolSpec,
};
use holon_model::{ToolResult, WireFormat};
use serde_json::{Value, json};

use crate::serve::ClientRequest;
use crate::serve::carrier;
use crate::serve::fields::{
    add_system, effort, flag, join, limit, list, owned, piece, pieces, schema, temperature, text,
};

/// A block that one client puts in front of its prompt for its own maker; it differs from request to request.
const BILLING_NOTE: &str = "x-anthropic-billing-header:";

pub(crate) fn read(body: &Value) -> Result<ClientRequest, String> {
    if list(body, "messages").is_empty() {
        return Err("`messages` must be a list with at least one message".to_owned());
    }
    let mut request = ModelRequest { model: owned(body, "model"), ..ModelRequest::default() };
    for words in pieces(body.get("system")).iter().filter(|words| !words.starts_with(BILLING_NOTE)) {
        add_system(&mut request.system, words);
    }
    for message in list(body, "messages") {
        take(message, &mut request);
    }
    request.tools = list(body, "tools").iter().filter_map(tool).collect();
    request.choice = choice(body.get("tool_choice"));
    request.max_output = limit(body, &["max_tokens"]);
    request.temperature = temperature(body);
    request.effort = thinking(body);
    let wanted = body.get("output_config").and_then(|config| config.get("format"));
    request.format = wanted.or_else(|| body.get("output_format")).and_then(format);
    Ok(ClientRequest { request, stream: flag(body, "stream"), ..ClientRequest::default() })
}

fn take(message: &Value, request: &mut ModelRequest) {
    let role = match text(message, "role").unwrap_or("user") {
        "assistant" => Role::Assistant,
        "system" => {
            return add_system(&mut request.system, &pieces(message.get("content")).join("\n"));
        }
        _ => Role::User,
    };
    let mut taken = ModelMessage { role, parts: Vec::new() };
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().for_each(|given| block(given, &mut taken)),
        content => taken.parts.extend(pieces(content).into_iter().map(MessagePart::Text)),
    }
    join(&mut request.messages, role, taken.parts);
}

fn block(block: &Value, message: &mut ModelMessage) {
    let part = match text(block, "type").unwrap_or("text") {
        "tool_use" => {
            let input = block.get("input").filter(|input| input.is_object()).cloned().unwrap_or(json!({}));
            MessagePart::Call(ToolCall::new(owned(block, "id"), owned(block, "name"), input.to_string()))
        }
        "tool_result" => MessagePart::Result(ToolResult {
            call_id: owned(block, "tool_use_id"),
            text: pieces(block.get("content")).join("\n"),
            is_error: flag(block, "is_error"),
        }),
        "thinking" => {
            let seal = text(block, "signature").and_then(|signature| {
                let own =
                    || Some(Seal { wire: WireFormat::Messages, value: json!({"signature": signature}) });
                carrier::unpack(signature).map_or_else(own, |thought| thought.seal)
            });
            MessagePart::Reasoning(Reasoning { text: owned(block, "thinking"), seal })
        }
        "redacted_thinking" => {
            let data = text(block, "data").unwrap_or_default();
            if let Some(thought) = carrier::unpack(data) {
                return carrier::attach(message, thought);
            }
            let seal = Seal { wire: WireFormat::Messages, value: json!({"data": data}) };
            MessagePart::Reasoning(Reasoning { text: String::new(), seal: Some(seal) })
        }
        _ => match piece(block) {
            Some(words) => MessagePart::Text(words),
            None => return,
        },
    };
    message.parts.push(part);
}

/// Tools with a schema; those a provider defines or runs cannot be carried over.
fn tool(tool: &Value) -> Option<ToolSpec> {
    let name = text(tool, "name").filter(|_| text(tool, "type").unwrap_or("custom") == "custom")?;
    Some(ToolSpec::new(name, owned(tool, "description"), schema(tool, "input_schema")))
}

fn choice(choice: Option<&Value>) -> ToolChoice {
    let Some(choice) = choice else { return ToolChoice::Auto };
    match text(choice, "type") {
        Some("none") => ToolChoice::None,
        Some("any") => ToolChoice::Required,
        Some("tool") => ToolChoice::Named(owned(choice, "name")),
        _ => ToolChoice::Auto,
    }
}

fn thinking(body: &Value) -> Option<Effort> {
    let thinking = body.get("thinking");
    let word = body.get("output_config").and_then(|config| text(config, "effort"));
    match thinking.and_then(|thinking| text(thinking, "type"))? {
        "enabled" => match thinking.and_then(|t| t.get("budget_tokens")).and_then(Value::as_u64) {
            Some(0..5_000) => Some(Effort::Low),
            Some(5_000..16_000) => Some(Effort::Medium),
            _ => Some(Effort::High),
        },
        "adaptive" => word.and_then(effort).or(Some(Effort::Medium)),
        _ => None,
    }
}

fn format(format: &Value) -> Option<ReplyFormat> {
    let told = format.get("schema").filter(|_| text(format, "type") == Some("json_schema"))?;
    Some(ReplyFormat { name: "answer".to_owned(), schema: told.clone() })
}
