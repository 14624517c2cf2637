//! The events of a Messages answer.

use holon_model::{
    MessagePart, ModelError, ModelReply, Reasoning, ReplyStop, Seal, TokenUsage, ToolCall, WireFormat,
};
use serde_json::{Value, json};

use crate::client_wire::ClientWire;
use crate::refusal::GatewayRefusal;
use crate::serve::ReplyLabels;
use crate::serve::carrier;
use crate::serve::stream_encoder::{PieceKind, WireFrames};

/// The events of one stream.
pub(crate) struct MessagesFrames {
    labels: ReplyLabels,
    /// Blocks so far.
    index: usize,
}

impl MessagesFrames {
    pub(crate) fn new(labels: ReplyLabels) -> Self {
        Self { labels, index: 0 }
    }

    fn start(&self, block: &Value, out: &mut String) {
        event(&json!({"type": "content_block_start", "index": self.index, "content_block": block}), out);
    }

    fn delta(&self, delta: &Value, out: &mut String) {
        event(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}), out);
    }

    fn stop(&mut self, out: &mut String) {
        event(&json!({"type": "content_block_stop", "index": self.index}), out);
        self.index += 1;
    }
}

impl WireFrames for MessagesFrames {
    fn begin(&mut self, out: &mut String) {
        let mut message = envelope(&self.labels);
        message["usage"] = json!({"input_tokens": 0, "output_tokens": 0});
        event(&json!({"type": "message_start", "message": message}), out);
    }

    fn open(&mut self, kind: PieceKind, out: &mut String) {
        match kind {
            PieceKind::Words => self.start(&json!({"type": "text", "text": ""}), out),
            PieceKind::Thoughts => {
                self.start(&json!({"type": "thinking", "thinking": "", "signature": ""}), out);
            }
        }
    }

    fn grow(&mut self, kind: PieceKind, text: &str, out: &mut String) {
        match kind {
            PieceKind::Words => self.delta(&json!({"type": "text_delta", "text": text}), out),
            PieceKind::Thoughts => self.delta(&json!({"type": "thinking_delta", "thinking": text}), out),
        }
    }

    fn close(&mut self, _kind: PieceKind, whole: &str, seal: Option<&Seal>, out: &mut String) {
        if let Some(seal) = seal {
            self.delta(&json!({"type": "signature_delta", "signature": signature(whole, seal)}), out);
        }
        self.stop(out);
    }

    fn carry(&mut self, text: &str, seal: &Seal, out: &mut String) {
        self.start(&hidden(text, seal), out);
        self.stop(out);
    }

    fn call(&mut self, call: &ToolCall, out: &mut String) {
        self.start(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}), out);
        self.delta(&json!({"type": "input_json_delta", "partial_json": call.arguments}), out);
        self.stop(out);
    }

    fn sign_of_life(&mut self, out: &mut String) {
        event(&json!({"type": "ping"}), out);
    }

    fn end(&mut self, reply: &ModelReply, out: &mut String) {
        let delta = json!({"stop_reason": reason(reply.stop), "stop_sequence": null});
        let told = usage(&reply.usage.unwrap_or_default());
        event(&json!({"type": "message_delta", "delta": delta, "usage": told}), out);
        event(&json!({"type": "message_stop"}), out);
    }

    fn fail(&mut self, error: &ModelError, out: &mut String) {
        event(&GatewayRefusal::from(error).body(Some(ClientWire::Messages)), out);
    }
}

/// The message as one body.
pub(crate) fn whole(labels: &ReplyLabels, reply: &ModelReply) -> Value {
    let mut message = envelope(labels);
    message["content"] = reply.parts.iter().filter_map(block).collect();
    message["stop_reason"] = json!(reason(reply.stop));
    message["usage"] = usage(&reply.usage.unwrap_or_default());
    message
}

fn block(part: &MessagePart) -> Option<Value> {
    match part {
        MessagePart::Text(text) => Some(json!({"type": "text", "text": text})),
        MessagePart::Reasoning(Reasoning { text, seal }) if text.is_empty() => {
            seal.as_ref().map(|seal| hidden(text, seal))
        }
        MessagePart::Reasoning(thought) => {
            let signature =
                thought.seal.as_ref().map(|seal| signature(&thought.text, seal)).unwrap_or_default();
            Some(json!({"type": "thinking", "thinking": thought.text, "signature": signature}))
        }
        MessagePart::Call(call) => {
            let input = call.object().unwrap_or_default();
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}))
        }
        MessagePart::Result(_) => None,
    }
}

fn envelope(labels: &ReplyLabels) -> Value {
    json!({
        "id": format!("msg_{}", labels.number), "type": "message", "role": "assistant", "model": labels.model,
        "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

/// The wire's own signature, or a foreign seal that travels as one.
fn signature(text: &str, seal: &Seal) -> String {
    let own =
        seal.value.get("signature").and_then(Value::as_str).filter(|_| seal.wire == WireFormat::Messages);
    own.map_or_else(|| carrier::pack(text, seal), str::to_owned)
}

fn hidden(text: &str, seal: &Seal) -> Value {
    let own = seal.value.get("data").and_then(Value::as_str).filter(|_| seal.wire == WireFormat::Messages);
    let data = own.map_or_else(|| carrier::pack(text, seal), str::to_owned);
    json!({"type": "redacted_thinking", "data": data})
}

fn reason(stop: ReplyStop) -> &'static str {
    match stop {
        ReplyStop::EndTurn => "end_turn",
        ReplyStop::ToolUse => "tool_use",
        ReplyStop::MaxTokens => "max_tokens",
        ReplyStop::ContextFull => "model_context_window_exceeded",
        ReplyStop::StopSequence => "stop_sequence",
        ReplyStop::Pause => "pause_turn",
        ReplyStop::Refusal => "refusal",
    }
}

fn usage(usage: &TokenUsage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write, "output_tokens": usage.total_output(),
    })
}

fn event(event: &Value, out: &mut String) {
    let name = event["type"].as_str().unwrap_or_default();
    out.push_str(&format!("event: {name}\ndata: {event}\n\n"));
}
