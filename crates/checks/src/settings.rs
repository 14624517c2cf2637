//! Settings that tests read: a value whose key a test, a script of the check or the command itself names is part of the
//! check, whatever else is in the file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::before::{BaseSources, has_word};
use crate::definition::{KeySelection, RestoreForm};
use crate::reach::{CheckDefinitions, is_free_key};
use crate::restore;

/// What is known of who reads settings.
pub(crate) struct SettingReaders<'r> {
    pub(crate) tests: &'r BaseSources<'r>,
    pub(crate) defined: &'r CheckDefinitions,
}

/// A file with settings, before and after.
pub(crate) struct RevisedSettings<'s> {
    pub(crate) path: &'s str,
    pub(crate) base: &'s str,
    pub(crate) result: &'s str,
    /// Whether it is the manifest of a package, which a product may read and does not live by.
    pub(crate) is_manifest: bool,
}

/// How values are written in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueSyntax {
    Json,
    Toml,
    Lines,
}

fn written(path: &str) -> Option<ValueSyntax> {
    let end = path.rsplit('/').next()?.rsplit_once('.')?.1;
    match end {
        "json" => Some(ValueSyntax::Json),
        "toml" => Some(ValueSyntax::Toml),
        "yaml" | "yml" | "cfg" | "ini" | "conf" | "properties" => Some(ValueSyntax::Lines),
        _ => None,
    }
}

impl SettingReaders<'_> {
    /// The text with the values that checks name as they were; nothing where they are.
    pub(crate) fn put_back(&self, file: &RevisedSettings<'_>) -> Option<String> {
        let RevisedSettings { base, result, .. } = *file;
        match written(file.path)? {
            ValueSyntax::Json => {
                let (old, new) = (serde_json::from_str(base).ok()?, serde_json::from_str(result).ok()?);
                restore::merged(
                    &RestoreForm::Json(self.keys(file, &old, &new)?),
                    base,
                    result,
                    &BTreeSet::new(),
                )
            }
            ValueSyntax::Toml => {
                let (old, new) = (toml::from_str(base).ok()?, toml::from_str(result).ok()?);
                restore::merged(
                    &RestoreForm::Toml(self.keys(file, &old, &new)?),
                    base,
                    result,
                    &BTreeSet::new(),
                )
            }
            ValueSyntax::Lines => self.lines(file),
        }
        .filter(|text| text != result)
    }

    /// Keys that differ and that checks name.
    fn keys(&self, file: &RevisedSettings<'_>, old: &Value, new: &Value) -> Option<KeySelection> {
        let mut differing = Vec::new();
        differences(old, new, &mut Vec::new(), &mut differing);
        let named = |path: &&Vec<String>| {
            let value = path.iter().try_fold(new, |value, key| value.get(key));
            let value = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            path.iter().all(|key| !key.contains('.')) && self.is_named(file, path, &value.unwrap_or_default())
        };
        let keys: Vec<String> = differing.iter().filter(named).map(|path| path.join(".")).collect();
        (!keys.is_empty()).then_some(KeySelection { keys, pinned: Vec::new() })
    }

    /// Whether checks name a key; `value` is what it is now.
    fn is_named(&self, file: &RevisedSettings<'_>, path: &[String], value: &str) -> bool {
        let Some(key) = path.last() else { return false };
        let name = file.path.rsplit('/').next().unwrap_or(file.path);
        let variable = format!("npm_package_{}", path.join("_"));
        if name == "package.json" && (self.defined.says(&variable) || self.tests.say(&variable)) {
            return true;
        }
        if key.len() < 3 || is_free_key(key) || path.first().is_some_and(|first| is_free_key(first)) {
            return false;
        }
        if !file.is_manifest && (self.tests.product_says(key) || self.looks_for(name, key, value)) {
            return false;
        }
        self.tests.tests_naming(name).any(|text| has_word(text, key)) || self.defined.says_together(name, key)
    }

    /// Whether checks that name a key say what its value has to be: then the file is what is checked.
    fn looks_for(&self, name: &str, key: &str, value: &str) -> bool {
        let by_test = |text: &str| has_word(text, key) && text.contains(value);
        value.len() > 1
            && (self.tests.tests_naming(name).any(by_test)
                || (self.defined.says_together(name, key) && self.defined.says(value)))
    }

    /// The same for files of lines: `key = value`, `key: value`.
    fn lines(&self, file: &RevisedSettings<'_>) -> Option<String> {
        let (old, new) = (values(file.base), values(file.result));
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let named = |key: &&String| {
            let line = new.get(*key).and_then(|lines| lines.first()).copied().unwrap_or_default();
            let value = line.split_once([':', '=']).map_or("", |(_, value)| value);
            let value = value.trim().trim_matches(['"', '\'', ',']);
            self.is_named(file, std::slice::from_ref(*key), value)
        };
        let mut text = file.result.to_owned();
        for key in keys.into_iter().filter(|key| old.get(*key) != new.get(*key)).filter(named) {
            match (old.get(key).map(Vec::as_slice), new.get(key).map(Vec::as_slice)) {
                (Some([before]), Some([now])) => text = text.replacen(now, before, 1),
                _ => return Some(file.base.to_owned()),
            }
        }
        Some(text)
    }
}

/// Paths of values that are not the same.
fn differences(old: &Value, new: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match (old, new) {
        (Value::Object(before), Value::Object(now)) => {
            let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
            for key in keys {
                path.push(key.clone());
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                differences(&of(before), &of(now), path, found);
                path.pop();
            }
        }
        _ if old != new => found.push(path.clone()),
        _ => {}
    }
}

/// The lines that give a key its value.
fn values(text: &str) -> BTreeMap<String, Vec<&str>> {
    static PAIR: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"^\s*(?:-\s+)?["']?([\w-]+)["']?\s*[:=]\s*\S"#).ok());
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let key = PAIR.as_ref().and_then(|pair| pair.captures(line)).and_then(|found| found.get(1));
        if let Some(key) = key {
            found.entry(key.as_str().to_owned()).or_default().push(line);
        }
    }
    found
}
