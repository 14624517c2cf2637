//! What clients speak to the door.

use holon_model::Wire;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A wire from the side of a client: one that providers are asked in too, or one that is always translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ClientWire")]
pub enum Tongue {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Google's `generateContent`; no provider is asked in it.
    Gemini,
}

impl Tongue {
    /// The wire of providers that speak the same, if there are any.
    pub fn wire(self) -> Option<Wire> {
        match self {
            Self::Chat => Some(Wire::Chat),
            Self::Responses => Some(Wire::Responses),
            Self::Messages => Some(Wire::Messages),
            Self::Gemini => None,
        }
    }
}

impl From<Wire> for Tongue {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Chat => Self::Chat,
            Wire::Responses => Self::Responses,
            Wire::Messages => Self::Messages,
        }
    }
}
