//! The JSON Schema of the configuration, for editors; made from the same keys that are read.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::key::{ConfigKey, ConfigValueKind, rules};

/// The schema of `holon.toml` and `config.toml`.
pub fn schema() -> Value {
    let mut root = object("Configuration", "Everything `holon.toml` and the user's `config.toml` can say.");
    for section in &rules().elsewhere {
        put(&mut root, &[section], json!({ "type": "object" }), "");
    }
    for key in &rules().key {
        let path: Vec<&str> = key.name.split('.').collect();
        put(&mut root, &path, described(key), "");
        // A mode with keys of its own has those of every mode too.
        for mode in named_modes() {
            let own: Vec<&str> = path.iter().map(|word| if *word == "*" { mode } else { *word }).collect();
            if own != path {
                put(&mut root, &own, described(key), "");
            }
        }
    }
    for legacy in &rules().legacy {
        let path: Vec<&str> = legacy.old.split('.').collect();
        let words = format!("Use `{}` instead.", legacy.new);
        put(&mut root, &path, json!({ "deprecated": true, "description": words }), "");
    }
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    Value::Object(root)
}

/// The modes that have keys of their own.
fn named_modes() -> BTreeSet<&'static str> {
    let own = rules().key.iter().filter_map(|key| key.name.strip_prefix("modes.")?.split_once('.'));
    own.map(|(mode, _)| mode).filter(|mode| *mode != "*").collect()
}

fn object(title: &str, description: &str) -> Map<String, Value> {
    let value = json!({ "title": title, "description": description, "type": "object", "additionalProperties": false });
    value.as_object().cloned().unwrap_or_default()
}

fn described(key: &ConfigKey) -> Value {
    let mut value = match key.kind {
        ConfigValueKind::Bool => json!({ "type": "boolean" }),
        ConfigValueKind::Text if !key.one_of.is_empty() => json!({ "enum": key.one_of }),
        ConfigValueKind::Text | ConfigValueKind::Folder => json!({ "type": "string" }),
        ConfigValueKind::Number => json!({ "type": "integer", "minimum": key.least }),
        ConfigValueKind::Amount => json!({ "type": "number", "minimum": 0 }),
        ConfigValueKind::Spdx | ConfigValueKind::Texts => {
            json!({ "type": "array", "items": { "type": "string" } })
        }
    };
    value["description"] = json!(key.help);
    if let Some(default) = &key.default {
        value["default"] = serde_json::to_value(default).unwrap_or_default();
    }
    value
}

/// Puts a schema at its place, making the sections on the way; `*` stands for any name.
fn put(section: &mut Map<String, Value>, path: &[&str], schema: Value, above: &str) {
    let Some((first, rest)) = path.split_first() else { return };
    let slot = if *first == "*" {
        section.entry("additionalProperties").or_insert(Value::Null)
    } else {
        let names = section.entry("properties").or_insert_with(|| json!({}));
        let Value::Object(names) = names else { return };
        names.entry(*first).or_insert(Value::Null)
    };
    let name = if above.is_empty() { (*first).to_owned() } else { format!("{above}.{first}") };
    if rest.is_empty() {
        *slot = schema.clone();
    } else if !slot.is_object() {
        *slot = json!({ "type": "object", "additionalProperties": false });
    }
    let Value::Object(slot) = slot else { return };
    if let Some(words) = rules().sections.get(&name) {
        slot.entry("description").or_insert_with(|| json!(words));
    }
    if !rest.is_empty() {
        put(slot, rest, schema, &name);
    }
}
