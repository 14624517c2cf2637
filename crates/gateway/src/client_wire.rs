//! What clients speak to the door.

use holon_model::WireFormat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A wire from the side of a client: one that providers are asked in too, or one that is always translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ClientWire")]
pub enum ClientWire {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Google's `generateContent`; no provider is asked in it.
    Gemini,
}

impl ClientWire {
    /// The wire of providers that speak the same, if there are any.
    pub fn wire(self) -> Option<WireFormat> {
        match self {
            Self::Chat => Some(WireFormat::Chat),
            Self::Responses => Some(WireFormat::Responses),
            Self::Messages => Some(WireFormat::Messages),
            Self::Gemini => None,
        }
    }
}

impl From<WireFormat> for ClientWire {
    fn from(wire: WireFormat) -> Self {
        match wire {
            WireFormat::Chat => Self::Chat,
            WireFormat::Responses => Self::Responses,
            WireFormat::Messages => Self::Messages,
        }
    }
}
