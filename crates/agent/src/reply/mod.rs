//! What a reply means: calls that were not made as the wire wants them, and changes that are shown instead of called for.
//!
//! Models without much practice write a call as a block of JSON, in the marks of their template, under a name of another
//! agent's; or they show the new file. Whoever reads the reply understands; so does this. What is only thought, shown as an
//! example, or cut off is never carried out.

mod block;
mod block_path;
mod edits;
mod labelled;
mod markup;
mod near;
mod shell;
mod words;

use holon_model::fallback::{CallPredicate, before_pretending, find_calls, without_thoughts};
use holon_model::{MessagePart, ModelReply, Reasoning, ReplyStop, ToolCall, ToolSpec};
use serde_json::{Map, Value};

pub(crate) use self::block_path::leaves_out;
pub use self::block_path::line_left_out;

/// A call as it was read, before it is fitted to a tool.
#[derive(Debug, Clone, PartialEq)]
struct UnfittedCall {
    name: String,
    arguments: Value,
}

impl UnfittedCall {
    fn new(name: &str, arguments: Map<String, Value>) -> Self {
        Self { name: name.to_owned(), arguments: Value::Object(arguments) }
    }
}

/// How much may be read into a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyReading {
    /// Only what has the form of a call: in a chat, a file that is shown is an answer.
    Calls,
    /// Files, patches and commands that are shown, too: in a run, showing them has no other use.
    Everything,
}

/// The reply with every call in it made a real one. `turn` keeps the ids of those that were read apart from all others.
pub fn understand(reply: ModelReply, offered: &[ToolSpec], reading: ReplyReading, turn: u64) -> ModelReply {
    let cut = reply.stop == ReplyStop::MaxTokens;
    let natively = reply.calls().any(|call| !was_read(call));
    let read_before = reply.calls().next().is_some();
    let said = reply.text();
    let mut parts = Vec::with_capacity(reply.parts.len());
    let mut ids = (0..).map(|number| format!("read_{turn}_{number}"));
    let mut read = false;
    for part in reply.parts {
        match part {
            MessagePart::Call(call) => {
                parts.extend(mended(call, offered, cut, &said, &mut ids).into_iter().map(MessagePart::Call))
            }
            MessagePart::Text(text) if !natively => {
                let (thoughts, text) = without_thoughts(&text);
                if let Some(thoughts) = thoughts {
                    parts.push(MessagePart::Reasoning(Reasoning { text: thoughts.to_owned(), seal: None }));
                }
                let found = match read_before {
                    // The calls were read by the provider; what is shown beside them is meant with them.
                    true => shown(text, offered, reading, cut),
                    false => in_words(text, offered, reading, cut),
                };
                let (calls, words) = found.unwrap_or_else(|| (Vec::new(), text.to_owned()));
                if !words.trim().is_empty() {
                    parts.push(MessagePart::Text(words.clone()));
                }
                for (name, mut arguments) in calls {
                    conclude(&name, &mut arguments, &words);
                    let id = ids.next().unwrap_or_default();
                    parts.push(MessagePart::Call(ToolCall::new(
                        id,
                        name,
                        Value::Object(arguments).to_string(),
                    )));
                    read = true;
                }
            }
            other => parts.push(other),
        }
    }
    let stop = if read && reply.stop == ReplyStop::EndTurn { ReplyStop::ToolUse } else { reply.stop };
    ModelReply { parts, stop, ..reply }
}

/// Who says what was done and then that it is done has said the summary.
fn conclude(name: &str, arguments: &mut Map<String, Value>, said: &str) {
    let missing = arguments.get("summary").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty());
    if name == "finish" && missing && !said.trim().is_empty() {
        arguments.insert("summary".to_owned(), Value::String(said.trim().to_owned()));
    }
}

/// Whether a call was read out of words, here or by the provider.
pub(crate) fn was_read(call: &ToolCall) -> bool {
    call.id.starts_with("read_") || call.id.starts_with("text_")
}

/// A call under the name and with the arguments of the tool that is meant; what cannot be told stays as it is.
fn mended(
    call: ToolCall,
    offered: &[ToolSpec],
    cut: bool,
    said: &str,
    ids: &mut impl Iterator<Item = String>,
) -> Vec<ToolCall> {
    let own = call.object();
    if call.custom || (own.is_err() && cut) {
        // Half a call may be what it looks like.
        return vec![call];
    }
    let mut arguments = own.clone().map_or_else(|_| Value::String(call.arguments.clone()), Value::Object);
    if let Value::Object(object) = &mut arguments
        && near::is_named(&call.name, "finish", offered)
    {
        conclude("finish", object, said);
    }
    let Some(calls) = near::calls(&call.name, &arguments, offered) else { return vec![call] };
    if let ([(name, fitted)], Ok(own)) = (calls.as_slice(), &own)
        && *name == call.name
        && fitted == own
    {
        return vec![call];
    }
    let mut id = Some(call.id.clone());
    let one = |(name, arguments): (String, Map<String, Value>)| {
        let id = id.take().or_else(|| ids.next()).unwrap_or_default();
        ToolCall { id, name, arguments: Value::Object(arguments).to_string(), custom: false }
    };
    calls.into_iter().map(one).collect()
}

type FittedCalls = Vec<(String, Map<String, Value>)>;

/// The calls that are meant by words, and the words around them.
fn in_words(
    text: &str,
    offered: &[ToolSpec],
    reading: ReplyReading,
    cut: bool,
) -> Option<(FittedCalls, String)> {
    if text.trim().is_empty() {
        return None;
    }
    let own = before_pretending(text);
    let in_tags =
        offered.iter().any(|tool| own.lines().any(|line| line.trim() == format!("<{}>", tool.name)));
    let json = || variants(own, cut).iter().find_map(|text| json_calls(text, offered));
    let json = if in_tags { None } else { json() };
    let found = json.or_else(|| {
        let (calls, words) = markup::marked(own, offered, cut)
            .or_else(|| labelled::labelled(own, offered).filter(|_| !cut))?;
        Some((fitted(&calls, offered)?, words))
    });
    match found {
        Some((calls, words)) => match shown(&words, offered, reading, cut) {
            Some((more, words)) => Some((more.into_iter().chain(calls).collect(), words)),
            None => Some((calls, words)),
        },
        None => shown(text, offered, reading, cut).or_else(|| {
            let pieces = block::pieces(own);
            let can = offered.iter().any(|tool| tool.name == "execute");
            let (calls, words) = shell::shown(&pieces, offered)
                .filter(|_| can && !cut && reading == ReplyReading::Everything)?;
            Some((fitted(&calls, offered)?, words))
        }),
    }
}

/// The changes that a text shows, if any may be read into it.
fn shown(
    text: &str,
    offered: &[ToolSpec],
    reading: ReplyReading,
    cut: bool,
) -> Option<(FittedCalls, String)> {
    // Who ends with a question shows what it is about.
    let asks = text.trim_end().ends_with(['?', '？']);
    if reading == ReplyReading::Calls || cut || asks {
        return None;
    }
    let (calls, words) = edits::shown(&block::pieces(before_pretending(text)), offered)?;
    Some((fitted(&calls, offered)?, words))
}

/// Signs that nobody sees.
const UNSEEN: [char; 4] = ['\u{feff}', '\u{200b}', '\u{200e}', '\u{200f}'];

/// The text, and then as it would be if it were not escaped once too often or lacked nothing but braces.
fn variants(text: &str, cut: bool) -> Vec<String> {
    let mut all = vec![text.to_owned()];
    if text.contains(UNSEEN) || text.contains('｛') {
        let seen = text.replace(UNSEEN, "");
        all.push(seen.replace('｛', "{").replace('｝', "}"));
    }
    if text.contains("&quot;") {
        let plain =
            text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        all.push(plain);
    }
    if text.contains("{\\\"") {
        let plain = text.replace("\\\"", "\"");
        all.push(plain.replace("\"{\"", "{\"").replace("}\"\n", "}\n"));
    }
    for label in ["xml", "tool_call", "html"] {
        if text.contains(&format!("```{label}\n<")) {
            all.push(text.replace(&format!("```{label}\n<"), "<"));
        }
    }
    let open = text.trim_end().trim_end_matches('`').trim_end();
    if !cut && text.contains('{') && open.ends_with(['}', '"', ']']) {
        let fenced = text.contains("```");
        let close = if fenced { "\n```" } else { "" };
        all.extend(["}", "}}"].iter().map(|braces| format!("{open}{braces}{close}")));
    }
    all
}

/// All of them as their tools want them, or none.
fn fitted(calls: &[UnfittedCall], offered: &[ToolSpec]) -> Option<FittedCalls> {
    let all: Option<Vec<FittedCalls>> =
        calls.iter().map(|call| near::calls(&call.name, &call.arguments, offered)).collect();
    all.map(|all| all.concat())
}

/// Calls as JSON, in tags, in blocks or bare.
fn json_calls(text: &str, offered: &[ToolSpec]) -> Option<(FittedCalls, String)> {
    let is_call = |name: &str, arguments: &Map<String, Value>, beside: bool| {
        let finishes = near::is_named(name, "finish", offered);
        let whole = || near::calls(name, &Value::Object(arguments.clone()), offered).is_some();
        near::is_known(name, offered) && ((finishes && !beside) || whole())
    };
    let found = find_calls(text, &is_call);
    let (calls, words) = match found.calls.is_empty() {
        false => (found.calls, found.text),
        true => within_a_sentence(text, &is_call)?,
    };
    let mut all = Vec::new();
    for (name, mut arguments) in calls {
        if near::is_named(&name, "finish", offered) {
            conclude("finish", &mut arguments, &words);
        }
        all.extend(near::calls(&name, &Value::Object(arguments), offered)?);
    }
    (!all.is_empty()).then_some((all, words))
}

/// A complete call on the last line of a text, with a few words around it.
fn within_a_sentence(text: &str, is_call: CallPredicate<'_>) -> Option<(FittedCalls, String)> {
    let line = text.trim_end().rsplit('\n').next()?;
    let at = line.find("{\"").filter(|at| *at > 0)?;
    let object = &line[at..];
    let (value, length) = holon_model::fallback::parse_lenient(object)?;
    let explicit =
        ["arguments", "parameters"].iter().any(|key| value.get(*key).is_some_and(Value::is_object));
    let after = object[length..].trim_matches(['`', '.', ' ']);
    let before = line[..at].to_lowercase();
    let acts = ["i will", "i'll", "i need", "let me", "call", "now"].iter().any(|word| before.contains(word));
    if !explicit
        || after.chars().count() > 12
        || !acts
        || before.contains("would")
        || before.contains("could")
    {
        return None;
    }
    let found = find_calls(&object[..length], is_call);
    (!found.calls.is_empty())
        .then(|| (found.calls, text[..text.trim_end().len() - object.len()].trim().to_owned()))
}
