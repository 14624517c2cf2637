//! What a reply means: calls that were not made as the wire wants them, and changes that are shown instead of called for.
//!
//! Models without much practice write a call as a block of JSON, in the marks of their template, under a name of another
//! agent's; or they show the new file. Whoever reads the reply understands; so does this. What is only thought, shown as an
//! example, or cut off is never carried out.

mod block;
mod edits;
mod markup;
mod near;
mod place;
mod shell;

use holon_model::fallback::find_calls;
use holon_model::{Part, Reasoning, Reply, Stop, Tool as Described, ToolCall};
use serde_json::{Map, Value};

/// A call as it was read, before it is fitted to a tool.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    name: String,
    arguments: Value,
}

impl Call {
    fn new(name: &str, arguments: Map<String, Value>) -> Self {
        Self { name: name.to_owned(), arguments: Value::Object(arguments) }
    }
}

/// How much may be read into a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Only what has the form of a call: in a chat, a file that is shown is an answer.
    Calls,
    /// Files, patches and commands that are shown, too: in a run, showing them has no other use.
    Everything,
}

/// The reply with every call in it made a real one. `turn` keeps the ids of those that were read apart from all others.
pub fn understand(reply: Reply, offered: &[Described], reading: Reading, turn: u64) -> Reply {
    let cut = reply.stop == Stop::MaxTokens;
    let called = reply.parts.iter().any(|part| matches!(part, Part::Call(_)));
    let mut parts = Vec::with_capacity(reply.parts.len());
    let mut read = 0;
    for part in reply.parts {
        match part {
            Part::Call(call) => parts.push(Part::Call(mended(call, offered, cut))),
            Part::Text(text) if !called => {
                let (thoughts, text) = without_thoughts(&text);
                if let Some(thoughts) = thoughts {
                    parts.push(Part::Reasoning(Reasoning { text: thoughts, seal: None }));
                }
                let (calls, words) = in_words(&text, offered, reading, cut).unwrap_or((Vec::new(), text));
                if !words.trim().is_empty() {
                    parts.push(Part::Text(words));
                }
                for (name, arguments) in calls {
                    let id = format!("read_{turn}_{read}");
                    parts.push(Part::Call(ToolCall::new(id, name, Value::Object(arguments).to_string())));
                    read += 1;
                }
            }
            other => parts.push(other),
        }
    }
    let stop = if read > 0 && reply.stop == Stop::EndTurn { Stop::ToolUse } else { reply.stop };
    Reply { parts, stop, ..reply }
}

/// Whether a call was read out of words, here or by the provider.
pub(crate) fn was_read(call: &ToolCall) -> bool {
    call.id.starts_with("read_") || call.id.starts_with("text_")
}

/// A call under the name and with the arguments of the tool that is meant; what cannot be told stays as it is.
fn mended(call: ToolCall, offered: &[Described], cut: bool) -> ToolCall {
    let right = offered.iter().find(|tool| tool.name == call.name);
    if call.custom || right.is_some_and(|tool| call.object().is_ok_and(|own| near::is_whole(tool, &own))) {
        return call;
    }
    let arguments = match call.object() {
        Ok(object) => Value::Object(object),
        // Half a call may be what it looks like.
        Err(_) if cut => return call,
        Err(_) => Value::String(call.arguments.clone()),
    };
    match near::call(&call.name, &arguments, offered) {
        Some((name, arguments)) => ToolCall { name, arguments: Value::Object(arguments).to_string(), ..call },
        None => call,
    }
}

/// Thoughts between their marks, and the rest. Thoughts without an end are all there is.
fn without_thoughts(text: &str) -> (Option<String>, String) {
    const MARKS: [(&str, &str); 4] = [
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<reasoning>", "</reasoning>"),
        ("<|channel|>analysis<|message|>", "<|end|>"),
    ];
    let mut thoughts = String::new();
    let mut rest = text.to_owned();
    for (open, close) in MARKS {
        while let Some(at) = rest.find(open) {
            let inside = rest[at + open.len()..].to_owned();
            let (thought, after) = inside.split_once(close).unwrap_or((inside.as_str(), ""));
            thoughts.push_str(thought.trim());
            rest = format!("{}{after}", &rest[..at]);
        }
        if let Some((thought, after)) = rest.split_once(close).filter(|_| close != "<|end|>") {
            thoughts.push_str(thought.trim());
            rest = after.to_owned();
        }
    }
    (Some(thoughts).filter(|thoughts| !thoughts.is_empty()), rest)
}

type Calls = Vec<(String, Map<String, Value>)>;

/// The calls that are meant by words, and the words around them.
fn in_words(text: &str, offered: &[Described], reading: Reading, cut: bool) -> Option<(Calls, String)> {
    if text.trim().is_empty() {
        return None;
    }
    json_calls(text, offered)
        .or_else(|| {
            let (calls, words) = markup::marked(text, offered)?;
            Some((fitted(&calls, offered)?, words))
        })
        .or_else(|| {
            if reading == Reading::Calls || cut {
                return None;
            }
            let pieces = block::pieces(text);
            let (calls, words) = edits::shown(&pieces, offered).or_else(|| {
                let can = offered.iter().any(|tool| tool.name == "execute");
                if can { shell::shown(&pieces) } else { None }
            })?;
            Some((fitted(&calls, offered)?, words))
        })
}

/// All of them as their tools want them, or none.
fn fitted(calls: &[Call], offered: &[Described]) -> Option<Calls> {
    calls.iter().map(|call| near::call(&call.name, &call.arguments, offered)).collect()
}

/// Calls as JSON, in tags, in blocks or bare.
fn json_calls(text: &str, offered: &[Described]) -> Option<(Calls, String)> {
    let known = |name: &str| near::is_known(name, offered);
    let found = find_calls(text, &known);
    if found.calls.is_empty() {
        return None;
    }
    let calls = found.calls.into_iter();
    let calls: Vec<Call> = calls.map(|(name, arguments)| Call::new(&name, arguments)).collect();
    Some((fitted(&calls, offered)?, found.text))
}
