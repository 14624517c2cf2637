//! Puts a text at the end of what the user's side said, in the body of a request, on each wire.
//!
//! Nothing before it is touched, not even in form, so that what a provider keeps of the beginning stays good and what it
//! signed stays as it was. Clients do not keep the text, so each later request is given it again at the very same place:
//! what follows is then the continuation of what the provider saw.

use holon_core::digest::sha256;
use serde_json::{Value, json};

use crate::client_wire::ClientWire;

/// A text that was put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InsertedNote {
    /// Its number, from 1.
    pub(super) number: u32,
    /// The end of which turn it stands at.
    pub(super) key: String,
    /// With its mark.
    pub(super) text: String,
    mark: String,
}

impl InsertedNote {
    pub(super) fn new(number: u32, key: String, text: &str) -> Self {
        let digest = sha256(text.as_bytes());
        let mark = format!("[holon {number}:{}]", &digest[..8]);
        Self { number, key, text: format!("{text}\n{mark}"), mark }
    }
}

/// The end of a turn of the user's side.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InsertionPoint {
    key: String,
    /// Its last entry in the conversation.
    at: usize,
    /// The entry that a text is put into or after.
    into: usize,
    /// The first entry of the turn.
    from: usize,
}

/// What the turn at the end of a request is known by; nothing when the model's side spoke last.
pub(super) fn last_key(wire: ClientWire, body: &Value) -> Option<String> {
    let entries = entries(wire, body)?;
    let last = ends(wire, entries).pop()?;
    (last.at + 1 == entries.len()).then_some(last.key)
}

/// Puts the texts where they belong; gives the numbers of those whose turn is still there.
pub(super) fn put(wire: ClientWire, body: &mut Value, notes: &[InsertedNote]) -> Vec<u32> {
    let mut found = Vec::new();
    let Some(all) = entries(wire, body) else { return found };
    let mut places: Vec<(InsertionPoint, &InsertedNote)> = Vec::new();
    for end in ends(wire, all) {
        let here = notes.iter().filter(|note| note.key == end.key);
        for note in here.filter(|note| !holds(&all[end.from..=end.at], &note.mark)) {
            places.push((end.clone(), note));
        }
    }
    let Some(entries) = body.get_mut(key_of(wire)).and_then(Value::as_array_mut) else { return found };
    // From the end, so that places keep their numbers.
    for (end, note) in places.into_iter().rev() {
        put_one(wire, entries, end.into, &note.text);
        found.push(note.number);
    }
    found.reverse();
    found
}

fn key_of(wire: ClientWire) -> &'static str {
    match wire {
        ClientWire::Chat | ClientWire::Messages => "messages",
        ClientWire::Responses => "input",
        ClientWire::Gemini => "contents",
    }
}

fn entries(wire: ClientWire, body: &Value) -> Option<&[Value]> {
    body.get(key_of(wire))?.as_array().map(Vec::as_slice)
}

fn put_one(wire: ClientWire, entries: &mut Vec<Value>, at: usize, text: &str) {
    let parts = match wire {
        ClientWire::Messages => entries[at].get_mut("content"),
        // A part of what the user said; what else stands there has a form of its own.
        ClientWire::Gemini if entries[at]["role"] != "function" => entries[at].get_mut("parts"),
        _ => None,
    };
    match (wire, parts.and_then(Value::as_array_mut)) {
        (ClientWire::Messages, Some(blocks)) => blocks.push(json!({"type": "text", "text": text})),
        (ClientWire::Gemini, Some(parts)) => parts.push(json!({"text": text})),
        _ => entries.insert(at + 1, entry(wire, text)),
    }
}

/// An entry of its own.
fn entry(wire: ClientWire, text: &str) -> Value {
    match wire {
        ClientWire::Chat => json!({"role": "user", "content": text}),
        ClientWire::Messages => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
        ClientWire::Responses => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        }
        ClientWire::Gemini => json!({"role": "user", "parts": [{"text": text}]}),
    }
}

/// Whether the model said an entry.
fn is_models(wire: ClientWire, entry: &Value) -> bool {
    let role = entry["role"].as_str();
    match wire {
        ClientWire::Chat | ClientWire::Messages => role == Some("assistant"),
        ClientWire::Gemini => role == Some("model"),
        ClientWire::Responses => match entry["type"].as_str().unwrap_or("message") {
            "message" => role == Some("assistant"),
            kind => !kind.ends_with("_output") && kind != "additional_tools",
        },
    }
}

/// Whether an entry sets the scene and nobody said it.
fn is_scenery(wire: ClientWire, entry: &Value) -> bool {
    let setting = matches!(entry["role"].as_str(), Some("system" | "developer"));
    setting && wire != ClientWire::Gemini || entry["type"] == "additional_tools"
}

/// The ends of all turns of the user's side.
fn ends(wire: ClientWire, entries: &[Value]) -> Vec<InsertionPoint> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, entry) in entries.iter().enumerate() {
        if is_models(wire, entry) {
            from = at + 1;
            continue;
        }
        let last = entries.get(at + 1).is_none_or(|next| is_models(wire, next));
        let turn = &entries[from..=at];
        let said = turn.iter().rposition(|entry| !is_scenery(wire, entry));
        if let Some(said) = said.filter(|_| last) {
            // On this wire a turn can end with words of the system, which are no place for others.
            let into = if wire == ClientWire::Messages { from + said } else { at };
            found.push(InsertionPoint { key: turn_key(wire, turn, found.len()), at, from, into });
        }
    }
    found
}

/// What a turn is known by: the calls it answers, else its place and its words.
fn turn_key(wire: ClientWire, turn: &[Value], place: usize) -> String {
    let (mut ids, mut words) = (Vec::new(), String::new());
    turn.iter()
        .filter(|entry| !is_scenery(wire, entry))
        .for_each(|entry| collect(entry, &mut ids, &mut words));
    if ids.is_empty() { format!("{place}:{}", sha256(words.as_bytes())) } else { ids.join("\n") }
}

fn collect(value: &Value, ids: &mut Vec<String>, words: &mut String) {
    match value {
        Value::Array(all) => all.iter().for_each(|value| collect(value, ids, words)),
        Value::Object(object) => {
            for name in ["tool_use_id", "tool_call_id", "call_id"] {
                ids.extend(object.get(name).and_then(Value::as_str).map(str::to_owned));
            }
            let answered = object.get("functionResponse").and_then(|answer| answer["id"].as_str());
            ids.extend(answered.map(str::to_owned));
            if let Some(text) = object.get("text").and_then(Value::as_str) {
                words.push_str(text);
                words.push('\n');
            }
            for name in ["content", "parts"] {
                match object.get(name) {
                    Some(Value::String(text)) => words.push_str(text),
                    Some(inner) => collect(inner, ids, words),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

/// Whether a turn holds a mark already.
fn holds(turn: &[Value], mark: &str) -> bool {
    let mut words = String::new();
    turn.iter().for_each(|entry| collect(entry, &mut Vec::new(), &mut words));
    words.contains(mark)
}

#[cfg(test)]
mod tests;
