//! Reading `spec.yaml`: exact about mistakes, tolerant of what is new.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;

use crate::suggest;

use super::check::check;
use super::{Spec, SpecGoal};

/// The largest spec that is read.
pub const MAX_BYTES: usize = 256 * 1024;

/// Something that was ignored, and how it was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecWarning {
    /// The key, as in `constraints.mode`.
    pub key: String,
    /// Its line, when it could be found.
    pub line: Option<u64>,
    /// The words for a person.
    pub message: String,
}

/// Why a spec cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SpecError {
    /// The file.
    pub file: Box<str>,
    /// The line, when it is known.
    pub line: Option<u64>,
    /// The key, when it is known.
    pub key: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub remedy: Option<String>,
    /// The line concerned, with a caret under the place; a secret in it is not yet redacted.
    pub snippet: Option<Box<str>>,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if let Some(key) = &self.key {
            write!(f, "`{key}` ")?;
        }
        f.write_str(&self.message)?;
        if let Some(remedy) = &self.remedy {
            write!(f, "; {remedy}")?;
        }
        if let Some(snippet) = &self.snippet {
            write!(f, "\n{snippet}")?;
        }
        Ok(())
    }
}

/// Reads a spec; unknown keys are warnings, everything else that is wrong is an error with its place and remedy.
pub fn parse(text: &str, file: &str) -> Result<(Spec, Vec<SpecWarning>), SpecError> {
    let fail = |message: String, remedy: &str| SpecError {
        file: file.into(),
        line: None,
        key: None,
        message,
        remedy: Some(remedy.to_owned()),
        snippet: None,
    };
    if text.len() > MAX_BYTES {
        let message = format!("the spec has {} bytes, at most {MAX_BYTES} are read", text.len());
        return Err(fail(message, "move long texts into files and list them under context.files"));
    }
    if text.trim().is_empty() {
        return Err(fail("the spec is empty".to_owned(), "write at least `goal: what you want`"));
    }
    let value: Value =
        serde_saphyr::from_str_with_options(text, options()).map_err(|e| syntax(&e, text, file))?;
    if !value.is_object() {
        return Err(fail(
            "the spec is not a mapping".to_owned(),
            "write keys and values, at least `goal: what you want`",
        ));
    }
    let spec: Spec =
        serde_saphyr::from_str_with_options(text, options()).map_err(|e| syntax(&e, text, file))?;
    check(&spec).map_err(|problem| SpecError {
        file: file.into(),
        line: problem.key.rsplit('.').find_map(|part| line_of(text, part)),
        key: Some(problem.key),
        message: problem.message,
        remedy: problem.remedy,
        snippet: None,
    })?;
    let mut warnings = Vec::new();
    unknown_keys(&value, KEYS, "", text, &mut warnings);
    Ok((spec, warnings))
}

fn options() -> serde_saphyr::Options {
    let mut options = serde_saphyr::Options::default();
    options.duplicate_keys = DuplicateKeyPolicy::Error;
    options.budget = Some(budget());
    options
}

/// A spec is small; these bounds stop alias bombs and deep nesting early.
fn budget() -> serde_saphyr::Budget {
    let mut budget = serde_saphyr::Budget::default();
    budget.max_events = 50_000;
    budget.max_aliases = 100;
    budget.max_anchors = 100;
    budget.max_nodes = 20_000;
    budget.max_depth = 32;
    budget.flow_nesting_limit = 32;
    budget.max_recorded_anchor_events = 10_000;
    budget
}

fn syntax(error: &serde_saphyr::Error, text: &str, file: &str) -> SpecError {
    use serde_saphyr::Error as Yaml;
    let location = error.location();
    let line = location.map(|at| at.line());
    let column = location.and_then(|at| usize::try_from(at.column()).ok()).unwrap_or(1);
    let shown = line.and_then(|n| text.lines().nth(usize::try_from(n).ok()?.checked_sub(1)?));
    let key = shown.and_then(|l| key_before(l, column));
    let (key, message, remedy) = match error.without_snippet() {
        Yaml::DuplicateMappingKey { key: again, .. } => {
            (again.clone().or(key), "is given twice".to_owned(), Some("keep one of them".to_owned()))
        }
        Yaml::SerdeMissingField { field, .. } => {
            let remedy = (*field == "goal").then(|| "write at least `goal: what you want`".to_owned());
            (Some((*field).to_owned()), "is missing".to_owned(), remedy)
        }
        // One of the bounds above; deep inside a value the parser tells it only in words.
        bound if bound.to_string().contains("budget breached") => {
            let message = "the spec nests too deeply, is too long, or repeats itself too often".to_owned();
            (None, message, Some("write it out plainly, without anchors and aliases".to_owned()))
        }
        other => {
            let words = plain_words(&other.to_string());
            let remedy = key.as_deref().and_then(remedy_for).map(str::to_owned);
            (key, format!("cannot be read: {words}"), remedy)
        }
    };
    let snippet = line.zip(shown).map(|(n, l)| pointed_at(n, l, column).into());
    SpecError { file: file.into(), line, key, message, remedy, snippet }
}

/// The parser's message without the place, which is shown in our own way.
fn plain_words(message: &str) -> String {
    let words = message.split(" at line ").next().unwrap_or(message).trim();
    match words.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
        Some((place, rest)) if place.contains(" column ") => rest.to_owned(),
        _ => words.to_owned(),
    }
}

/// The line with a caret under the column.
fn pointed_at(number: u64, line: &str, column: usize) -> String {
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(160).collect();
    let gutter = number.to_string();
    let margin = " ".repeat(gutter.len());
    let caret = " ".repeat(column.saturating_sub(1).min(160));
    format!("  {gutter} | {line}\n  {margin} | {caret}^")
}

/// The last key set on a line before a column, if there is one.
fn key_before(line: &str, column: usize) -> Option<String> {
    let head: String = line.chars().take(column.max(1)).collect();
    let opened = head.rsplit(['{', ',']).find_map(key_on);
    opened.or_else(|| key_on(line))
}

/// The key a line sets, if it sets one.
fn key_on(line: &str) -> Option<String> {
    let (key, _) = line.trim_start_matches([' ', '-', '\t', '{', ',']).split_once(':')?;
    let key = key.trim_matches(['"', '\'']);
    let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    plain.then(|| key.to_owned())
}

fn remedy_for(key: &str) -> Option<&'static str> {
    Some(match key {
        "timeout" => "write a duration such as \"20m\" or \"1h30m\"",
        "network" => "write none, gateway or host",
        "supervisor" => "write off, adaptive or strict",
        "max_steps" => "write a whole number",
        "max_cost_usd" => "write a number of dollars such as 1.5",
        "files" | "checks" | "artifacts" => "write a list, one `- item` per line",
        "env" | "labels" => "write a mapping of names to texts",
        "goal" => "write a text, or a mapping with `description`",
        _ => return None,
    })
}

/// First line that sets this key, good enough for a message.
fn line_of(text: &str, key: &str) -> Option<u64> {
    let at = text.lines().position(|line| key_on(line).as_deref() == Some(key))?;
    u64::try_from(at + 1).ok()
}

/// Known keys, level by level; an empty level means that any key is fine.
struct SpecKey(&'static str, &'static [SpecKey]);

const ANY: &[SpecKey] = &[];
const KEYS: &[SpecKey] = &[
    SpecKey("version", ANY),
    SpecKey("kind", ANY),
    SpecKey("metadata", &[SpecKey("name", ANY), SpecKey("id", ANY), SpecKey("labels", ANY)]),
    SpecKey("goal", &[SpecKey("description", ANY), SpecKey("issue_id", ANY)]),
    SpecKey("context", &[SpecKey("workspace", ANY), SpecKey("files", ANY), SpecKey("env", ANY)]),
    SpecKey(
        "output",
        &[SpecKey("artifacts", &[SpecKey("path", ANY), SpecKey("required", ANY), SpecKey("schema", ANY)])],
    ),
    SpecKey(
        "constraints",
        &[
            SpecKey("mode", ANY),
            SpecKey("timeout", ANY),
            SpecKey("max_steps", ANY),
            SpecKey("max_cost_usd", ANY),
            SpecKey("network", ANY),
            SpecKey("supervisor", ANY),
            SpecKey("checks", ANY),
            SpecKey("check_reports", ANY),
            SpecKey("tests_may_change", ANY),
        ],
    ),
    SpecKey("agent", &[SpecKey("name", ANY), SpecKey("model", ANY), SpecKey("image", ANY)]),
];

fn unknown_keys(
    value: &Value,
    known: &'static [SpecKey],
    above: &str,
    text: &str,
    warnings: &mut Vec<SpecWarning>,
) {
    match value {
        Value::Object(map) if !known.is_empty() => {
            for (name, inner) in map {
                let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
                match known.iter().find(|k| k.0 == name) {
                    Some(SpecKey(_, below)) => unknown_keys(inner, below, &key, text, warnings),
                    None => {
                        let hint = suggest::hint(name, known.iter().map(|k| k.0));
                        let message = format!("unknown key `{key}` is ignored{hint}");
                        warnings.push(SpecWarning { line: line_of(text, name), key, message });
                    }
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| unknown_keys(item, known, above, text, warnings)),
        _ => {}
    }
}

/// A goal is a text or a mapping.
pub(super) fn goal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpecGoal, D::Error> {
    struct GoalVisitor;

    impl<'de> Visitor<'de> for GoalVisitor {
        type Value = SpecGoal;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a mapping with `description`")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SpecGoal, E> {
            Ok(SpecGoal { description: text.to_owned(), issue_id: None })
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<SpecGoal, E> {
            Err(E::custom("the goal is empty"))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SpecGoal, A::Error> {
            SpecGoal::deserialize(MapAccessDeserializer::new(map)).map_err(A::Error::custom)
        }
    }

    deserializer.deserialize_any(GoalVisitor)
}

#[cfg(test)]
mod tests;
