//! Reading JSON whose fields may be absent, null or of another type than promised.

use serde_json::Value;

use crate::error::ModelError;
use crate::sse::SseEvent;

/// The text at a key, if it is one and not empty.
pub(super) fn text<'a>(json: &'a Value, key: &str) -> Option<&'a str> {
    json.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The count at a key; servers write whole numbers, floats and texts.
pub(super) fn count(json: &Value, key: &str) -> Option<u64> {
    match json.get(key)? {
        Value::Number(number) => number.as_u64().or_else(|| {
            let float = number.as_f64().filter(|f| (0.0..9e15).contains(f))?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the range was checked"
            )]
            Some(float as u64)
        }),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// The count at a path, 0 when there is none.
pub(super) fn count_at(json: &Value, path: [&str; 2]) -> u64 {
    json.get(path[0]).and_then(|inner| count(inner, path[1])).unwrap_or(0)
}

/// A list at a key, empty when there is none.
pub(super) fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    json.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The data of an event as JSON.
pub(super) fn data(event: &SseEvent) -> Result<Value, ModelError> {
    serde_json::from_str(&event.data)
        .map_err(|_| ModelError::malformed("an event of the stream is not JSON", &event.data))
}

/// The type of an event: as its data says, else its name.
pub(super) fn kind<'a>(event: &'a SseEvent, json: &'a Value) -> &'a str {
    text(json, "type").or(event.name.as_deref()).unwrap_or_default()
}

/// The words of a content that is a text or a list of parts with texts.
pub(super) fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.as_str().or_else(|| text(part, "text"))).collect()
        }
        _ => String::new(),
    }
}
