//! The body of a Responses request.

use std::collections::HashSet;

use holon_model::{
    MessagePart, ModelRequest, Reasoning, ReplyFormat, Role, Seal, ToolCall, ToolChoice, ToolResult,
    ToolSpec, WireFormat,
};
use serde_json::{Value, json};

use crate::serve::carrier;
use crate::serve::fields::{
    add_system, effort, flag, join, limit, list, owned, pieces, schema, temperature, text, texts,
};
use crate::serve::{ClientRequest, ToolSpaces};

/// Fields that refer to what a provider keeps; leaving them out would change the conversation.
const KEPT_ELSEWHERE: [&str; 4] = ["previous_response_id", "conversation", "prompt", "background"];

pub(crate) fn read(body: &Value) -> Result<ClientRequest, String> {
    let given = |key: &&&str| body.get(**key).is_some_and(|value| !value.is_null() && *value != json!(false));
    if let Some(key) = KEPT_ELSEWHERE.iter().find(given) {
        return Err(format!("`{key}` is not served here: nothing is kept, send the whole conversation"));
    }
    let mut request = ModelRequest { model: owned(body, "model"), ..ModelRequest::default() };
    add_system(&mut request.system, text(body, "instructions").unwrap_or_default());
    match body.get("input") {
        Some(Value::String(words)) => {
            join(&mut request.messages, Role::User, vec![MessagePart::Text(words.clone())])
        }
        Some(Value::Array(items)) => {
            for item in items {
                take(item, &mut request)?;
            }
        }
        _ => return Err("`input` must be a text or a list of items".to_owned()),
    }
    let mut tools = ResponsesTools::default();
    list(body, "tools").iter().for_each(|given| tools.take(given, None));
    // Tools that a client adds on the way are items of the conversation.
    let added = list(body, "input").iter().filter(|item| text(item, "type") == Some("additional_tools"));
    added.flat_map(|item| list(item, "tools")).for_each(|given| tools.take(given, None));
    request.tools = tools.all;
    request.choice = choice(body.get("tool_choice"));
    request.max_output = limit(body, &["max_output_tokens"]);
    request.temperature = temperature(body);
    let thinking = body.get("reasoning").and_then(|reasoning| text(reasoning, "effort"));
    request.effort = thinking.and_then(effort);
    request.format = body.get("text").and_then(|text| text.get("format")).and_then(format);
    Ok(ClientRequest { request, stream: flag(body, "stream"), custom: tools.custom, spaces: tools.spaces })
}

fn take(item: &Value, request: &mut ModelRequest) -> Result<(), String> {
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
            Some(thought) => (Role::Assistant, MessagePart::Reasoning(thought)),
            None => return Ok(()),
        },
        "function_call" => {
            let name = flat(text(item, "namespace"), &owned(item, "name"));
            let call = ToolCall::new(owned(item, "call_id"), name, owned(item, "arguments"));
            (Role::Assistant, MessagePart::Call(call))
        }
        "custom_tool_call" => {
            let input = json!({"input": item.get("input").cloned().unwrap_or_default()}).to_string();
            let name = flat(text(item, "namespace"), &owned(item, "name"));
            let mut call = ToolCall::new(owned(item, "call_id"), name, input);
            call.custom = true;
            (Role::Assistant, MessagePart::Call(call))
        }
        "function_call_output" | "custom_tool_call_output" => {
            let words = pieces(item.get("output")).join("\n");
            (Role::User, MessagePart::Result(ToolResult::ok(owned(item, "call_id"), words)))
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
fn thought(item: &Value, request: &mut ModelRequest) -> Option<Reasoning> {
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
    let seal = encrypted.map(|_| Seal { wire: WireFormat::Responses, value: item.clone() });
    Some(Reasoning { text: words, seal })
}

/// The tools of a request.
#[derive(Default)]
struct ResponsesTools {
    all: Vec<ToolSpec>,
    custom: HashSet<String>,
    spaces: ToolSpaces,
}

impl ResponsesTools {
    /// Takes a tool in, or all tools of a group; one whose name is there already is the same tool told again.
    fn take(&mut self, tool: &Value, space: Option<&str>) {
        let Some(own) = text(tool, "name") else { return };
        let name = flat(space, own);
        let taken = match text(tool, "type").unwrap_or("function") {
            "namespace" if space.is_none() => {
                return list(tool, "tools").iter().for_each(|inner| self.take(inner, Some(own)));
            }
            _ if self.all.iter().any(|there| there.name == name) => return,
            "function" => ToolSpec::new(name.clone(), owned(tool, "description"), schema(tool, "parameters")),
            "custom" => {
                self.custom.insert(name.clone());
                plain_text(name.clone(), tool)
            }
            _ => return,
        };
        if let Some(space) = space {
            self.spaces.insert(name, (space.to_owned(), own.to_owned()));
        }
        self.all.push(taken);
    }
}

/// The name by which a model knows a tool of a group.
fn flat(space: Option<&str>, name: &str) -> String {
    space.map_or_else(|| name.to_owned(), |space| format!("{space}__{name}"))
}

/// A tool that takes plain text: elsewhere an object with one field.
fn plain_text(name: String, tool: &Value) -> ToolSpec {
    let grammar = tool.get("format").and_then(|format| text(format, "definition"));
    let mut description = owned(tool, "description");
    if let Some(grammar) = grammar {
        description.push_str("\n\nThe input follows this grammar:\n");
        description.push_str(grammar);
    }
    let input = json!({"input": {"type": "string"}});
    ToolSpec::new(name, description, json!({"type": "object", "properties": input, "required": ["input"]}))
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

fn format(format: &Value) -> Option<ReplyFormat> {
    match text(format, "type")? {
        "json_schema" => {
            let name = text(format, "name").unwrap_or("answer").to_owned();
            Some(ReplyFormat { name, schema: schema(format, "schema") })
        }
        "json_object" => Some(ReplyFormat { name: "object".to_owned(), schema: json!({"type": "object"}) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::serve::{ReplyLabels, whole};

    #[test]
    fn tools_in_groups_and_on_the_way_are_not_lost() {
        let body = json!({
            "model": "m",
            "tools": [
                {"type": "function", "name": "sh", "parameters": {"type": "object"}},
                {"type": "namespace", "name": "team", "tools": [{"type": "function", "name": "spawn"}]},
                {"type": "web_search"},
            ],
            "input": [
                {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "patch"}, {"name": "sh"}]},
                {"type": "message", "role": "user", "content": "go"},
                {"type": "function_call", "call_id": "c", "namespace": "team", "name": "spawn", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "ok"},
            ],
        });
        let asked = read(&body).unwrap();
        let names: Vec<&str> = asked.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["sh", "team__spawn", "patch"]);
        assert!(asked.custom.contains("patch"));
        let call = asked.request.messages[1].parts.iter().find_map(|part| match part {
            MessagePart::Call(call) => Some(call.clone()),
            _ => None,
        });
        let call = call.unwrap();
        assert_eq!(call.name, "team__spawn");
        let labels = ReplyLabels { spaces: asked.spaces, ..ReplyLabels::default() };
        let stop = holon_model::ReplyStop::ToolUse;
        let reply = holon_model::ModelReply {
            id: None,
            model: None,
            parts: vec![MessagePart::Call(call)],
            stop,
            usage: None,
        };
        let told = whole(crate::client_wire::ClientWire::Responses, &labels, &reply);
        let item = &told["output"][0];
        assert_eq!((&item["namespace"], &item["name"]), (&json!("team"), &json!("spawn")));
    }
}
