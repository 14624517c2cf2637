//! Reading fields of requests that may be absent, null or of another type than promised.

use std::fmt::Write as _;

use holon_model::{Effort, MessagePart, ModelMessage, Role};
use serde_json::Value;

/// The text at a key, if it is one and not empty.
pub(super) fn text<'a>(json: &'a Value, key: &str) -> Option<&'a str> {
    json.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The text at a key as an owned one, empty when there is none.
pub(super) fn owned(json: &Value, key: &str) -> String {
    text(json, key).unwrap_or_default().to_owned()
}

/// The list at a key, empty when there is none.
pub(super) fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    json.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a flag is set.
pub(super) fn flag(json: &Value, key: &str) -> bool {
    json.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A limit in tokens, under the first of these keys that has one.
pub(super) fn limit(json: &Value, keys: &[&str]) -> Option<u32> {
    let found = keys.iter().find_map(|key| json.get(key)?.as_u64())?;
    Some(u32::try_from(found).unwrap_or(u32::MAX))
}

/// The temperature.
pub(super) fn temperature(json: &Value) -> Option<f64> {
    json.get("temperature")?.as_f64()
}

/// How hard to think, by the words in use.
pub(super) fn effort(word: &str) -> Option<Effort> {
    match word {
        "minimal" | "low" => Some(Effort::Low),
        "medium" => Some(Effort::Medium),
        "high" | "xhigh" | "max" => Some(Effort::High),
        _ => None,
    }
}

/// A schema, an empty object's when there is none.
pub(super) fn schema(json: &Value, key: &str) -> Value {
    let found = json.get(key).filter(|schema| schema.is_object());
    found.cloned().unwrap_or_else(|| serde_json::json!({"type": "object", "properties": {}}))
}

/// A piece of content: its words, or a note about what cannot be carried over.
pub(super) fn piece(part: &Value) -> Option<String> {
    if let Some(words) = part.as_str() {
        return Some(words.to_owned());
    }
    match text(part, "type").unwrap_or("text") {
        "text" | "input_text" | "output_text" | "summary_text" | "reasoning_text" | "refusal" => {
            text(part, "text").or_else(|| text(part, "refusal")).map(str::to_owned)
        }
        kind if NOT_CARRIED.iter().any(|word| kind.contains(word)) => {
            Some(format!("[{kind}: left out, the model cannot be shown it]"))
        }
        _ => None,
    }
}

const NOT_CARRIED: [&str; 5] = ["image", "audio", "video", "file", "document"];

/// The pieces of a content that is a text or a list of parts.
pub(super) fn pieces(content: Option<&Value>) -> Vec<String> {
    match content {
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(parts)) => parts.iter().filter_map(piece).collect(),
        _ => Vec::new(),
    }
}

/// The pieces as parts of a message.
pub(super) fn texts(content: Option<&Value>) -> Vec<MessagePart> {
    pieces(content).into_iter().map(MessagePart::Text).collect()
}

/// Adds a paragraph to the system prompt.
pub(super) fn add_system(system: &mut String, words: &str) {
    if words.is_empty() {
        return;
    }
    let gap = if system.is_empty() { "" } else { "\n\n" };
    // Writing to a String cannot fail.
    let _ = write!(system, "{gap}{words}");
}

/// Adds parts to the last message if that is of the same role, else begins one.
pub(super) fn join(messages: &mut Vec<ModelMessage>, role: Role, parts: Vec<MessagePart>) {
    if parts.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(last) if last.role == role => last.parts.extend(parts),
        _ => messages.push(ModelMessage { role, parts }),
    }
}
