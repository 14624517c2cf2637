//! Checking JSON against a schema of OpenAPI 3.0.
//!
//! A keyword that is not understood is a violation, so nothing passes because it was not checked.

use serde_json::{Map, Value};

/// How strictly a value is held against its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaDirection {
    /// A request: everything required is there, and nothing that is not described.
    Request,
    /// An answer of a server that need not tell everything: what it tells is as described.
    Answer,
}

/// Says nothing about the value.
const WORDS: [&str; 15] = [
    "description",
    "title",
    "example",
    "examples",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "externalDocs",
    "summary",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "discriminator",
    "x-multi-segment",
];

/// Everything about `value` that is not as `schema` says; `root` resolves references.
pub(super) fn check(value: &Value, schema: &Value, root: &Value, how: SchemaDirection) -> Vec<String> {
    let mut found = Vec::new();
    visit(value, schema, root, how, "$", &mut found);
    found
}

pub(super) fn resolve<'r>(schema: &'r Value, root: &'r Value) -> &'r Value {
    match schema["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
        Some(pointer) => root.pointer(pointer).map_or(&Value::Null, |found| resolve(found, root)),
        None => schema,
    }
}

fn visit(
    value: &Value,
    schema: &Value,
    root: &Value,
    how: SchemaDirection,
    at: &str,
    found: &mut Vec<String>,
) {
    let schema = resolve(schema, root);
    let Value::Object(rules) = schema else {
        found.push(format!("{at}: there is no schema"));
        return;
    };
    if value.is_null() && rules.get("nullable") == Some(&Value::Bool(true)) {
        return;
    }
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "type" => {
                if !has_type(value, rule.as_str().unwrap_or_default()) {
                    found.push(format!("{at}: expected {rule}, found {}", short(value)));
                }
            }
            "enum" => {
                if !rule.as_array().is_some_and(|values| values.contains(value)) {
                    found.push(format!("{at}: {} is none of {}", short(value), short(rule)));
                }
            }
            "required" if how == SchemaDirection::Request => {
                let missing = |name: &&Value| {
                    value.is_object() && value.get(name.as_str().unwrap_or_default()).is_none()
                };
                let missing = rule.as_array().into_iter().flatten().filter(missing);
                found.extend(missing.map(|name| format!("{at}: {name} is missing")));
            }
            "oneOf" | "anyOf" => one_of(value, rule, root, how, at, found),
            "allOf" => {
                let all = rule.as_array().into_iter().flatten();
                all.for_each(|part| visit(value, part, root, how, at, found));
            }
            "items" => {
                for (n, entry) in value.as_array().into_iter().flatten().enumerate() {
                    visit(entry, rule, root, how, &format!("{at}[{n}]"), found);
                }
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minimum" | "maximum" => {
                size(value, keyword, rule, at, found);
            }
            "format" => form(value, rule.as_str().unwrap_or_default(), at, found),
            "properties" | "additionalProperties" | "required" | "nullable" => {}
            "pattern" if how == SchemaDirection::Answer => {}
            word if WORDS.contains(&word) || word.starts_with("x-") => {}
            other => found.push(format!("{at}: the keyword {other} is not understood")),
        }
    }
    properties(value, rules, root, how, at, found);
}

fn properties(
    value: &Value,
    rules: &Map<String, Value>,
    root: &Value,
    how: SchemaDirection,
    at: &str,
    found: &mut Vec<String>,
) {
    let Value::Object(fields) = value else { return };
    let known = rules.get("properties").and_then(Value::as_object);
    let more = rules.get("additionalProperties");
    // Alternatives look at their own fields.
    let composed = ["oneOf", "anyOf", "allOf"].iter().any(|word| rules.contains_key(*word));
    for (name, field) in fields {
        let place = format!("{at}.{name}");
        match (known.and_then(|known| known.get(name)), more) {
            (Some(schema), _) => visit(field, schema, root, how, &place, found),
            (None, Some(schema @ Value::Object(_))) => visit(field, schema, root, how, &place, found),
            (None, Some(Value::Bool(true))) => {}
            (None, None) if composed || (how == SchemaDirection::Answer && known.is_none()) => {}
            (None, _) => found.push(format!("{place}: is not described")),
        }
    }
}

fn one_of(
    value: &Value,
    rule: &Value,
    root: &Value,
    how: SchemaDirection,
    at: &str,
    found: &mut Vec<String>,
) {
    let mut best: Option<Vec<String>> = None;
    for part in rule.as_array().into_iter().flatten() {
        let mut own = Vec::new();
        visit(value, part, root, how, at, &mut own);
        if own.is_empty() {
            return;
        }
        if best.as_ref().is_none_or(|best| own.len() < best.len()) {
            best = Some(own);
        }
    }
    found.extend(best.unwrap_or_default());
}

fn size(value: &Value, keyword: &str, rule: &Value, at: &str, found: &mut Vec<String>) {
    let (Some(limit), size) = (
        rule.as_f64(),
        match keyword {
            "minLength" | "maxLength" => value.as_str().map(|text| text.chars().count() as f64),
            "minItems" | "maxItems" => value.as_array().map(|list| list.len() as f64),
            _ => value.as_f64(),
        },
    ) else {
        return;
    };
    let Some(size) = size else { return };
    let fits = if keyword.starts_with("min") { size >= limit } else { size <= limit };
    if !fits {
        found.push(format!("{at}: {size} breaks {keyword} {limit}"));
    }
}

fn form(value: &Value, format: &str, at: &str, found: &mut Vec<String>) {
    let Some(text) = value.as_str() else { return };
    let fits = match format {
        "date-time" => text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z'),
        "uri" | "url" => text.contains("://"),
        _ => true,
    };
    if !fits {
        found.push(format!("{at}: {} is no {format}", short(value)));
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_found() {
        let root = json!({"components": {"schemas": {"name": {"type": "string", "maxLength": 3}}}});
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"$ref": "#/components/schemas/name"}, "b": {"type": "integer", "nullable": true},
            "c": {"oneOf": [{"type": "string", "enum": ["x"]}, {"type": "array", "items": {"type": "boolean"}}]},
        }});
        let check = |value: Value, expect: &[&str]| {
            let found = check(&value, &schema, &root, SchemaDirection::Request);
            assert_eq!(found.len(), expect.len(), "{found:?}");
            found
                .iter()
                .zip(expect)
                .for_each(|(found, part)| assert!(found.contains(part), "{found} lacks {part}"));
        };
        check(json!({"a": "abc", "b": null, "c": [true]}), &[]);
        check(json!({}), &["\"a\" is missing"]);
        check(json!({"a": "abcd"}), &["maxLength 3"]);
        check(json!({"a": 1, "b": "x"}), &["$.a: expected", "$.b: expected"]);
        check(json!({"a": "a", "typo": 1}), &["$.typo: is not described"]);
        check(json!({"a": "a", "c": "y"}), &["none of"]);
        assert!(
            super::check(&json!(1), &json!({"not": {}}), &root, SchemaDirection::Request)[0]
                .contains("not understood")
        );
        assert_eq!(super::check(&json!({"b": 1}), &schema, &root, SchemaDirection::Answer), [""; 0]);
    }
}
