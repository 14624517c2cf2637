//! Calls whose parts have labels: the tool's name behind a word or in a heading, its arguments below.

use holon_model::ToolSpec;
use holon_model::fallback::parse_lenient;
use serde_json::{Map, Value};

use super::UnfittedCall;

/// The calls of such a text, and the words around them.
pub(super) fn labelled(text: &str, offered: &[ToolSpec]) -> Option<(Vec<UnfittedCall>, String)> {
    let mut calls = Vec::new();
    let mut words = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        match on_a_line(rest, line, offered).or_else(|| below(rest, line, offered)) {
            Some((call, length)) => {
                calls.push(call);
                rest = &rest[length..];
            }
            None => {
                words.push_str(line);
                rest = &rest[line.len()..];
            }
        }
    }
    (!calls.is_empty()).then_some((calls, words))
}

/// The tool that the end of a short line names exactly.
fn named<'a>(line: &str, offered: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    let line = line.trim().trim_end_matches([':', '：']);
    if line.split_whitespace().count() > 5 {
        return None;
    }
    let last =
        line.rsplit([' ', ':', '：']).next()?.trim_matches(['`', '*', '"', '\'', '#', '-', '>', '(', ')']);
    offered.iter().find(|tool| tool.name == last)
}

/// `- read_file: {"path": "a"}`, `-> read_file {"path": "a"}`
fn on_a_line(text: &str, line: &str, offered: &[ToolSpec]) -> Option<(UnfittedCall, usize)> {
    let open = line.find('{')?;
    let tool = named(&line[..open], offered)?;
    object(text, open, tool)
}

/// The object at a place, and where the text goes on behind it.
fn object(text: &str, at: usize, tool: &ToolSpec) -> Option<(UnfittedCall, usize)> {
    let (value, length) = parse_lenient(&text[at..])?;
    let Value::Object(arguments) = value else { return None };
    let known = tool.schema.get("properties").and_then(Value::as_object)?;
    let fits = arguments.keys().any(|key| known.contains_key(key)) || arguments.is_empty();
    let after = text[at + length..].trim_start_matches([' ', '\n', '`']);
    fits.then(|| (UnfittedCall::new(&tool.name, arguments), text.len() - after.len()))
}

/// A line that names the tool, and what belongs to it on the next ones.
fn below(text: &str, line: &str, offered: &[ToolSpec]) -> Option<(UnfittedCall, usize)> {
    let tool = named(line, offered)?;
    let after = &text[line.len()..];
    let mut at = after.len() - after.trim_start().len();
    // A fence, or a label of its own.
    if after[at..].starts_with("```") {
        at += after[at..].find('\n')? + 1;
    }
    if let Some((label, _)) = after[at..].split_once([':', '：'])
        && label.split_whitespace().count() <= 2
        && !label.contains(['\n', '{', '='])
        && properties(tool).is_none_or(|known| !known.contains_key(label.trim_matches(['-', '*', ' ', '`'])))
    {
        let sign = after[at + label.len()..].chars().next().map_or(1, char::len_utf8);
        at += label.len() + sign;
    }
    let here = after[at..].trim_start();
    at = after.len() - here.len();
    if here.starts_with('{') {
        return object(after, at, tool).map(|(call, length)| (call, line.len() + length));
    }
    let (arguments, length) = pairs(here, tool);
    (!arguments.is_empty()).then(|| (UnfittedCall::new(&tool.name, arguments), line.len() + at + length))
}

fn properties(tool: &ToolSpec) -> Option<&Map<String, Value>> {
    tool.schema.get("properties").and_then(Value::as_object)
}

/// Lines of `key: value` or `key = value`, up to the first that is none.
fn pairs(text: &str, tool: &ToolSpec) -> (Map<String, Value>, usize) {
    let mut arguments = Map::new();
    let mut used = 0;
    let Some(known) = properties(tool) else { return (arguments, used) };
    for line in text.split_inclusive('\n') {
        let bare = line.trim().trim_start_matches(['-', '*', ' ']);
        let Some((key, value)) = bare.split_once([':', '=', '：']) else { break };
        let key = key.trim_matches(['*', '`', ' ', '"']);
        let value = value.trim().trim_start_matches("** ").trim_start_matches("**").trim();
        // A value that goes on below is not one that can be told.
        if !known.contains_key(key) || value.is_empty() || value == "|" {
            break;
        }
        let quoted = value.starts_with('"').then(|| parse_lenient(value)).flatten();
        let value = match quoted {
            Some((value, _)) => value,
            None => Value::String(value.trim_matches('`').to_owned()),
        };
        arguments.insert(key.to_owned(), value);
        used += line.len();
    }
    (arguments, used)
}
