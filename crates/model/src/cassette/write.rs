//! Writes cassettes: one fact per line, long texts as they are, so that versions can be compared.

use std::fmt::Write as _;
use std::time::Duration;

use holon_core::HumanDuration;
use serde_json::{Map, Value, json};

use super::{Cassette, CassetteStep, CassetteTurn};

/// What a recording begins with.
pub(super) const HEADING: &str =
    "# A conversation with a model, recorded. Without its `request` a turn matches by its order alone.\n";

impl Cassette {
    /// The cassette as text; reading it gives the same cassette.
    pub fn to_yaml(&self) -> String {
        self.turns.iter().map(CassetteTurn::to_yaml).collect()
    }
}

impl CassetteTurn {
    /// The turn as an entry of a cassette.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        let mut turn = Map::new();
        let expect = self.expect();
        if !expect.is_empty() {
            turn.insert("expect".into(), Value::Object(expect));
        }
        if let Some(asked) = &self.asked {
            let request = json!({"digest": asked.digest, "keeps": asked.keeps, "text": asked.text});
            turn.insert("request".into(), request);
        }
        turn.insert("reply".into(), self.steps.iter().map(step).collect());
        let plain = [
            ("stop", self.stop.and_then(|stop| serde_json::to_value(stop).ok())),
            ("usage", self.usage.and_then(|usage| serde_json::to_value(usage).ok())),
            ("id", self.id.clone().map(Value::from)),
            ("model", self.model.clone().map(Value::from)),
            ("window", self.window.map(Value::from)),
        ];
        turn.extend(plain.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        out.push_str("- ");
        mapping(&turn, 2, &mut out);
        out
    }

    fn expect(&self) -> Map<String, Value> {
        let mut map = Map::new();
        let lists =
            [("contains", &self.expect.contains), ("last", &self.expect.last), ("lacks", &self.expect.lacks)];
        for (key, texts) in lists {
            if !texts.is_empty() {
                map.insert(key.into(), json!(texts));
            }
        }
        map.extend(self.expect.tools.as_ref().map(|tools| ("tools".into(), json!(tools))));
        map.extend(self.expect.model.as_ref().map(|model| ("model".into(), json!(model))));
        map
    }
}

fn step(step: &CassetteStep) -> Value {
    match step {
        CassetteStep::Text(text) => json!({"text": text}),
        CassetteStep::Reasoning(reasoning) => {
            let mut entry = json!({"reasoning": reasoning.text});
            if let Some(seal) = &reasoning.seal {
                entry["seal"] = json!(seal);
            }
            entry
        }
        CassetteStep::Call(call) => {
            let mut entry = json!({"tool": call.name});
            if let Some(id) = &call.id {
                entry["id"] = json!(id);
            }
            match readable_arguments(&call.arguments) {
                Some(map) => entry["args"] = Value::Object(map),
                None => entry["raw"] = json!(call.arguments),
            }
            if call.custom {
                entry["custom"] = json!(true);
            }
            entry
        }
        CassetteStep::Delay(pause) => json!({"delay": span(*pause)}),
        CassetteStep::Error(error) => {
            let mut told = json!({"kind": error.kind, "message": error.message});
            if let Some(status) = error.status {
                told["status"] = json!(status);
            }
            if let Some(wait) = error.retry_after {
                told["retry_after"] = json!(span(wait));
            }
            if let Some(id) = &error.request_id {
                told["request_id"] = json!(id);
            }
            json!({"error": told})
        }
        CassetteStep::Cut => json!({"cut": true}),
    }
}

/// A pause as text, within what can be read back.
fn span(pause: Duration) -> HumanDuration {
    const MOST: Duration = Duration::from_secs(30 * 86_400);
    HumanDuration::from(pause.min(MOST))
}

/// Arguments as a mapping, when writing them as JSON again gives the very same text.
fn readable_arguments(text: &str) -> Option<Map<String, Value>> {
    let value: Value = serde_json::from_str(text).ok()?;
    let again = value.to_string();
    if again != text || !is_plain(&value, 0) {
        return None;
    }
    if let Value::Object(map) = value { Some(map) } else { None }
}

/// Values that every YAML reader understands alike; others are written as JSON text.
fn is_plain(value: &Value, depth: usize) -> bool {
    match value {
        _ if depth > 16 => false,
        Value::Number(number) => number.as_i64().is_some(),
        Value::Array(list) => list.iter().all(|value| is_plain(value, depth + 1)),
        Value::Object(map) => map.iter().all(|(key, value)| key != "<<" && is_plain(value, depth + 1)),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// A mapping whose first key stands where the text is now, the others below it.
fn mapping(map: &Map<String, Value>, indent: usize, out: &mut String) {
    for (number, (key, value)) in map.iter().enumerate() {
        if number > 0 {
            out.push_str(&" ".repeat(indent));
        }
        let simple = !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        if simple && !SPECIAL.contains(&key.as_str()) {
            out.push_str(key);
        } else {
            out.push_str(&quoted(key));
        }
        out.push(':');
        node(value, indent, out);
    }
}

/// Words that mean something else than themselves to some YAML readers.
const SPECIAL: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// A value after `key:` or `-`, with its line end.
fn node(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() && (!map.values().all(is_short) || is_long(value)) => {
            let _ = write!(out, "\n{}", " ".repeat(indent + 2));
            mapping(map, indent + 2, out);
        }
        Value::Array(list) if !list.iter().all(is_short) || is_long(value) => sequence(list, indent, out),
        Value::String(text) if reads_as_block(text) => block(text, indent + 2, out),
        _ => {
            out.push(' ');
            flow(value, out);
            out.push('\n');
        }
    }
}

fn sequence(list: &[Value], indent: usize, out: &mut String) {
    out.push('\n');
    for item in list {
        let _ = write!(out, "{}-", " ".repeat(indent + 2));
        match item {
            Value::Object(map) if !map.is_empty() => {
                out.push(' ');
                mapping(map, indent + 4, out);
            }
            other => node(other, indent + 2, out),
        }
    }
}

/// Fits into one line together with others.
fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() < 60 && !text.contains('\n'),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => true,
    }
}

/// Does not fit into one line.
fn is_long(value: &Value) -> bool {
    let mut text = String::new();
    flow(value, &mut text);
    text.len() > 90
}

/// JSON, which is YAML too.
fn flow(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Array(list) => {
            out.push('[');
            for (number, item) in list.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                flow(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (number, (key, item)) in map.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                out.push_str(&quoted(key));
                out.push_str(": ");
                flow(item, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// What YAML allows to stand for itself.
fn is_printable(c: char) -> bool {
    let code = u32::from(c);
    !(c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') || code & 0xfffe == 0xfffe)
}

/// Several lines that a block keeps exactly.
fn reads_as_block(text: &str) -> bool {
    let body = text.trim_end_matches('\n');
    let odd_line = |line: &str| line.starts_with('\t') || (!line.is_empty() && line.trim().is_empty());
    text.contains('\n')
        && !body.is_empty()
        && !text.starts_with([' ', '\n'])
        && !text.chars().any(|c| c != '\n' && c != '\t' && !is_printable(c))
        && !body.split('\n').any(odd_line)
}

fn block(text: &str, indent: usize, out: &mut String) {
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    out.push_str(match ends {
        0 => " |-\n",
        1 => " |\n",
        _ => " |+\n",
    });
    for line in body.split('\n') {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
    for _ in 1..ends {
        out.push('\n');
    }
}
