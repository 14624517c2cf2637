//! The stream of a Messages request.

use serde_json::{Value, json};

use crate::classify;
use crate::error::ModelError;
use crate::message::{MessagePart, Reasoning, Seal, ToolCall};
use crate::reply::{ModelReply, ReplyDelta, ReplyStop};
use crate::sse::SseEvent;
use crate::usage::TokenUsage;
use crate::wire::assembly::Assembly;
use crate::wire::json::{count, data, kind, list, text};
use crate::wire::{StreamDecoder, WireFormat};

/// State of one stream.
#[derive(Debug, Default)]
pub(crate) struct MessagesDecoder {
    reply: Assembly,
    blocks: Vec<MessagesBlock>,
    /// Why it will stop; counts only once the stream says that it has.
    reason: Option<ReplyStop>,
    over: bool,
}

/// A block of the stream and the part it became.
#[derive(Debug)]
struct MessagesBlock {
    index: u64,
    at: usize,
    /// Input given when the block opened, used when no fragments follow.
    input: Option<String>,
    signature: String,
}

impl StreamDecoder for MessagesDecoder {
    fn push(&mut self, event: &SseEvent) -> Vec<ReplyDelta> {
        let mut out = Vec::new();
        // A router adds the end marker of the other wire.
        if self.is_over() || event.data.trim().is_empty() || event.data.trim() == "[DONE]" {
            return out;
        }
        match data(event) {
            Ok(json) => self.event(kind(event, &json), &json, &mut out),
            Err(error) => self.reply.fail(error),
        }
        out
    }

    fn is_over(&self) -> bool {
        self.over || self.reply.failed()
    }

    fn finish(mut self: Box<Self>) -> Result<ModelReply, ModelError> {
        if self.over {
            self.reply.stop = Some(self.reason.unwrap_or(ReplyStop::EndTurn));
        }
        self.reply.finish("message_stop")
    }
}

impl MessagesDecoder {
    fn event(&mut self, kind: &str, json: &Value, out: &mut Vec<ReplyDelta>) {
        match kind {
            "message_start" => {
                let message = json.get("message").unwrap_or(&Value::Null);
                self.reply.id = text(message, "id").map(str::to_owned);
                self.reply.model = text(message, "model").map(str::to_owned);
                self.count(message);
            }
            "content_block_start" => {
                self.open(count(json, "index"), json.get("content_block").unwrap_or(&Value::Null), out);
            }
            "content_block_delta" => self.grow(count(json, "index"), json, out),
            "content_block_stop" => self.close(count(json, "index"), out),
            "message_delta" => {
                self.reason =
                    json.get("delta").and_then(|d| text(d, "stop_reason")).map(stop).or(self.reason);
                self.count(json);
            }
            "message_stop" => {
                self.close_all(out);
                self.over = true;
            }
            "error" => self.reply.fail(classify::from_event(json)),
            // `ping`, and events this version does not know.
            _ => {}
        }
    }

    fn open(&mut self, index: Option<u64>, block: &Value, out: &mut Vec<ReplyDelta>) {
        let mut input = None;
        let at = match text(block, "type").unwrap_or_default() {
            "text" => {
                let at = self.reply.open(MessagePart::Text(String::new()));
                self.reply.append(at, text(block, "text").unwrap_or_default(), out);
                at
            }
            "tool_use" => {
                let whole = block.get("input").filter(|i| i.as_object().is_some_and(|o| !o.is_empty()));
                input = whole.map(Value::to_string);
                let (id, name) =
                    (text(block, "id").unwrap_or_default(), text(block, "name").unwrap_or_default());
                self.reply.open_call(ToolCall::new(id, name, ""), out)
            }
            "thinking" => {
                let at = self.reply.open(MessagePart::Reasoning(Reasoning::default()));
                self.reply.append(at, text(block, "thinking").unwrap_or_default(), out);
                at
            }
            "redacted_thinking" => {
                let value = json!({"data": block.get("data").cloned().unwrap_or_default()});
                let seal = Some(Seal { wire: WireFormat::Messages, value });
                self.reply.open(MessagePart::Reasoning(Reasoning { text: String::new(), seal }))
            }
            // Blocks of tools that run at the provider, which are never asked for.
            _ => return,
        };
        let signature = text(block, "signature").unwrap_or_default().to_owned();
        let index = index.unwrap_or(self.blocks.len() as u64);
        if !self.reply.failed() {
            self.blocks.push(MessagesBlock { index, at, input, signature });
        }
    }

    fn grow(&mut self, index: Option<u64>, json: &Value, out: &mut Vec<ReplyDelta>) {
        let found = self.blocks.iter_mut().rev().find(|block| index.is_none_or(|index| index == block.index));
        let (Some(block), Some(delta)) = (found, json.get("delta")) else { return };
        let key = match text(delta, "type").unwrap_or_default() {
            "text_delta" => "text",
            "input_json_delta" => "partial_json",
            "thinking_delta" => "thinking",
            "signature_delta" => {
                block.signature.push_str(text(delta, "signature").unwrap_or_default());
                return;
            }
            _ => return,
        };
        let at = block.at;
        self.reply.append(at, text(delta, key).unwrap_or_default(), out);
    }

    fn close(&mut self, index: Option<u64>, out: &mut Vec<ReplyDelta>) {
        let found = self.blocks.iter_mut().rev().find(|block| index.is_none_or(|index| index == block.index));
        let Some(block) = found else { return };
        let at = block.at;
        let signature = std::mem::take(&mut block.signature);
        if let Some(input) = block.input.take()
            && self.reply.call_mut(at).is_some_and(|call| call.arguments.is_empty())
        {
            self.reply.append(at, &input, out);
        }
        if !signature.is_empty() && self.reply.reasoning_at(at).is_some_and(|r| r.seal.is_none()) {
            self.reply.seal(at, Seal { wire: WireFormat::Messages, value: json!({"signature": signature}) });
        }
    }

    fn close_all(&mut self, out: &mut Vec<ReplyDelta>) {
        for index in self.blocks.iter().map(|block| block.index).collect::<Vec<_>>() {
            self.close(Some(index), out);
        }
    }

    /// Counts are cumulative: a later figure replaces an earlier one.
    fn count(&mut self, holder: &Value) {
        let Some(json) = holder.get("usage").filter(|usage| usage.is_object()) else { return };
        let usage = self.reply.usage.get_or_insert_with(TokenUsage::default);
        // Input excludes what was cached on this wire, so the buckets are disjoint as they are.
        for (key, bucket) in [
            ("input_tokens", &mut usage.input),
            ("cache_read_input_tokens", &mut usage.cache_read),
            ("cache_creation_input_tokens", &mut usage.cache_write),
            ("output_tokens", &mut usage.output),
        ] {
            *bucket = count(json, key).unwrap_or(*bucket);
        }
        let cost = json.get("cost").and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost >= 0.0);
        usage.cost_usd = cost.or(usage.cost_usd);
    }
}

fn stop(reason: &str) -> ReplyStop {
    match reason {
        "tool_use" => ReplyStop::ToolUse,
        "max_tokens" => ReplyStop::MaxTokens,
        "stop_sequence" => ReplyStop::StopSequence,
        "pause_turn" => ReplyStop::Pause,
        "refusal" => ReplyStop::Refusal,
        "model_context_window_exceeded" => ReplyStop::ContextFull,
        _ => ReplyStop::EndTurn,
    }
}

/// A body that was not streamed.
pub(crate) fn whole(body: &Value) -> Result<ModelReply, ModelError> {
    let mut decoder = Box::<MessagesDecoder>::default();
    let mut out = Vec::new();
    if text(body, "type") == Some("error") || body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(classify::from_event(body));
    }
    decoder.event("message_start", &json!({"message": body}), &mut out);
    for (index, block) in list(body, "content").iter().enumerate() {
        decoder.open(Some(index as u64), block, &mut out);
    }
    decoder.reason = text(body, "stop_reason").map(stop);
    if decoder.reason.is_some() {
        decoder.event("message_stop", &Value::Null, &mut out);
    }
    decoder.finish()
}
