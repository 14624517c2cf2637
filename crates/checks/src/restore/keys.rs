//! JSON and TOML: some keys as they were, the rest as changed.

use serde_json::{Map, Value};

use crate::definition::KeySelection;

pub(super) fn json(keys: &KeySelection, base: &str, result: &str) -> Option<String> {
    let (old, new): (Value, Value) = (serde_json::from_str(base).ok()?, serde_json::from_str(result).ok()?);
    let merged = merged(keys, &old, &new)?;
    if merged == new { Some(result.to_owned()) } else { serde_json::to_string_pretty(&merged).ok() }
}

pub(super) fn toml(keys: &KeySelection, base: &str, result: &str) -> Option<String> {
    let read = |text: &str| toml::from_str::<Value>(text).ok();
    let (old, new) = (read(base)?, read(result)?);
    let merged = merged(keys, &old, &new)?;
    if merged == new { Some(result.to_owned()) } else { toml::to_string(&merged).ok() }
}

fn merged(keys: &KeySelection, old: &Value, new: &Value) -> Option<Value> {
    let mut merged = new.clone();
    for key in &keys.keys {
        let path: Vec<&str> = key.split('.').collect();
        set(&mut merged, &path, at(old, &path).cloned())?;
    }
    for key in &keys.pinned {
        let path: Vec<&str> = key.split('.').collect();
        let Some(Value::Object(before)) = at(old, &path) else { continue };
        let mut table = match at(&merged, &path) {
            Some(Value::Object(table)) => table.clone(),
            _ => Map::new(),
        };
        table.extend(before.iter().map(|(name, value)| (name.clone(), value.clone())));
        set(&mut merged, &path, Some(Value::Object(table)))?;
    }
    Some(merged)
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.as_object()?.get(*key))
}

/// Sets or removes what is at a path; nothing when something else than a table is on the way.
fn set(value: &mut Value, path: &[&str], to: Option<Value>) -> Option<()> {
    let (last, above) = path.split_last()?;
    let mut table = value.as_object_mut()?;
    for key in above {
        if to.is_none() && !table.contains_key(*key) {
            return Some(());
        }
        table = table.entry(*key).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    }
    match to {
        Some(to) => {
            table.insert((*last).to_owned(), to);
        }
        None => {
            table.shift_remove(*last);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn keys() -> KeySelection {
        KeySelection { keys: vec!["scripts".into(), "tool.pytest".into()], pinned: vec!["dev".into()] }
    }

    #[test]
    fn keys_are_as_they_were_and_the_rest_as_changed() {
        let merge = |base: &str, result: &str| json(&keys(), base, result).unwrap().replace([' ', '\n'], "");
        assert_eq!(
            merge(r#"{"a":1,"scripts":{"t":"x"}}"#, r#"{"a":2,"scripts":{"t":"y"}}"#),
            r#"{"a":2,"scripts":{"t":"x"}}"#
        );
        assert_eq!(merge(r#"{"a":1}"#, r#"{"a":2,"scripts":{}}"#), r#"{"a":2}"#);
        assert_eq!(merge(r#"{"dev":{"a":1}}"#, r#"{"dev":{"a":2,"b":3}}"#), r#"{"dev":{"a":1,"b":3}}"#);
        assert_eq!(json(&keys(), "{", "{}"), None);
        assert_eq!(json(&keys(), r#"{"tool":{"pytest":1}}"#, r#"{"tool":3}"#), None, "not a table any more");
    }

    #[test]
    fn dotted_keys_of_toml_are_the_same_keys() {
        let text = toml(
            &keys(),
            "[project]\nname = 'x'\n",
            "tool.pytest.ini_options.addopts = '-k no'\n[project]\nname = 'y'\n",
        );
        let text = text.unwrap();
        assert!(!text.contains("addopts") && text.contains("\"y\""), "{text}");
    }
}
