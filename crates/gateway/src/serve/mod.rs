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
mod teller;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use holon_model::{ModelError, Reply, Request};
use serde_json::Value;

use crate::tongue::Tongue;
pub(crate) use teller::Teller;

/// What a client asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Asked {
    /// The request, the same for every wire.
    pub(crate) request: Request,
    /// Whether the answer is to come piece by piece.
    pub(crate) stream: bool,
    /// Names of tools whose input is plain text, which is told in a form of its own.
    pub(crate) custom: HashSet<String>,
    /// Tools that the client keeps in groups.
    pub(crate) spaces: Spaces,
}

/// The group and the name there of each tool that is in one, by the name the model knows it by.
pub(crate) type Spaces = HashMap<String, (String, String)>;

/// Reads the body of a request; the error is fit for the client.
pub(crate) fn read(wire: Tongue, body: &Value) -> Result<Asked, String> {
    match wire {
        Tongue::Chat => chat::read(body),
        Tongue::Responses => responses::read(body),
        Tongue::Messages => messages::read(body),
        Tongue::Gemini => gemini::read(body),
    }
}

/// What a reply is told with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Labels {
    /// The number of the exchange, from which ids are made.
    pub(crate) number: u64,
    /// The model's name.
    pub(crate) model: String,
    /// Names of tools whose input is plain text.
    pub(crate) custom: HashSet<String>,
    /// Tools that the client keeps in groups.
    pub(crate) spaces: Spaces,
}

/// Tells a reply piece by piece.
pub(crate) fn teller(wire: Tongue, labels: Labels) -> Teller {
    Teller::new(frames(wire, labels))
}

/// Ends a stream that somebody else began and that broke.
pub(crate) fn failure(wire: Tongue, labels: Labels, error: &ModelError) -> String {
    // Whatever came before may have stopped in the middle of a line.
    let mut out = "\n\n".to_owned();
    frames(wire, labels).fail(error, &mut out);
    out
}

fn frames(wire: Tongue, labels: Labels) -> Box<dyn teller::Frames> {
    match wire {
        Tongue::Chat => Box::new(chat::Form::new(labels)),
        Tongue::Responses => Box::new(responses::Form::new(labels)),
        Tongue::Messages => Box::new(messages::Form::new(labels)),
        Tongue::Gemini => Box::new(gemini::Form::new(labels)),
    }
}

/// Tells a reply at once.
pub(crate) fn whole(wire: Tongue, labels: &Labels, reply: &Reply) -> Value {
    match wire {
        Tongue::Chat => chat::whole(labels, reply),
        Tongue::Responses => responses::whole(labels, reply),
        Tongue::Messages => messages::whole(labels, reply),
        Tongue::Gemini => gemini::whole(labels, reply),
    }
}
