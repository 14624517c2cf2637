//! Google's own form of a schema, as JSON Schema.

use serde_json::{Map, Value, json};

/// JSON Schema of a schema whose types are in capitals and whose numbers may be texts; other words are the same in both.
pub(super) fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => Value::Object(object(map)),
        Value::Array(list) => list.iter().map(plain).collect(),
        other => other.clone(),
    }
}

fn object(map: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in map {
        let told = match (key.as_str(), value) {
            ("type", Value::String(word)) => Value::String(word.to_ascii_lowercase()),
            // Said by the type.
            ("nullable", Value::Bool(_)) => continue,
            // No rule, only how it is shown.
            ("propertyOrdering", Value::Array(_)) => continue,
            (key, Value::String(digits)) if COUNTS.contains(&key) => {
                digits.parse::<u64>().map_or_else(|_| value.clone(), Value::from)
            }
            // Values, not schemas.
            ("enum" | "default" | "example" | "required", value) => value.clone(),
            (_, value) => plain(value),
        };
        out.insert(key.clone(), told);
    }
    if map.get("nullable") == Some(&Value::Bool(true))
        && let Some(Value::String(word)) = out.get("type")
    {
        let either = json!([word, "null"]);
        out.insert("type".to_owned(), either);
    }
    out
}

const COUNTS: [&str; 6] =
    ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_and_texts_become_json_schema() {
        let google = json!({
            "type": "OBJECT", "propertyOrdering": ["type"], "required": ["type"],
            "properties": {
                "type": {"type": "STRING", "enum": ["OBJECT", "x"], "nullable": true},
                "all": {"type": "ARRAY", "minItems": "1", "items": {"anyOf": [{"type": "INTEGER"}, {"type": "NUMBER"}]}},
            },
        });
        let expect = json!({
            "type": "object", "required": ["type"],
            "properties": {
                "type": {"type": ["string", "null"], "enum": ["OBJECT", "x"]},
                "all": {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "integer"}, {"type": "number"}]}},
            },
        });
        assert_eq!(plain(&google), expect);
        assert_eq!(plain(&expect), expect, "what is plain already stays as it is");
    }
}
