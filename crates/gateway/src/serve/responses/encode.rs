//! The events of a Responses answer.

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
pub(crate) struct ResponsesFrames {
    labels: ReplyLabels,
    sequence: u64,
    /// The items that are done.
    items: Vec<Value>,
}

impl ResponsesFrames {
    pub(crate) fn new(labels: ReplyLabels) -> Self {
        Self { labels, sequence: 0, items: Vec::new() }
    }

    fn event(&mut self, kind: &str, mut event: Value, out: &mut String) {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        out.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
    }

    /// An event about the item that is being told.
    fn about(&mut self, kind: &str, mut event: Value, out: &mut String) {
        event["output_index"] = json!(self.items.len());
        self.event(kind, event, out);
    }

    fn added(&mut self, item: Value, out: &mut String) {
        self.about("response.output_item.added", json!({"item": item}), out);
    }

    fn done(&mut self, item: Value, out: &mut String) {
        self.about("response.output_item.done", json!({"item": item}), out);
        self.items.push(item);
    }

    fn id(&self, prefix: &str) -> String {
        item_id(&self.labels, prefix, self.items.len())
    }
}

impl WireFrames for ResponsesFrames {
    fn begin(&mut self, out: &mut String) {
        let response = envelope(&self.labels, "in_progress", Vec::new());
        self.event("response.created", json!({"response": response}), out);
        self.event("response.in_progress", json!({"response": response}), out);
    }

    fn open(&mut self, kind: PieceKind, out: &mut String) {
        match kind {
            PieceKind::Words => {
                let id = self.id("msg");
                self.added(message(&id, "in_progress", None), out);
                let part = json!({"item_id": id, "content_index": 0, "part": output_text("")});
                self.about("response.content_part.added", part, out);
            }
            PieceKind::Thoughts => {
                let id = self.id("rs");
                self.added(json!({"type": "reasoning", "id": id, "summary": []}), out);
                let part = json!({"item_id": id, "summary_index": 0, "part": summary_text("")});
                self.about("response.reasoning_summary_part.added", part, out);
            }
        }
    }

    fn grow(&mut self, kind: PieceKind, text: &str, out: &mut String) {
        let (name, event) = match kind {
            PieceKind::Words => (
                "response.output_text.delta",
                json!({"item_id": self.id("msg"), "content_index": 0, "delta": text}),
            ),
            PieceKind::Thoughts => (
                "response.reasoning_summary_text.delta",
                json!({"item_id": self.id("rs"), "summary_index": 0, "delta": text}),
            ),
        };
        self.about(name, event, out);
    }

    fn close(&mut self, kind: PieceKind, whole: &str, seal: Option<&Seal>, out: &mut String) {
        match kind {
            PieceKind::Words => {
                let id = self.id("msg");
                let text = json!({"item_id": id, "content_index": 0, "text": whole});
                self.about("response.output_text.done", text, out);
                let part = json!({"item_id": id, "content_index": 0, "part": output_text(whole)});
                self.about("response.content_part.done", part, out);
                self.done(message(&id, "completed", Some(whole)), out);
            }
            PieceKind::Thoughts => {
                let id = self.id("rs");
                let text = json!({"item_id": id, "summary_index": 0, "text": whole});
                self.about("response.reasoning_summary_text.done", text, out);
                let part = json!({"item_id": id, "summary_index": 0, "part": summary_text(whole)});
                self.about("response.reasoning_summary_part.done", part, out);
                self.done(thought(&id, whole, seal), out);
            }
        }
    }

    fn carry(&mut self, text: &str, seal: &Seal, out: &mut String) {
        let id = self.id("rs");
        self.added(json!({"type": "reasoning", "id": id, "summary": []}), out);
        let item = json!({
            "type": "reasoning", "id": id, "summary": [], "encrypted_content": carrier::pack(text, seal),
        });
        self.done(item, out);
    }

    fn call(&mut self, call: &ToolCall, out: &mut String) {
        let whole = called(&self.labels, call, self.items.len());
        let id = whole["id"].clone();
        let custom = whole["type"] == "custom_tool_call";
        let field = if custom { "input" } else { "arguments" };
        let kind = if custom { "custom_tool_call_input" } else { "function_call_arguments" };
        let text = whole[field].clone();
        let mut bare = whole.clone();
        bare[field] = json!("");
        bare["status"] = json!("in_progress");
        self.added(bare, out);
        self.about(&format!("response.{kind}.delta"), json!({"item_id": id, "delta": text}), out);
        self.about(&format!("response.{kind}.done"), json!({"item_id": id, field: text}), out);
        self.done(whole, out);
    }

    fn sign_of_life(&mut self, out: &mut String) {
        out.push_str(": working\n\n");
    }

    fn end(&mut self, reply: &ModelReply, out: &mut String) {
        let items = std::mem::take(&mut self.items);
        let response = ended(&self.labels, reply, items);
        let kind =
            if response["status"] == "incomplete" { "response.incomplete" } else { "response.completed" };
        self.event(kind, json!({"response": response}), out);
    }

    fn fail(&mut self, error: &ModelError, out: &mut String) {
        let mut response = envelope(&self.labels, "failed", std::mem::take(&mut self.items));
        response["error"] = GatewayRefusal::from(error).body(Some(ClientWire::Responses))["error"].take();
        self.event("response.failed", json!({"response": response}), out);
    }
}

/// The response as one body.
pub(crate) fn whole(labels: &ReplyLabels, reply: &ModelReply) -> Value {
    let mut items = Vec::new();
    for part in &reply.parts {
        let at = items.len();
        match part {
            MessagePart::Text(text) if text.is_empty() => {}
            MessagePart::Text(text) => {
                items.push(message(&item_id(labels, "msg", at), "completed", Some(text)))
            }
            MessagePart::Reasoning(Reasoning { text, seal }) => {
                items.push(thought(&item_id(labels, "rs", at), text, seal.as_ref()));
            }
            MessagePart::Call(call) => items.push(called(labels, call, at)),
            MessagePart::Result(_) => {}
        }
    }
    ended(labels, reply, items)
}

fn ended(labels: &ReplyLabels, reply: &ModelReply, items: Vec<Value>) -> Value {
    let (status, reason) = match reply.stop {
        ReplyStop::MaxTokens | ReplyStop::ContextFull => ("incomplete", Some("max_output_tokens")),
        ReplyStop::Refusal => ("incomplete", Some("content_filter")),
        ReplyStop::EndTurn | ReplyStop::ToolUse | ReplyStop::StopSequence | ReplyStop::Pause => {
            ("completed", None)
        }
    };
    let mut response = envelope(labels, status, items);
    response["incomplete_details"] = reason.map_or(Value::Null, |reason| json!({"reason": reason}));
    response["usage"] = usage(&reply.usage.unwrap_or_default());
    response
}

fn envelope(labels: &ReplyLabels, status: &str, items: Vec<Value>) -> Value {
    json!({
        "id": format!("resp_{}", labels.number), "object": "response", "created_at": 0, "status": status,
        "model": labels.model, "output": items, "error": null, "incomplete_details": null, "usage": null,
        "store": false,
    })
}

fn item_id(labels: &ReplyLabels, prefix: &str, at: usize) -> String {
    format!("{prefix}_{}_{at}", labels.number)
}

fn message(id: &str, status: &str, text: Option<&str>) -> Value {
    let content: Vec<Value> = text.into_iter().map(output_text).collect();
    json!({"type": "message", "id": id, "status": status, "role": "assistant", "content": content})
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn summary_text(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

/// A thought as the item it came as, or with a foreign seal inside.
fn thought(id: &str, text: &str, seal: Option<&Seal>) -> Value {
    let summary: Vec<Value> =
        Some(text).filter(|text| !text.is_empty()).into_iter().map(summary_text).collect();
    let mut item = json!({"type": "reasoning", "id": id, "summary": summary});
    match seal {
        Some(seal) if seal.wire == WireFormat::Responses => {
            // The provider wants its own item back; only the words must be those the client was told.
            item = seal.value.clone();
            if item.get("id").is_none() {
                item["id"] = json!(id);
            }
        }
        Some(seal) => item["encrypted_content"] = json!(carrier::pack(text, seal)),
        None => {}
    }
    item
}

fn called(labels: &ReplyLabels, call: &ToolCall, at: usize) -> Value {
    let space = labels.spaces.get(&call.name);
    let name = space.map_or(&call.name, |(_, name)| name);
    let mut item = if call.custom || labels.custom.contains(&call.name) {
        let input = call.object().ok().and_then(|object| Some(object.get("input")?.as_str()?.to_owned()));
        json!({
            "type": "custom_tool_call", "id": item_id(labels, "ctc", at), "status": "completed",
            "call_id": call.id, "name": name, "input": input.unwrap_or_else(|| call.arguments.clone()),
        })
    } else {
        json!({
            "type": "function_call", "id": item_id(labels, "fc", at), "status": "completed",
            "call_id": call.id, "name": name, "arguments": call.arguments,
        })
    };
    if let Some((space, _)) = space {
        item["namespace"] = json!(space);
    }
    item
}

fn usage(usage: &TokenUsage) -> Value {
    let (input, output) = (usage.total_input(), usage.total_output());
    json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input.saturating_add(output),
    })
}
