//! The events of a Messages answer.

use holon_model::{ModelError, Part, Reasoning, Reply, Seal, Stop, ToolCall, Usage, Wire};
use serde_json::{Value, json};

use crate::refusal::Refusal;
use crate::serve::Labels;
use crate::serve::carrier;
use crate::serve::teller::{Frames, Kind};
use crate::tongue::Tongue;

/// The events of one stream.
pub(crate) struct Form {
    labels: Labels,
    /// Blocks so far.
    index: usize,
}

impl Form {
    pub(crate) fn new(labels: Labels) -> Self {
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

impl Frames for Form {
    fn begin(&mut self, out: &mut String) {
        let mut message = envelope(&self.labels);
        message["usage"] = json!({"input_tokens": 0, "output_tokens": 0});
        event(&json!({"type": "message_start", "message": message}), out);
    }

    fn open(&mut self, kind: Kind, out: &mut String) {
        match kind {
            Kind::Words => self.start(&json!({"type": "text", "text": ""}), out),
            Kind::Thoughts => {
                self.start(&json!({"type": "thinking", "thinking": "", "signature": ""}), out);
            }
        }
    }

    fn grow(&mut self, kind: Kind, text: &str, out: &mut String) {
        match kind {
            Kind::Words => self.delta(&json!({"type": "text_delta", "text": text}), out),
            Kind::Thoughts => self.delta(&json!({"type": "thinking_delta", "thinking": text}), out),
        }
    }

    fn close(&mut self, _kind: Kind, whole: &str, seal: Option<&Seal>, out: &mut String) {
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

    fn end(&mut self, reply: &Reply, out: &mut String) {
        let delta = json!({"stop_reason": reason(reply.stop), "stop_sequence": null});
        let told = usage(&reply.usage.unwrap_or_default());
        event(&json!({"type": "message_delta", "delta": delta, "usage": told}), out);
        event(&json!({"type": "message_stop"}), out);
    }

    fn fail(&mut self, error: &ModelError, out: &mut String) {
        event(&Refusal::from(error).body(Some(Tongue::Messages)), out);
    }
}

/// The message as one body.
pub(crate) fn whole(labels: &Labels, reply: &Reply) -> Value {
    let mut message = envelope(labels);
    message["content"] = reply.parts.iter().filter_map(block).collect();
    message["stop_reason"] = json!(reason(reply.stop));
    message["usage"] = usage(&reply.usage.unwrap_or_default());
    message
}

fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Text(text) => Some(json!({"type": "text", "text": text})),
        Part::Reasoning(Reasoning { text, seal }) if text.is_empty() => {
            seal.as_ref().map(|seal| hidden(text, seal))
        }
        Part::Reasoning(thought) => {
            let signature =
                thought.seal.as_ref().map(|seal| signature(&thought.text, seal)).unwrap_or_default();
            Some(json!({"type": "thinking", "thinking": thought.text, "signature": signature}))
        }
        Part::Call(call) => {
            let input = call.object().unwrap_or_default();
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}))
        }
        Part::Result(_) => None,
    }
}

fn envelope(labels: &Labels) -> Value {
    json!({
        "id": format!("msg_{}", labels.number), "type": "message", "role": "assistant", "model": labels.model,
        "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

/// The wire's own signature, or a foreign seal that travels as one.
fn signature(text: &str, seal: &Seal) -> String {
    let own = seal.value.get("signature").and_then(Value::as_str).filter(|_| seal.wire == Wire::Messages);
    own.map_or_else(|| carrier::pack(text, seal), str::to_owned)
}

fn hidden(text: &str, seal: &Seal) -> Value {
    let own = seal.value.get("data").and_then(Value::as_str).filter(|_| seal.wire == Wire::Messages);
    let data = own.map_or_else(|| carrier::pack(text, seal), str::to_owned);
    json!({"type": "redacted_thinking", "data": data})
}

fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::ContextFull => "model_context_window_exceeded",
        Stop::StopSequence => "stop_sequence",
        Stop::Pause => "pause_turn",
        Stop::Refusal => "refusal",
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write, "output_tokens": usage.total_output(),
    })
}

fn event(event: &Value, out: &mut String) {
    let name = event["type"].as_str().unwrap_or_default();
    out.push_str(&format!("event: {name}\ndata: {event}\n\n"));
}
