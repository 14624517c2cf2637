//! The body of a Responses request.

use std::collections::HashSet;

use holon_model::{
    Format, Part, Reasoning, Request, Role, Seal, Tool, ToolCall, ToolChoice, ToolResult, Wire,
};
use serde_json::{Value, json};

use crate::serve::Asked;
use crate::serve::carrier;
use crate::serve::fields::{
    add_system, effort, flag, join, limit, list, owned, pieces, schema, temperature, text, texts,
};

/// Fields that refer to what a provider keeps; leaving them out would change the conversation.
const KEPT_ELSEWHERE: [&str; 4] = ["previous_response_id", "conversation", "prompt", "background"];

pub(crate) fn read(body: &Value) -> Result<Asked, String> {
    let given = |key: &&&str| body.get(**key).is_some_and(|value| !value.is_null() && *value != json!(false));
    if let Some(key) = KEPT_ELSEWHERE.iter().find(given) {
        return Err(format!("`{key}` is not served here: nothing is kept, send the whole conversation"));
    }
    let mut request = Request { model: owned(body, "model"), ..Request::default() };
    add_system(&mut request.system, text(body, "instructions").unwrap_or_default());
    match body.get("input") {
        Some(Value::String(words)) => {
            join(&mut request.messages, Role::User, vec![Part::Text(words.clone())])
        }
        Some(Value::Array(items)) => {
            for item in items {
                take(item, &mut request)?;
            }
        }
        _ => return Err("`input` must be a text or a list of items".to_owned()),
    }
    let mut custom = HashSet::new();
    request.tools = list(body, "tools").iter().filter_map(|given| tool(given, &mut custom)).collect();
    request.choice = choice(body.get("tool_choice"));
    request.max_output = limit(body, &["max_output_tokens"]);
    request.temperature = temperature(body);
    let thinking = body.get("reasoning").and_then(|reasoning| text(reasoning, "effort"));
    request.effort = thinking.and_then(effort);
    request.format = body.get("text").and_then(|text| text.get("format")).and_then(format);
    Ok(Asked { request, stream: flag(body, "stream"), custom })
}

fn take(item: &Value, request: &mut Request) -> Result<(), String> {
    let (role, part) = match text(item, "type").unwrap_or("message") {
        "message" => {
            match text(item, "role").unwrap_or("user") {
                "system" | "developer" => {
                    add_system(&mut request.system, &pieces(item.get("content")).join("\n"));
                }
                "assistant" => join(&mut request.messages, Role::Assistant, texts(item.get("content"))),
                _ => join(&mut request.messages, Role::User, texts(item.get("content"))),
            }
            return Ok(());
        }
        "reasoning" => match thought(item, request) {
            Some(thought) => (Role::Assistant, Part::Reasoning(thought)),
            None => return Ok(()),
        },
        "function_call" => {
            let call = ToolCall::new(owned(item, "call_id"), owned(item, "name"), owned(item, "arguments"));
            (Role::Assistant, Part::Call(call))
        }
        "custom_tool_call" => {
            let input = json!({"input": item.get("input").cloned().unwrap_or_default()}).to_string();
            let mut call = ToolCall::new(owned(item, "call_id"), owned(item, "name"), input);
            call.custom = true;
            (Role::Assistant, Part::Call(call))
        }
        "function_call_output" | "custom_tool_call_output" => {
            let words = pieces(item.get("output")).join("\n");
            (Role::User, Part::Result(ToolResult::ok(owned(item, "call_id"), words)))
        }
        "item_reference" => {
            return Err("`item_reference` is not served here: nothing is kept, send the item".to_owned());
        }
        // Items of tools that run at a provider.
        _ => return Ok(()),
    };
    join(&mut request.messages, role, vec![part]);
    Ok(())
}

/// The thought in an item; none when the item only carried the seal of an earlier one.
fn thought(item: &Value, request: &mut Request) -> Option<Reasoning> {
    let from = if list(item, "summary").is_empty() { "content" } else { "summary" };
    let words = pieces(item.get(from).filter(|parts| parts.is_array())).join("\n\n");
    let encrypted = text(item, "encrypted_content");
    let foreign = encrypted.and_then(carrier::unpack);
    if let Some(foreign) = foreign {
        match request.messages.last_mut().filter(|last| words.is_empty() && last.role == Role::Assistant) {
            Some(last) => carrier::attach(last, foreign),
            None => return Some(foreign),
        }
        return None;
    }
    let seal = encrypted.map(|_| Seal { wire: Wire::Responses, value: item.clone() });
    Some(Reasoning { text: words, seal })
}

fn tool(tool: &Value, custom: &mut HashSet<String>) -> Option<Tool> {
    let name = text(tool, "name")?;
    match text(tool, "type").unwrap_or("function") {
        "function" => Some(Tool::new(name, owned(tool, "description"), schema(tool, "parameters"))),
        // A tool that takes plain text: elsewhere an object with one field.
        "custom" => {
            custom.insert(name.to_owned());
            let grammar = tool.get("format").and_then(|format| text(format, "definition"));
            let mut description = owned(tool, "description");
            if let Some(grammar) = grammar {
                description.push_str("\n\nThe input follows this grammar:\n");
                description.push_str(grammar);
            }
            let input = json!({"input": {"type": "string"}});
            Some(Tool::new(
                name,
                description,
                json!({"type": "object", "properties": input, "required": ["input"]}),
            ))
        }
        _ => None,
    }
}

fn choice(choice: Option<&Value>) -> ToolChoice {
    match choice {
        Some(Value::String(word)) if word == "none" => ToolChoice::None,
        Some(Value::String(word)) if word == "required" => ToolChoice::Required,
        Some(object @ Value::Object(_)) => {
            text(object, "name").map_or(ToolChoice::Auto, |name| ToolChoice::Named(name.to_owned()))
        }
        _ => ToolChoice::Auto,
    }
}

fn format(format: &Value) -> Option<Format> {
    match text(format, "type")? {
        "json_schema" => {
            let name = text(format, "name").unwrap_or("answer").to_owned();
            Some(Format { name, schema: schema(format, "schema") })
        }
        "json_object" => Some(Format { name: "object".to_owned(), schema: json!({"type": "object"}) }),
        _ => None,
    }
}
