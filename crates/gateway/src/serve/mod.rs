//! The wires from the server's side: requests are read, replies are told.
//!
//! The model crate encodes requests and decodes replies; this is the other half, so that any client can be served by
//! any provider. Reading is lenient about what cannot be carried over (a picture becomes a note) and strict about what
//! would change the meaning (a conversation kept at a provider is refused).

mod carrier;
mod chat;
mod fields;
mod gemini;
mod messages;
mod responses;
mod stream_encoder;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use holon_model::{ModelError, ModelReply, ModelRequest};
use serde_json::Value;

use crate::client_wire::ClientWire;
pub(crate) use stream_encoder::ReplyStreamEncoder;

/// What a client asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ClientRequest {
    /// The request, the same for every wire.
    pub(crate) request: ModelRequest,
    /// Whether the answer is to come piece by piece.
    pub(crate) stream: bool,
    /// Names of tools whose input is plain text, which is told in a form of its own.
    pub(crate) custom: HashSet<String>,
    /// Tools that the client keeps in groups.
    pub(crate) spaces: ToolSpaces,
}

/// The group and the name there of each tool that is in one, by the name the model knows it by.
pub(crate) type ToolSpaces = HashMap<String, (String, String)>;

/// Reads the body of a request; the error is fit for the client.
pub(crate) fn read(wire: ClientWire, body: &Value) -> Result<ClientRequest, String> {
    match wire {
        ClientWire::Chat => chat::read(body),
        ClientWire::Responses => responses::read(body),
        ClientWire::Messages => messages::read(body),
        ClientWire::Gemini => gemini::read(body),
    }
}

/// What a reply is told with.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyLabels {
    /// The number of the exchange, from which ids are made.
    pub(crate) number: u64,
    /// The model's name.
    pub(crate) model: String,
    /// Names of tools whose input is plain text.
    pub(crate) custom: HashSet<String>,
    /// Tools that the client keeps in groups.
    pub(crate) spaces: ToolSpaces,
}

/// Tells a reply piece by piece.
pub(crate) fn reply_encoder(wire: ClientWire, labels: ReplyLabels) -> ReplyStreamEncoder {
    ReplyStreamEncoder::new(frames(wire, labels))
}

/// Ends a stream that somebody else began and that broke.
pub(crate) fn failure(wire: ClientWire, labels: ReplyLabels, error: &ModelError) -> String {
    // Whatever came before may have stopped in the middle of a line.
    let mut out = "\n\n".to_owned();
    frames(wire, labels).fail(error, &mut out);
    out
}

fn frames(wire: ClientWire, labels: ReplyLabels) -> Box<dyn stream_encoder::WireFrames> {
    match wire {
        ClientWire::Chat => Box::new(chat::ChatFrames::new(labels)),
        ClientWire::Responses => Box::new(responses::ResponsesFrames::new(labels)),
        ClientWire::Messages => Box::new(messages::MessagesFrames::new(labels)),
        ClientWire::Gemini => Box::new(gemini::GeminiFrames::new(labels)),
    }
}

/// Tells a reply at once.
pub(crate) fn whole(wire: ClientWire, labels: &ReplyLabels, reply: &ModelReply) -> Value {
    match wire {
        ClientWire::Chat => chat::whole(labels, reply),
        ClientWire::Responses => responses::whole(labels, reply),
        ClientWire::Messages => messages::whole(labels, reply),
        ClientWire::Gemini => gemini::whole(labels, reply),
    }
}
