#![allow(clippy::unwrap_used, clippy::panic)]
//! A test for every trap of the three wires.

mod chat;
mod encoding;
mod messages;
mod random;
mod responses;

use serde_json::Value;

use crate::error::ModelError;
use crate::reply::{ModelReply, ReplyDelta};
use crate::sse::SseDecoder;
use crate::wire::WireFormat;

/// Decodes a stream given as text.
fn decode(wire: WireFormat, stream: &str) -> (Vec<ReplyDelta>, Result<ModelReply, ModelError>) {
    decode_chunks(wire, &[stream.as_bytes()])
}

fn decode_chunks(wire: WireFormat, chunks: &[&[u8]]) -> (Vec<ReplyDelta>, Result<ModelReply, ModelError>) {
    let mut sse = SseDecoder::default();
    let mut decoder = wire.decoder();
    let mut deltas = Vec::new();
    for chunk in chunks {
        for event in sse.push(chunk).unwrap() {
            deltas.extend(decoder.push(&event));
        }
    }
    if let Some(event) = sse.finish() {
        deltas.extend(decoder.push(&event));
    }
    (deltas, decoder.finish())
}

/// A stream of `data:` lines.
fn data(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// A stream of events named as their `type`.
fn named(events: &[Value]) -> String {
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}

/// A reply in short: `text`, `(reasoning)`, `name#id{arguments}`, then the stop reason.
fn brief(reply: &ModelReply) -> String {
    use crate::message::MessagePart;
    let parts = reply.parts.iter().map(|part| match part {
        MessagePart::Text(text) => text.clone(),
        MessagePart::Reasoning(reasoning) => format!("({})", reasoning.text),
        MessagePart::Call(call) => format!("{}#{}{}", call.name, call.id, call.arguments),
        MessagePart::Result(_) => panic!("a reply holds no results"),
    });
    let parts: Vec<String> = parts.collect();
    format!("{} | {:?}", parts.join(" / "), reply.stop)
}
