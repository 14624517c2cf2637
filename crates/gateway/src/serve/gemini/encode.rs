//! The chunks of a `generateContent` answer.

use holon_model::{MessagePart, ModelError, ModelReply, Reasoning, ReplyStop, Seal, TokenUsage, ToolCall};
use serde_json::{Map, Value, json};

use crate::client_wire::ClientWire;
use crate::refusal::GatewayRefusal;
use crate::serve::ReplyLabels;
use crate::serve::carrier;
use crate::serve::stream_encoder::{PieceKind, WireFrames};

/// The chunks of one stream.
pub(crate) struct GeminiFrames {
    labels: ReplyLabels,
    /// Calls wait for the end, where the last of the seals that go with them are known.
    calls: GeminiCallParts,
}

impl GeminiFrames {
    pub(crate) fn new(labels: ReplyLabels) -> Self {
        Self { labels, calls: GeminiCallParts::default() }
    }
}

impl WireFrames for GeminiFrames {
    fn begin(&mut self, _out: &mut String) {}

    fn open(&mut self, _kind: PieceKind, _out: &mut String) {}

    fn grow(&mut self, kind: PieceKind, text: &str, out: &mut String) {
        let part = match kind {
            PieceKind::Words => json!({"text": text}),
            PieceKind::Thoughts => json!({"text": text, "thought": true}),
        };
        send(&chunk(&self.labels, vec![part], None), out);
    }

    fn close(&mut self, _kind: PieceKind, whole: &str, seal: Option<&Seal>, _out: &mut String) {
        if let Some(seal) = seal {
            self.calls.think(whole, seal);
        }
    }

    fn carry(&mut self, text: &str, seal: &Seal, _out: &mut String) {
        self.calls.think(text, seal);
    }

    fn call(&mut self, call: &ToolCall, _out: &mut String) {
        self.calls.add(call);
    }

    // Not a comment: the best known client takes nothing but data and white space.
    fn sign_of_life(&mut self, out: &mut String) {
        out.push_str("\n\n");
    }

    fn end(&mut self, reply: &ModelReply, out: &mut String) {
        let parts = std::mem::take(&mut self.calls).finish();
        let mut last = chunk(&self.labels, parts, Some(reason(reply.stop)));
        if let Some(told) = &reply.usage {
            last["usageMetadata"] = usage(told);
        }
        send(&last, out);
    }

    // Bare, as the provider itself does it in the middle of a stream: clients take an error among the data for an empty chunk,
    // and what came before for the whole answer.
    fn fail(&mut self, error: &ModelError, out: &mut String) {
        let body = GatewayRefusal::from(error).body(Some(ClientWire::Gemini));
        out.push_str(&format!("{body}\n"));
    }
}

/// The answer as one body.
pub(crate) fn whole(labels: &ReplyLabels, reply: &ModelReply) -> Value {
    let mut calls = GeminiCallParts::default();
    for part in &reply.parts {
        match part {
            MessagePart::Text(text) if text.is_empty() => {}
            MessagePart::Text(text) => calls.parts.push(json!({"text": text})),
            MessagePart::Reasoning(Reasoning { text, seal }) => {
                if !text.is_empty() {
                    calls.parts.push(json!({"text": text, "thought": true}));
                }
                if let Some(seal) = seal {
                    calls.think(text, seal);
                }
            }
            MessagePart::Call(call) => calls.add(call),
            MessagePart::Result(_) => {}
        }
    }
    let mut body = chunk(labels, calls.finish(), Some(reason(reply.stop)));
    if let Some(told) = &reply.usage {
        body["usageMetadata"] = usage(told);
    }
    body
}

/// Parts with calls, and the sealed thoughts that travel on them.
#[derive(Default)]
struct GeminiCallParts {
    parts: Vec<Value>,
    /// Seals for which there is no call yet.
    sealed: Vec<String>,
}

impl GeminiCallParts {
    fn think(&mut self, text: &str, seal: &Seal) {
        self.sealed.push(carrier::pack(text, seal));
    }

    fn add(&mut self, call: &ToolCall) {
        let arguments = call
            .object()
            .unwrap_or_else(|_| Map::from_iter([("unparsed".to_owned(), json!(call.arguments))]));
        let mut part = json!({"functionCall": {"id": call.id, "name": call.name, "args": arguments}});
        if !self.sealed.is_empty() {
            part["thoughtSignature"] = json!(std::mem::take(&mut self.sealed).join("\n"));
        }
        self.parts.push(part);
    }

    /// All parts; seals that came after the calls were thought before them.
    fn finish(mut self) -> Vec<Value> {
        let first = self.parts.iter_mut().find(|part| part.get("functionCall").is_some());
        if let Some(first) = first.filter(|_| !self.sealed.is_empty()) {
            self.sealed.extend(first["thoughtSignature"].as_str().map(str::to_owned));
            first["thoughtSignature"] = json!(self.sealed.join("\n"));
        }
        self.parts
    }
}

fn chunk(labels: &ReplyLabels, parts: Vec<Value>, reason: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(reason) = reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({
        "candidates": [candidate], "modelVersion": labels.model, "responseId": format!("gen-{}", labels.number),
    })
}

fn send(chunk: &Value, out: &mut String) {
    out.push_str(&format!("data: {chunk}\n\n"));
}

fn reason(stop: ReplyStop) -> &'static str {
    match stop {
        ReplyStop::EndTurn | ReplyStop::ToolUse | ReplyStop::StopSequence | ReplyStop::Pause => "STOP",
        ReplyStop::MaxTokens | ReplyStop::ContextFull => "MAX_TOKENS",
        ReplyStop::Refusal => "SAFETY",
    }
}

fn usage(usage: &TokenUsage) -> Value {
    let input = usage.total_input();
    json!({
        "promptTokenCount": input, "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output, "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": input.saturating_add(usage.total_output()),
    })
}
