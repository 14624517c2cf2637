//! What agents tell about themselves, line by line, turned into the one kind of event.
//!
//! Readers are pure: a line goes in, events come out, and what matters for the verdict is gathered in [`AgentEventSummary`]. Nothing
//! here is believed about the result; it decides only whether the agent came to its end, and lends its last words to
//! artifacts it did not write itself.

mod acp;
mod claude;
mod codex;
mod gemini;
mod goose;
mod opencode;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use holon_core::digest::sha256;
use holon_core::event::EventBody;
use holon_core::ids::CallId;
use holon_core::manifest::UsageTotals;
use holon_core::policy::ToolClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::Adapter;

/// How much of a call or its result is told.
const SUMMARY: usize = 160;
/// How much is kept of an agent's words; more than any artifact needs.
const MAX_WORDS: usize = 4 << 20;
/// How many calls are known again.
const MAX_CALLS: usize = 10_000;

/// The forms in which agents tell what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EventFormat")]
pub enum AgentEventFormat {
    /// `stream-json` of Claude Code and those that follow it.
    Claude,
    /// `codex exec --json`.
    Codex,
    /// `opencode run --format json`.
    Opencode,
    /// `gemini -o stream-json`.
    Gemini,
    /// `goose run --output-format stream-json`.
    Goose,
    /// Nothing but what they have to say; the default. What is printed becomes the artifacts that no file was written for.
    Text,
    /// The Agent Client Protocol, as [`super::client`] passes it on.
    Acp,
}

/// How an agent says that it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// It is done.
    Done,
    /// It gave up.
    Failed {
        /// A stable short word for manifests.
        kind: &'static str,
        /// What it said about it.
        message: String,
    },
}

/// What was heard so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentEventSummary {
    /// The last whole message to the user.
    pub words: String,
    /// Its terminal event.
    pub end: Option<AgentEnd>,
    /// The tokens and the money it claims.
    pub usage: UsageTotals,
    /// The version it claims.
    pub version: Option<String>,
    /// Lines that were not in the form they should have.
    pub unread: u64,
    /// Calls it made.
    pub calls: u64,
    /// Which ones, for those that tell of one several times.
    called: BTreeSet<String>,
}

/// Reads one agent's lines.
#[derive(Debug)]
pub struct AgentEventReader {
    format: AgentEventFormat,
    classes: BTreeMap<String, ToolClass>,
    heard: AgentEventSummary,
}

impl AgentEventReader {
    /// A reader for one start of an agent; nothing for one that only prints its words.
    pub fn of(adapter: &Adapter) -> Option<Self> {
        let classes =
            adapter.tools.iter().flat_map(|(class, names)| names.iter().map(|n| (n.clone(), *class)));
        Some(Self {
            format: adapter.events.filter(|format| *format != AgentEventFormat::Text)?,
            classes: classes.collect(),
            heard: AgentEventSummary::default(),
        })
    }

    /// Takes a line of standard output; what it tells, or nothing when it is not in the form it should have.
    pub fn line(&mut self, line: &str) -> Option<Vec<EventBody>> {
        if line.trim().is_empty() {
            return Some(Vec::new());
        }
        let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(line) else {
            self.heard.unread += 1;
            return None;
        };
        let mut told = AgentLineEvents { heard: &mut self.heard, classes: &self.classes, bodies: Vec::new() };
        match self.format {
            AgentEventFormat::Claude => claude::read(&value, &mut told),
            AgentEventFormat::Codex => codex::read(&value, &mut told),
            AgentEventFormat::Opencode => opencode::read(&value, &mut told),
            AgentEventFormat::Gemini => gemini::read(&value, &mut told),
            AgentEventFormat::Goose => goose::read(&value, &mut told),
            AgentEventFormat::Acp => acp::read(&value, &mut told),
            AgentEventFormat::Text => {}
        }
        Some(told.bodies)
    }

    /// What was heard so far.
    pub fn heard(&self) -> &AgentEventSummary {
        &self.heard
    }
}

/// What a reader says about one line.
pub(super) struct AgentLineEvents<'a> {
    pub heard: &'a mut AgentEventSummary,
    classes: &'a BTreeMap<String, ToolClass>,
    pub bodies: Vec<EventBody>,
}

impl AgentLineEvents<'_> {
    /// Words to the user: a whole message, or the next piece of one.
    pub(super) fn words(&mut self, text: &str, piece: bool) {
        if !piece {
            self.heard.words.clear();
        }
        let room = MAX_WORDS.saturating_sub(self.heard.words.len());
        self.heard.words.push_str(cut(text, room));
        if !text.is_empty() {
            let end = if piece || text.ends_with('\n') { "" } else { "\n" };
            self.bodies.push(EventBody::MessageDelta { text: format!("{text}{end}") });
        }
    }

    /// Thoughts.
    pub(super) fn thoughts(&mut self, text: &str) {
        if !text.is_empty() {
            self.bodies.push(EventBody::ReasoningDelta { text: text.to_owned() });
        }
    }

    /// Whether a call is heard of for the first time.
    pub(super) fn is_new(&mut self, id: &str) -> bool {
        let called = &mut self.heard.called;
        !called.contains(id) && (called.len() >= MAX_CALLS || called.insert(cut(id, 200).to_owned()))
    }

    /// A call begins.
    pub(super) fn call(&mut self, id: &str, tool: &str, arguments: &Value) {
        self.heard.calls += 1;
        let Some(call) = call_id(id) else { return };
        let text = arguments.to_string();
        self.bodies.push(EventBody::ToolProposed {
            call,
            tool: cut(tool, 100).to_owned(),
            class: self.classes.get(tool).copied().unwrap_or(ToolClass::Unknown),
            arguments_sha256: sha256(text.as_bytes()),
            summary: Some(one_line(&gist(arguments))).filter(|line| !line.is_empty()),
        });
    }

    /// A call ended.
    pub(super) fn result(
        &mut self,
        id: &str,
        ok: bool,
        text: &str,
        exit_code: Option<i64>,
        duration_ms: u64,
    ) {
        let Some(call) = call_id(id) else { return };
        self.bodies.push(EventBody::ToolFinished {
            call,
            ok,
            duration_ms,
            exit_code: exit_code.and_then(|code| i32::try_from(code).ok()),
            summary: Some(one_line(text)).filter(|line| !line.is_empty()),
        });
    }

    /// Something it wants to be known.
    pub(super) fn warn(&mut self, message: &str) {
        let message = one_line(message);
        self.bodies.push(EventBody::Warning { message: format!("the agent says: {message}") });
    }

    /// It ended well; a failure it told before stays one.
    pub(super) fn done(&mut self) {
        self.heard.end.get_or_insert(AgentEnd::Done);
    }

    /// It ended badly.
    pub(super) fn failed(&mut self, kind: &'static str, message: &str) {
        let message = one_line(message);
        self.heard.end = Some(AgentEnd::Failed { kind, message });
    }
}

/// What kind of failure an agent's words tell of, where it gives no other sign.
pub(super) fn kind_of(message: &str) -> &'static str {
    let message = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(&["usage policy", "content_filter", "content filter", "content-filter", "refus", "safety"]) {
        "refused"
    } else if says(&["401", "unauthorized", "api key", "authentication", "credential", "not logged in"]) {
        "credentials"
    } else {
        "agent_failed"
    }
}

/// Any id as one of ours: theirs may hold anything.
pub(crate) fn call_id(id: &str) -> Option<CallId> {
    let plain: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .take(56)
        .collect();
    plain.parse().or_else(|_| format!("call-{plain}").parse()).ok()
}

/// The argument that says most: a command, a path, a pattern; else all of them.
fn gist(arguments: &Value) -> String {
    let telling =
        ["command", "cmd", "file_path", "filePath", "path", "pattern", "prompt", "description", "input"];
    let found = telling.iter().find_map(|key| arguments.get(key));
    match found.unwrap_or(arguments) {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The text of content that is a string, or a list of parts with text.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn one_line(text: &str) -> String {
    let line = cut(text, 4 * SUMMARY).split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&line, SUMMARY).to_owned()
}

/// The beginning of a text, cut between characters.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=text.len().min(most)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}
