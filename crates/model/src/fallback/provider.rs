//! A provider that gives tools to models without them.

use serde_json::{Map, Value};

use super::find::{Found, find_calls};
use super::lenient;
use super::prompt::explain_tools;
use crate::cancel::Cancel;
use crate::message::{Part, ToolCall};
use crate::provider::{Answer, Provider, Sink};
use crate::reply::{Delta, Reply, Stop};
use crate::request::{Request, ToolChoice};

/// Explains tools in the prompt and reads calls out of the answer's text.
#[derive(Debug)]
pub struct TextTools<P> {
    inner: P,
    constrain: bool,
}

impl<P: Provider> TextTools<P> {
    /// Wraps a provider; `constrain` asks the server to enforce a schema, where it can.
    pub fn new(inner: P, constrain: bool) -> Self {
        Self { inner, constrain }
    }
}

impl<P: Provider> Provider for TextTools<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink, cancel: &'a Cancel) -> Answer<'a> {
        Box::pin(async move {
            if request.tools.is_empty() || request.choice == ToolChoice::None {
                return self.inner.stream(&explain_tools(request, false), sink, cancel).await;
            }
            let plain = explain_tools(request, self.constrain);
            // Words that may turn out to be a call are held back; thoughts are not.
            let mut thoughts = ThoughtsOnly(sink);
            let reply = self.inner.stream(&plain, &mut thoughts, cancel).await?;
            let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
            let turn = request.messages.len();
            let reply = with_calls(reply, &names, turn);
            // The thoughts were told as they came.
            reply
                .deltas()
                .into_iter()
                .filter(|delta| !matches!(delta, Delta::Reasoning(_)))
                .for_each(|d| sink.delta(d));
            Ok(reply)
        })
    }
}

struct ThoughtsOnly<'a>(&'a mut dyn Sink);

impl Sink for ThoughtsOnly<'_> {
    fn delta(&mut self, delta: Delta) {
        if !matches!(delta, Delta::Text(_)) {
            self.0.delta(delta);
        }
    }

    fn waiting(&mut self, pause: std::time::Duration, why: &crate::ModelError) {
        self.0.waiting(pause, why);
    }
}

/// The reply with the calls in its words made real ones; `turn` keeps their ids apart from those of other turns.
fn with_calls(reply: Reply, names: &[&str], turn: usize) -> Reply {
    let mut parts = Vec::new();
    let mut count = 0;
    for part in reply.parts {
        let Part::Text(text) = part else {
            parts.push(part);
            continue;
        };
        let found = said_and_called(&text, names).unwrap_or_else(|| find_calls(&text, names));
        if !found.text.is_empty() {
            parts.push(Part::Text(found.text));
        }
        for (name, arguments) in found.calls {
            let id = format!("text_{turn}_{count}");
            parts.push(Part::Call(ToolCall::new(id, name, Value::Object(arguments).to_string())));
            count += 1;
        }
    }
    // An answer that was cut off by its limit may hold half a call; that it was cut must stay visible.
    let stop = if count > 0 && reply.stop == Stop::EndTurn { Stop::ToolUse } else { reply.stop };
    Reply { parts, stop, ..reply }
}

/// An answer that follows the schema of words and a call.
fn said_and_called(text: &str, names: &[&str]) -> Option<Found> {
    let trimmed = text.trim();
    let (Value::Object(mut object), end) = lenient::parse(trimmed)? else { return None };
    let tool = object.get("tool")?.as_str()?.to_owned();
    let say = object.get("say")?.as_str()?.to_owned();
    if end != trimmed.len() || !(tool == "none" || names.contains(&tool.as_str())) {
        return None;
    }
    let arguments = match object.remove("arguments") {
        Some(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    };
    let calls = if tool == "none" { Vec::new() } else { vec![(tool, arguments)] };
    Some(Found { text: say, calls })
}
