//! Turns a request with tools into one that asks for calls in words.

use serde_json::{Value, json};

use super::find::write_call;
use crate::message::{MessagePart, ModelMessage};
use crate::request::{ModelRequest, ReplyFormat, ToolChoice, ToolSpec};

/// The name of the schema that constrains an answer to words and a call.
pub const SAY_SCHEMA_NAME: &str = "say_and_call";

/// The same request without tools: they are explained in the system prompt, earlier calls and results become words.
///
/// With `constrain` the answer must also follow a schema, for servers that can enforce one.
pub fn explain_tools(request: &ModelRequest, constrain: bool) -> ModelRequest {
    let mut plain = request.clone();
    plain.tools = Vec::new();
    plain.choice = ToolChoice::Auto;
    plain.messages = joined(request.messages.iter().map(in_words).filter(|m| !m.parts.is_empty()));
    if !request.tools.is_empty() && request.choice != ToolChoice::None {
        plain.system =
            format!("{}\n\n{}", request.system, manual(&request.tools, constrain)).trim().to_owned();
        if constrain && request.format.is_none() {
            plain.format = Some(say_and_call(request));
        }
    }
    plain
}

/// Neighbours of one role become one message: the templates of small models want the roles to alternate.
fn joined(messages: impl Iterator<Item = ModelMessage>) -> Vec<ModelMessage> {
    let mut out: Vec<ModelMessage> = Vec::new();
    for message in messages {
        match out.last_mut() {
            Some(last) if last.role == message.role => {
                let text = format!("{}\n\n{}", last.text(), message.text());
                last.parts = vec![MessagePart::Text(text)];
            }
            _ => out.push(message),
        }
    }
    out
}

fn manual(tools: &[ToolSpec], constrain: bool) -> String {
    let mut text = String::from("# Tools\n");
    for tool in tools {
        text.push_str(&format!("- {}: {} Arguments: {}\n", tool.name, tool.description, tool.schema));
    }
    text.push_str(if constrain {
        "Answer with one JSON object: `say` is what you want to tell, `tool` the tool to call or \"none\", `arguments` its arguments."
    } else {
        "To call a tool, write only this and stop; the result comes in the next message:\n```json\n{\"tool\": \"NAME\", \"arguments\": {…}}\n```"
    });
    text
}

/// Words and one call: each tool with the schema of its own arguments, and no call where none is a must.
fn say_and_call(request: &ModelRequest) -> ReplyFormat {
    let call = |name: &str, arguments: Value| {
        json!({
            "type": "object",
            "properties": {
                "say": {"type": "string"},
                "tool": {"type": "string", "enum": [name]},
                "arguments": arguments,
            },
            "required": ["say", "tool", "arguments"],
            "additionalProperties": false,
        })
    };
    let mut calls: Vec<Value> =
        request.tools.iter().map(|tool| call(&tool.name, arguments(&tool.schema))).collect();
    if request.choice == ToolChoice::Auto {
        calls.push(call("none", json!({"type": "object"})));
    }
    ReplyFormat { name: SAY_SCHEMA_NAME.to_owned(), schema: json!({ "anyOf": calls }) }
}

/// A schema as servers make grammars of them; one that points to places outside of itself stands for any object.
fn arguments(schema: &Value) -> Value {
    let plain = !schema.to_string().contains("\"$ref\"");
    if plain && schema.get("type") == Some(&json!("object")) {
        schema.clone()
    } else {
        json!({"type": "object"})
    }
}

fn in_words(message: &ModelMessage) -> ModelMessage {
    let words = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) => Some(text.clone()),
        MessagePart::Reasoning(_) => None,
        MessagePart::Call(call) => Some(write_call(&call.name, &call.object().unwrap_or_default())),
        MessagePart::Result(result) => {
            let how = if result.is_error { "The call failed" } else { "Result of the call" };
            Some(format!("{how}:\n{}", result.text))
        }
    });
    let words: Vec<String> = words.collect();
    let parts = if words.is_empty() { Vec::new() } else { vec![MessagePart::Text(words.join("\n\n"))] };
    ModelMessage { role: message.role, parts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Role, ToolCall, ToolResult};

    #[test]
    fn calls_and_results_become_words_of_alternating_roles() {
        let request = ModelRequest {
            system: "Be brief.".into(),
            messages: vec![
                ModelMessage::user("Fix it."),
                ModelMessage {
                    role: Role::Assistant,
                    parts: vec![MessagePart::Call(ToolCall::new("a", "ls", "{}"))],
                },
                ModelMessage::results([ToolResult::ok("a", "one"), ToolResult::error("b", "two")]),
                ModelMessage::user("Go on."),
            ],
            tools: vec![ToolSpec::new("ls", "Lists.", json!({"type": "object"}))],
            ..ModelRequest::default()
        };
        let plain = explain_tools(&request, false);
        let said: Vec<String> = plain.messages.iter().map(ModelMessage::text).collect();
        assert_eq!(
            said,
            [
                "Fix it.",
                "```json\n{\"tool\":\"ls\",\"arguments\":{}}\n```",
                "Result of the call:\none\n\nThe call failed:\ntwo\n\nGo on.",
            ]
        );
        assert!(plain.tools.is_empty() && plain.format.is_none());
        assert!(plain.system.starts_with("Be brief.\n\n# Tools\n- ls: Lists."));
        assert_eq!(explain_tools(&request, true).format.map(|f| f.name).as_deref(), Some(SAY_SCHEMA_NAME));
        // A tool that must not be called is not explained.
        let silent = explain_tools(&ModelRequest { choice: ToolChoice::None, ..request }, true);
        assert_eq!((silent.system.as_str(), silent.format), ("Be brief.", None));
    }
}
