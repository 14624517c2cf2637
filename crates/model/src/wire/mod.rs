//! The three wire formats, as pure encoders and decoders.
//!
//! An encoder turns a [`ModelRequest`] into a JSON body. A decoder is fed with the events of a stream and gives pieces as they
//! come and the whole [`ModelReply`] at the end. A stream that ends before its terminal event is a failure.

mod assembly;
mod chat;
mod json;
mod messages;
mod responses;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ModelError;
use crate::reply::{ModelReply, ReplyDelta};
use crate::request::ModelRequest;
use crate::sse::SseEvent;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireFormat {
    /// OpenAI chat completions, which most servers speak.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

/// What a server of a wire expects in the places where they differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireDialect {
    /// OpenRouter: usage always comes, providers must not drop parameters.
    #[serde(rename = "openrouter")]
    OpenRouter,
    /// OpenAI itself.
    #[serde(rename = "openai")]
    OpenAi,
    /// The common ground of all others.
    #[default]
    Compatible,
}

/// Reads the events of one stream.
pub trait StreamDecoder: Send {
    /// Takes an event and gives what it adds; after a failure nothing is added any more.
    fn push(&mut self, event: &SseEvent) -> Vec<ReplyDelta>;

    /// True when nothing that matters can follow, so that the connection need not be read to its end.
    fn is_over(&self) -> bool;

    /// The whole answer, or why there is none.
    fn finish(self: Box<Self>) -> Result<ModelReply, ModelError>;
}

impl WireFormat {
    /// The path of the endpoint below a base URL that ends in its version, such as `/v1`.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }

    /// The body of a streaming request.
    pub fn encode(self, request: &ModelRequest, dialect: WireDialect) -> Value {
        match self {
            Self::Chat => chat::encode(request, dialect),
            Self::Responses => responses::encode(request),
            Self::Messages => messages::encode(request),
        }
    }

    /// A decoder for one stream.
    pub fn decoder(self) -> Box<dyn StreamDecoder> {
        match self {
            Self::Chat => Box::<chat::ChatDecoder>::default(),
            Self::Responses => Box::<responses::ResponsesDecoder>::default(),
            Self::Messages => Box::<messages::MessagesDecoder>::default(),
        }
    }

    /// The reply in a body that was sent whole, as by servers that do not stream.
    pub fn decode_whole(self, body: &[u8]) -> Result<ModelReply, ModelError> {
        let json: Value = serde_json::from_slice(body)
            .map_err(|_| ModelError::malformed("expected JSON", &String::from_utf8_lossy(body)))?;
        match self {
            Self::Chat => chat::whole(&json),
            Self::Responses => responses::whole(&json),
            Self::Messages => messages::whole(&json),
        }
    }
}
