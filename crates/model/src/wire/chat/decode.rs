//! The stream of a chat completion.
//!
//! Servers differ: calls come in fragments or whole, with or without index and id, several calls under one index,
//! arguments as text or object, thoughts under three names, usage before or after the end, content as text or parts.

use serde_json::{Map, Value};

use super::thinking::{ThinkingPiece, ThinkingSplitter};
use crate::classify;
use crate::error::{ModelError, ModelErrorKind};
use crate::message::{Seal, ToolCall};
use crate::reply::{ModelReply, ReplyDelta, ReplyStop};
use crate::sse::SseEvent;
use crate::usage::TokenUsage;
use crate::wire::assembly::Assembly;
use crate::wire::json::{count, count_at, data, list, text, words};
use crate::wire::{StreamDecoder, WireFormat};

/// State of one stream.
#[derive(Debug, Default)]
pub(crate) struct ChatDecoder {
    reply: Assembly,
    /// Calls by the index the server gave, with their position in the reply.
    slots: Vec<(Option<u64>, usize)>,
    /// OpenRouter's own form of the thoughts, to be sent back.
    details: Vec<Map<String, Value>>,
    /// Tells thoughts in the words from the words.
    thinking: ThinkingSplitter,
    refused: bool,
    done: bool,
}

impl StreamDecoder for ChatDecoder {
    fn push(&mut self, event: &SseEvent) -> Vec<ReplyDelta> {
        let mut out = Vec::new();
        if self.is_over() || event.data.trim().is_empty() {
            return out;
        }
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return out;
        }
        match data(event) {
            Ok(chunk) => self.chunk(&chunk, event.name.as_deref() == Some("error"), &mut out),
            Err(error) => self.reply.fail(error),
        }
        out
    }

    fn is_over(&self) -> bool {
        self.done || self.reply.failed()
    }

    fn finish(mut self: Box<Self>) -> Result<ModelReply, ModelError> {
        if !self.details.is_empty() && !self.reply.failed() {
            let at = self.reply.first_reasoning();
            let value = Value::Array(self.details.into_iter().map(Value::Object).collect());
            self.reply.seal(at, Seal { wire: WireFormat::Chat, value });
        }
        if self.refused && self.reply.stop.is_some() {
            self.reply.stop = Some(ReplyStop::Refusal);
        }
        self.reply.finish("a finish reason")
    }
}

impl ChatDecoder {
    fn chunk(&mut self, chunk: &Value, is_error: bool, out: &mut Vec<ReplyDelta>) {
        if is_error || chunk.get("error").is_some_and(|error| !error.is_null()) {
            self.reply.fail(classify::from_event(chunk));
            return;
        }
        let reply = &mut self.reply;
        reply.id = reply.id.take().or_else(|| text(chunk, "id").map(str::to_owned));
        reply.model = reply.model.take().or_else(|| text(chunk, "model").map(str::to_owned));
        if let Some(found) = chunk.get("usage").filter(|u| u.is_object()) {
            reply.usage = Some(usage(found));
        }
        // Only one answer is asked for; the list is empty in the chunk with the usage.
        if let Some(choice) = list(chunk, "choices").first() {
            let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
            self.delta(delta, out);
            if let Some(reason) = text(choice, "finish_reason") {
                self.say_rest(out);
                self.ended(reason, choice);
            }
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ReplyDelta>) {
        self.thoughts(delta, out);
        if let Some(content) = delta.get("content") {
            for piece in self.thinking.push(&words(content)) {
                self.say(piece, out);
            }
        }
        if let Some(refusal) = text(delta, "refusal") {
            self.refused = true;
            self.reply.add_text(refusal, out);
        }
        for call in list(delta, "tool_calls") {
            self.say_rest(out);
            self.call(call, out);
        }
        // The form before tools; some old servers still send it.
        if let Some(function) = delta.get("function_call").filter(|f| f.is_object()) {
            self.call(&serde_json::json!({"index": 0, "function": function}), out);
        }
    }

    fn say(&mut self, piece: ThinkingPiece, out: &mut Vec<ReplyDelta>) {
        match piece {
            ThinkingPiece::Thoughts(text) => self.reply.add_reasoning(&text, out),
            ThinkingPiece::Words(text) => self.reply.add_text(&text, out),
        }
    }

    /// Says what was held back because it could have been a tag.
    fn say_rest(&mut self, out: &mut Vec<ReplyDelta>) {
        if let Some(piece) = self.thinking.rest() {
            self.say(piece, out);
        }
    }

    fn thoughts(&mut self, delta: &Value, out: &mut Vec<ReplyDelta>) {
        let named = ["reasoning", "reasoning_content"].iter().find_map(|key| text(delta, key));
        let details = list(delta, "reasoning_details");
        match named {
            Some(thoughts) => self.reply.add_reasoning(thoughts, out),
            None => {
                for detail in details {
                    let thoughts = text(detail, "text").or_else(|| text(detail, "summary"));
                    self.reply.add_reasoning(thoughts.unwrap_or_default(), out);
                }
            }
        }
        for detail in details.iter().filter_map(Value::as_object) {
            self.keep_detail(detail);
        }
    }

    /// Joins the fragments of a detail: texts grow, everything else is replaced.
    fn keep_detail(&mut self, detail: &Map<String, Value>) {
        let same = |kept: &Map<String, Value>| {
            ["index", "type"].iter().all(|key| kept.get(*key) == detail.get(*key))
        };
        let Some(kept) = self.details.last_mut().filter(|kept| same(kept)) else {
            if self.details.len() < 1024 {
                self.details.push(detail.clone());
            }
            return;
        };
        for (key, value) in detail {
            match (kept.get_mut(key), value) {
                (Some(Value::String(all)), Value::String(more)) if GROWING.contains(&key.as_str()) => {
                    all.push_str(more);
                }
                (Some(_), Value::Null) => {}
                _ => drop(kept.insert(key.clone(), value.clone())),
            }
        }
    }

    fn call(&mut self, call: &Value, out: &mut Vec<ReplyDelta>) {
        let index = count(call, "index");
        let id = text(call, "id");
        let function = call.get("function").unwrap_or(call);
        let name = text(function, "name");
        let at = match self.slot_for(index, id, name) {
            Some(at) => at,
            None => {
                let fresh = ToolCall::new(id.unwrap_or_default(), name.unwrap_or_default(), "");
                let at = self.reply.open_call(fresh, out);
                self.slots.push((index, at));
                at
            }
        };
        if let Some(name) = name {
            self.reply.name_call(at, name, out);
        }
        if let (Some(id), Some(call)) = (id, self.reply.call_mut(at))
            && call.id.is_empty()
        {
            id.clone_into(&mut call.id);
        }
        match function.get("arguments") {
            Some(Value::String(fragment)) => self.reply.append(at, fragment, out),
            Some(object @ Value::Object(_)) => self.reply.append(at, &object.to_string(), out),
            _ => {}
        }
    }

    /// The call that a fragment continues, if it does not begin one.
    fn slot_for(&mut self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let found = match index {
            Some(index) => self.slots.iter().rev().find(|(slot, _)| *slot == Some(index)),
            // Without an index a fragment belongs to the call of its id, else to the last one.
            None => match id {
                Some(id) => {
                    let reply = &mut self.reply;
                    self.slots.iter().find(|(_, at)| reply.call_mut(*at).is_some_and(|call| call.id == id))
                }
                None => self.slots.last(),
            },
        };
        let at = found?.1;
        let call = self.reply.call_mut(at)?;
        // Another id with a name under a known index is a new call, and so is a whole second one without an id.
        let other_id = id.is_some_and(|id| !call.id.is_empty() && call.id != id);
        let complete = !call.arguments.is_empty() && serde_json::from_str::<Value>(&call.arguments).is_ok();
        let begins = name.is_some() && !call.name.is_empty() && (other_id || (id.is_none() && complete));
        (!begins).then_some(at)
    }

    fn ended(&mut self, reason: &str, choice: &Value) {
        let stop = match reason {
            "length" | "max_tokens" | "model_length" => ReplyStop::MaxTokens,
            "content_filter" => ReplyStop::Refusal,
            "error" => {
                let told = choice.get("error").filter(|error| !error.is_null());
                self.reply.fail(told.map_or_else(
                    || ModelError::new(ModelErrorKind::Overloaded, "generation ended with an error"),
                    |_| classify::from_event(choice),
                ));
                return;
            }
            // `stop`, `tool_calls` and whatever else servers invent: whether there are calls tells the two apart.
            _ if self.reply.has_calls() => ReplyStop::ToolUse,
            _ => ReplyStop::EndTurn,
        };
        self.reply.stop = Some(stop);
    }
}

/// The fields of a detail that arrive in fragments.
const GROWING: [&str; 4] = ["text", "summary", "data", "signature"];

fn usage(json: &Value) -> TokenUsage {
    let read = count_at(json, ["prompt_tokens_details", "cached_tokens"]);
    let write = count_at(json, ["prompt_tokens_details", "cache_write_tokens"]);
    let reasoning = count_at(json, ["completion_tokens_details", "reasoning_tokens"]);
    let input = count(json, "prompt_tokens").unwrap_or(0);
    let output = count(json, "completion_tokens").unwrap_or(0);
    let cost = json.get("cost").and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost >= 0.0);
    TokenUsage { cost_usd: cost, ..TokenUsage::from_inclusive(input, read, write, output, reasoning) }
}

/// A body that was not streamed.
pub(crate) fn whole(body: &Value) -> Result<ModelReply, ModelError> {
    let mut decoder = Box::<ChatDecoder>::default();
    decoder.chunk(body, false, &mut Vec::new());
    decoder.finish()
}
