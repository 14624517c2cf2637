//! A provider that gives tools to models without them.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};

use super::find::{FoundToolCalls, find_calls};
use super::lenient;
use super::prompt::explain_tools;
use super::speakable::GrowingReply;
use super::thoughts::{before_pretending, without_thoughts};
use crate::cancel::ModelCancel;
use crate::error::{ModelError, ModelErrorKind};
use crate::message::{MessagePart, Reasoning, ToolCall};
use crate::provider::{DeltaSink, PendingReply, Provider};
use crate::reply::{ModelReply, ReplyDelta, ReplyStop};
use crate::request::{ModelRequest, ToolChoice, ToolSpec};

/// Explains tools in the prompt and reads calls out of the answer's text.
#[derive(Debug)]
pub struct TextTools<P> {
    inner: P,
    constrain: bool,
    /// Whether the server turned out to know no schemas.
    unruly: AtomicBool,
}

impl<P: Provider> TextTools<P> {
    /// Wraps a provider; `constrain` asks the server to enforce a schema, where it can.
    pub fn new(inner: P, constrain: bool) -> Self {
        Self { inner, constrain, unruly: AtomicBool::new(false) }
    }

    /// Asks once, with or without a schema for the answer.
    async fn ask(
        &self,
        request: &ModelRequest,
        constrain: bool,
        sink: &mut dyn DeltaSink,
        cancel: &ModelCancel,
    ) -> Result<ModelReply, ModelError> {
        let plain = explain_tools(request, constrain);
        // Words are told as they come; what may turn out to be a call is held back.
        let mut teller = TextToolsSink { sink, aloud: GrowingReply::default() };
        let reply = self.inner.stream(&plain, &mut teller, cancel).await?;
        let told = teller.aloud.told().to_owned();
        let turn = request.messages.len();
        let reply = with_calls(reply, &request.tools, turn);
        let rest = untold(&reply, &told).unwrap_or_else(|| {
            // What looked like words was something else after all.
            std::iter::once(ReplyDelta::Restart).chain(reply.deltas()).collect()
        });
        rest.into_iter().for_each(|delta| sink.delta(delta));
        Ok(reply)
    }
}

impl<P: Provider> Provider for TextTools<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a> {
        Box::pin(async move {
            if request.tools.is_empty() || request.choice == ToolChoice::None {
                return self.inner.stream(&explain_tools(request, false), sink, cancel).await;
            }
            let constrain = self.constrain && !self.unruly.load(Ordering::Relaxed);
            let answer = self.ask(request, constrain, sink, cancel).await;
            let refused =
                |error: &ModelError| error.kind == ModelErrorKind::BadRequest && error.status.is_some();
            if constrain && answer.as_ref().is_err_and(refused) {
                // Not every server knows schemas, and those that do not refuse them; words all of them know.
                let answer = self.ask(request, false, sink, cancel).await;
                self.unruly.fetch_or(answer.is_ok(), Ordering::Relaxed);
                return answer;
            }
            answer
        })
    }
}

struct TextToolsSink<'a> {
    sink: &'a mut dyn DeltaSink,
    aloud: GrowingReply,
}

impl DeltaSink for TextToolsSink<'_> {
    fn delta(&mut self, delta: ReplyDelta) {
        match delta {
            ReplyDelta::Text(piece) => {
                if let Some(words) = self.aloud.push(&piece) {
                    self.sink.delta(ReplyDelta::Text(words));
                }
            }
            ReplyDelta::Reasoning(_) => {
                self.aloud.interrupted();
                self.sink.delta(delta);
            }
            ReplyDelta::Restart => {
                self.aloud = GrowingReply::default();
                self.sink.delta(delta);
            }
            // Told with the others at the end, which have a place among them.
            ReplyDelta::CallStarted { .. } | ReplyDelta::CallArguments { .. } => {}
        }
    }

    fn waiting(&mut self, pause: std::time::Duration, why: &ModelError) {
        self.sink.waiting(pause, why);
    }
}

/// The pieces of a reply that were not told yet; nothing when what was told is not its beginning.
fn untold(reply: &ModelReply, told: &str) -> Option<Vec<ReplyDelta>> {
    let mut told = told;
    let mut rest = Vec::new();
    for delta in reply.deltas() {
        match delta {
            // Thoughts were told as they came.
            ReplyDelta::Reasoning(_) => {}
            ReplyDelta::Text(text) => match text.strip_prefix(told) {
                Some(new) => {
                    told = "";
                    rest.extend((!new.is_empty()).then(|| ReplyDelta::Text(new.to_owned())));
                }
                None => told = told.strip_prefix(text.as_str())?,
            },
            other => rest.push(other),
        }
    }
    told.is_empty().then_some(rest)
}

/// The reply with the calls in its words made real ones; `turn` keeps their ids apart from those of other turns.
fn with_calls(reply: ModelReply, tools: &[ToolSpec], turn: usize) -> ModelReply {
    let mut parts = Vec::new();
    let mut count = 0;
    for part in reply.parts {
        let MessagePart::Text(text) = part else {
            parts.push(part);
            continue;
        };
        let (thoughts, rest) = match without_thoughts(&text) {
            (None, text) => {
                thought_first(text, tools).map_or((None, text), |(thoughts, rest)| (Some(thoughts), rest))
            }
            thought => thought,
        };
        if let Some(thoughts) = thoughts {
            parts.push(MessagePart::Reasoning(Reasoning { text: thoughts.to_owned(), seal: None }));
        }
        let found = said_and_called(rest, tools).unwrap_or_else(|| called(rest, tools));
        if !found.text.is_empty() {
            parts.push(MessagePart::Text(found.text));
        }
        for (name, arguments) in found.calls {
            let id = format!("text_{turn}_{count}");
            parts.push(MessagePart::Call(ToolCall::new(id, name, Value::Object(arguments).to_string())));
            count += 1;
        }
    }
    // An answer that was cut off by its limit may hold half a call; that it was cut must stay visible.
    let stop = if count > 0 && reply.stop == ReplyStop::EndTurn { ReplyStop::ToolUse } else { reply.stop };
    ModelReply { parts, stop, ..reply }
}

/// The thoughts before an answer and the rest, where only their end is marked: some templates begin them themselves.
///
/// A call that is only thought about is none. The mark inside a call is part of what is written.
fn thought_first<'a>(text: &'a str, tools: &[ToolSpec]) -> Option<(&'a str, &'a str)> {
    let (thoughts, rest) = text.split_once(THOUGHT)?;
    let among_words = said_and_called(text, tools).is_none() && called(text, tools).text.contains(THOUGHT);
    (among_words && !thoughts.contains("<think>")).then(|| (thoughts.trim(), rest))
}

/// The calls in an answer's words, as far as they are its own.
fn called(text: &str, tools: &[ToolSpec]) -> FoundToolCalls {
    let is_call = |name: &str, arguments: &Map<String, Value>, beside: bool| {
        let tool = tools.iter().find(|tool| tool.name == name);
        tool.is_some_and(|tool| !beside || has_required(tool, arguments))
    };
    let in_tags =
        |tool: &ToolSpec| text.lines().any(|line| line.trim_start().starts_with(&format!("<{}>", tool.name)));
    if tools.iter().any(in_tags) {
        // What is written between such tags may look like anything.
        return FoundToolCalls { text: text.trim().to_owned(), calls: Vec::new() };
    }
    let own = find_calls(before_pretending(text), &is_call);
    // Words that only look so are nobody's pretence.
    if own.calls.is_empty() { find_calls(text, &is_call) } else { own }
}

fn has_required(tool: &ToolSpec, arguments: &Map<String, Value>) -> bool {
    let required = tool.schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str).all(|name| arguments.contains_key(name))
}

/// What stands behind thoughts.
const THOUGHT: &str = "</think>";

/// An answer that follows the schema of words and a call.
fn said_and_called(text: &str, tools: &[ToolSpec]) -> Option<FoundToolCalls> {
    let trimmed = text.trim();
    let (Value::Object(mut object), end) = lenient::parse(trimmed)? else { return None };
    let tool = object.get("tool")?.as_str()?.to_owned();
    let say = object.get("say")?.as_str()?.to_owned();
    if end != trimmed.len() || !(tool == "none" || tools.iter().any(|known| known.name == tool)) {
        return None;
    }
    let arguments = match object.remove("arguments") {
        Some(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    };
    let calls = if tool == "none" { Vec::new() } else { vec![(tool, arguments)] };
    Some(FoundToolCalls { text: say, calls })
}
