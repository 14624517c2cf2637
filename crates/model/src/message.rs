//! What is said to a model and by it, the same for every wire.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::wire::WireFormat;

/// Who is speaking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person or the host; tool results are theirs too.
    User,
    /// The model.
    Assistant,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// Who says it.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<MessagePart>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagePart {
    /// Words.
    Text(String),
    /// Thoughts of the model.
    Reasoning(Reasoning),
    /// The model wants a tool called.
    Call(ToolCall),
    /// What a tool gave back.
    Result(ToolResult),
}

/// Thoughts of the model, with what its provider needs to see again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The readable thoughts or their summary; may be empty when only the seal is given out.
    pub text: String,
    /// The provider's own form, sent back unchanged on the same wire and left out on others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
}

/// A provider's form of a thought (signature, encrypted content), opaque to everyone else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seal {
    /// The wire it came from.
    pub wire: WireFormat,
    /// Its content.
    pub value: Value,
}

/// A call the model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within a conversation; the result names it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments exactly as the model wrote them; usually a JSON object.
    pub arguments: String,
    /// True for a Responses custom tool, whose input is text under the key `input`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub custom: bool,
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// The text for the model.
    pub text: String,
    /// True when the call failed or was denied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ModelMessage {
    /// Something the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![MessagePart::Text(text.into())] }
    }

    /// Something the model said.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: Role::Assistant, parts: vec![MessagePart::Text(text.into())] }
    }

    /// The results of all calls of the previous reply.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { role: Role::User, parts: results.into_iter().map(MessagePart::Result).collect() }
    }

    /// The calls in it.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Call(call) => Some(call),
            _ => None,
        })
    }

    /// All words of it, without thoughts.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            MessagePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl ToolCall {
    /// A call of a function tool.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into(), custom: false }
    }

    /// The arguments as a JSON object, or what is wrong with them, in words fit for the model.
    pub fn object(&self) -> Result<Map<String, Value>, String> {
        let text = self.arguments.trim();
        if text.is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(Value::Null) => Ok(Map::new()),
            // Some servers quote the object once more.
            Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
                Ok(Value::Object(map)) => Ok(map),
                _ => Err("the arguments must be a JSON object, not a string".to_owned()),
            },
            Ok(other) => Err(format!("the arguments must be a JSON object, not {}", kind_of(&other))),
            Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
        }
    }

    /// The arguments as an object that every server accepts in a history, broken ones wrapped.
    pub(crate) fn object_for_history(&self) -> Value {
        let wrapped = || Map::from_iter([("unparsed".to_owned(), Value::String(self.arguments.clone()))]);
        Value::Object(self.object().unwrap_or_else(|_| wrapped()))
    }
}

impl ToolResult {
    /// The result of a call that worked.
    pub fn ok(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), text: text.into(), is_error: false }
    }

    /// The result of a call that failed.
    pub fn error(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), text: text.into(), is_error: true }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn arguments_are_read_kindly_and_refused_clearly() {
        for (text, expect) in [
            (r#"{"a":1}"#, Ok(r#"{"a":1}"#)),
            ("", Ok("{}")),
            ("null", Ok("{}")),
            (r#""{\"a\":1}""#, Ok(r#"{"a":1}"#)),
            ("[1]", Err("not a list")),
            ("{\"a\":", Err("not valid JSON")),
        ] {
            let got = ToolCall::new("1", "t", text).object();
            match expect {
                Ok(json) => assert_eq!(Value::Object(got.unwrap()).to_string(), json, "{text}"),
                Err(words) => assert!(got.unwrap_err().contains(words), "{text}"),
            }
        }
    }

    #[test]
    fn broken_arguments_stay_visible_in_the_history() {
        let call = ToolCall::new("1", "t", "{oops");
        assert_eq!(call.object_for_history().to_string(), r#"{"unparsed":"{oops"}"#);
    }
}
