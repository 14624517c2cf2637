//! The chunks of a chat completion.

use holon_model::{MessagePart, ModelError, ModelReply, ReplyStop, Seal, TokenUsage, ToolCall, WireFormat};
use serde_json::{Value, json};

use crate::client_wire::ClientWire;
use crate::refusal::GatewayRefusal;
use crate::serve::ReplyLabels;
use crate::serve::stream_encoder::{PieceKind, WireFrames};

/// The chunks of one stream.
pub(crate) struct ChatFrames {
    labels: ReplyLabels,
    calls: usize,
}

impl ChatFrames {
    pub(crate) fn new(labels: ReplyLabels) -> Self {
        Self { labels, calls: 0 }
    }

    fn chunk(&self, delta: &Value, reason: Option<&str>, out: &mut String) {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        self.send(json!({"choices": choice}), out);
    }

    fn send(&self, mut chunk: Value, out: &mut String) {
        chunk["id"] = json!(id(&self.labels));
        chunk["object"] = json!("chat.completion.chunk");
        chunk["created"] = json!(0);
        chunk["model"] = json!(self.labels.model);
        out.push_str(&format!("data: {chunk}\n\n"));
    }
}

impl WireFrames for ChatFrames {
    fn begin(&mut self, out: &mut String) {
        self.chunk(&json!({"role": "assistant", "content": ""}), None, out);
    }

    fn open(&mut self, _kind: PieceKind, _out: &mut String) {}

    fn grow(&mut self, kind: PieceKind, text: &str, out: &mut String) {
        let delta = match kind {
            PieceKind::Words => json!({"content": text}),
            PieceKind::Thoughts => json!({"reasoning_content": text}),
        };
        self.chunk(&delta, None, out);
    }

    fn close(&mut self, _kind: PieceKind, _whole: &str, _seal: Option<&Seal>, _out: &mut String) {}

    // Clients of this wire do not send thoughts back.
    fn carry(&mut self, _text: &str, _seal: &Seal, _out: &mut String) {}

    fn call(&mut self, call: &ToolCall, out: &mut String) {
        let mut told = called(call);
        told["index"] = json!(self.calls);
        self.calls += 1;
        self.chunk(&json!({"tool_calls": [told]}), None, out);
    }

    fn sign_of_life(&mut self, out: &mut String) {
        out.push_str(": working\n\n");
    }

    fn end(&mut self, reply: &ModelReply, out: &mut String) {
        self.chunk(&json!({}), Some(reason(reply.stop)), out);
        if let Some(told) = &reply.usage {
            self.send(json!({"choices": [], "usage": usage(told)}), out);
        }
        out.push_str("data: [DONE]\n\n");
    }

    fn fail(&mut self, error: &ModelError, out: &mut String) {
        let mut body = GatewayRefusal::from(error).body(Some(ClientWire::Chat));
        body["choices"] = json!([{"index": 0, "delta": {}, "finish_reason": "error"}]);
        self.send(body, out);
    }
}

/// The completion as one body.
pub(crate) fn whole(labels: &ReplyLabels, reply: &ModelReply) -> Value {
    let mut message = json!({"role": "assistant", "content": null});
    let words: Vec<&str> = reply.parts.iter().filter_map(words).collect();
    if !words.is_empty() {
        message["content"] = json!(words.concat());
    }
    let mut thoughts = String::new();
    for part in &reply.parts {
        if let MessagePart::Reasoning(thought) = part {
            thoughts.push_str(&thought.text);
            if let Some(seal) = thought.seal.as_ref().filter(|seal| seal.wire == WireFormat::Chat) {
                message["reasoning_details"] = seal.value.clone();
            }
        }
    }
    if !thoughts.is_empty() {
        message["reasoning_content"] = json!(thoughts);
    }
    let calls: Vec<Value> = reply.calls().map(called).collect();
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut body = json!({
        "id": id(labels), "object": "chat.completion", "created": 0, "model": labels.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason(reply.stop)}],
    });
    if let Some(told) = &reply.usage {
        body["usage"] = usage(told);
    }
    body
}

fn words(part: &MessagePart) -> Option<&str> {
    match part {
        MessagePart::Text(text) => Some(text),
        _ => None,
    }
}

fn id(labels: &ReplyLabels) -> String {
    format!("chatcmpl-{}", labels.number)
}

fn called(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn reason(stop: ReplyStop) -> &'static str {
    match stop {
        ReplyStop::ToolUse => "tool_calls",
        ReplyStop::MaxTokens | ReplyStop::ContextFull => "length",
        ReplyStop::Refusal => "content_filter",
        ReplyStop::EndTurn | ReplyStop::StopSequence | ReplyStop::Pause => "stop",
    }
}

fn usage(usage: &TokenUsage) -> Value {
    let (input, output) = (usage.total_input(), usage.total_output());
    let mut told = json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    });
    if let Some(cost) = usage.cost_usd {
        told["cost"] = json!(cost);
    }
    told
}
