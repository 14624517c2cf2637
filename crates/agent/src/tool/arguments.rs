//! Reading arguments kindly, and saying exactly what is wrong with them.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde_json::Value;

use super::{ToolArguments, ToolTrouble};

/// The arguments as a tool's own type.
pub(crate) fn read<T: DeserializeOwned>(arguments: ToolArguments) -> Result<T, ToolTrouble> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolTrouble::Arguments(error.to_string()))
}

/// A whole number, also when a model writes it as a text or with a point.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    let wrong = |value: &Value| D::Error::custom(format!("expected a whole number, found `{value}`"));
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
            let text = text.strip_suffix(".0").unwrap_or(&text);
            text.parse().map(Some).map_err(|_| wrong(&value))
        }
    }
}

/// Yes or no, also when a model writes it as a text.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") || text.is_empty() => Ok(false),
        Some(other) => Err(D::Error::custom(format!("expected true or false, found `{other}`"))),
    }
}

/// A schema in short: `{path: string, limit?: integer}`.
pub(crate) fn signature(schema: &Value) -> String {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words.join("|");
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let required: Vec<&str> = schema
                .get("required")
                .and_then(Value::as_array)
                .map(|names| names.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            let properties = schema.get("properties").and_then(Value::as_object);
            let fields = properties.into_iter().flatten().map(|(name, inner)| {
                let mark = if required.contains(&name.as_str()) { "" } else { "?" };
                format!("{name}{mark}: {}", signature(inner))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Some("array") => format!("[{}]", schema.get("items").map(signature).unwrap_or_default()),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct SampleArguments {
        path: String,
        #[serde(default, deserialize_with = "number")]
        limit: Option<u64>,
        #[serde(default, deserialize_with = "flag")]
        all: bool,
    }

    #[test]
    fn numbers_and_flags_are_read_kindly() {
        let check = |value: Value, limit: Option<u64>, all: bool| {
            let Value::Object(map) = value else { return };
            assert_eq!(
                read::<SampleArguments>(map).unwrap(),
                SampleArguments { path: "a".into(), limit, all }
            );
        };
        check(json!({"path": "a"}), None, false);
        check(json!({"path": "a", "limit": 3, "all": true}), Some(3), true);
        check(json!({"path": "a", "limit": "3", "all": "True"}), Some(3), true);
        check(json!({"path": "a", "limit": 3.0, "all": null}), Some(3), false);
        check(json!({"path": "a", "limit": "", "all": ""}), None, false);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let check = |value: Value, words: &str| {
            let Value::Object(map) = value else { return };
            let Err(ToolTrouble::Arguments(problem)) = read::<SampleArguments>(map) else {
                unreachable!("{words}")
            };
            assert!(problem.contains(words), "{problem}");
        };
        check(json!({}), "missing field `path`");
        check(json!({"path": "a", "limit": "many"}), "expected a whole number");
        check(json!({"path": 3}), "expected a string");
        check(json!({"path": "a", "all": 7}), "expected true or false");
    }

    #[test]
    fn a_signature_is_short() {
        let schema = json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"}, "how": {"enum": ["a", "b"]},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}}}});
        assert_eq!(signature(&schema), "{path: string, how?: a|b, list?: [{x?: integer}]}");
    }
}
