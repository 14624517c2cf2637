//! Whether a model calls tools natively or in words.

use serde::{Deserialize, Serialize};

use crate::ability::{ModelAbilities, ServerKind};
use crate::catalogue::{ModelRow, ModelRowTable};
use crate::endpoint::Endpoint;
use crate::wire::WireFormat;

/// How tools shall be called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolMode {
    /// As the model can.
    #[default]
    Auto,
    /// Natively, whatever is known about the model.
    Native,
    /// In words, which every model can.
    Text,
}

/// How a model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCalls {
    /// Natively.
    Native,
    /// In words, by [`crate::TextTools`].
    Text {
        /// Whether the server holds the answer to a schema.
        constrain: bool,
    },
}

/// For a provider that lists what its models can.
pub(super) fn in_cloud(mode: ToolMode, row: Option<&ModelRow>) -> ToolCalls {
    let native = match mode {
        ToolMode::Auto => row.and_then(|row| row.tools) != Some(false),
        ToolMode::Native => true,
        ToolMode::Text => false,
    };
    if native { ToolCalls::Native } else { ToolCalls::Text { constrain: false } }
}

/// For a server that somebody runs: what was tried counts, then what it says itself, then the model's name. With the
/// reason in words.
pub(super) fn at_server(
    mode: ToolMode,
    server: &Endpoint,
    model: &str,
    known: &ModelAbilities,
) -> (ToolCalls, &'static str) {
    // A schema keeps a small model on the rails, and keeps a thinking one from thinking.
    let constrain = known.told.thinks != Some(true) && known.schema() != Some(false);
    let text = ToolCalls::Text { constrain };
    let tried = known.tested.as_ref().and_then(|tested| tested.tools);
    let vllm = known.told.kind == Some(ServerKind::Vllm) || server.name == "vllm";
    match (mode, tried, known.told.tools) {
        (ToolMode::Native, ..) => (ToolCalls::Native, "tools are called natively, as asked"),
        (ToolMode::Text, ..) => (text, "tools are called in words, as asked"),
        (ToolMode::Auto, Some(true), _) => (ToolCalls::Native, "it was tried, and calls tools"),
        (ToolMode::Auto, Some(false), _) => {
            (text, "it was tried, and calls no tools, so they are called in words")
        }
        (ToolMode::Auto, None, Some(true)) => (ToolCalls::Native, "the server says that it calls tools"),
        (ToolMode::Auto, None, Some(false)) => {
            (text, "the server says that it calls no tools, so they are called in words")
        }
        // Native calls are switched on by flags of the server, and there is no way to ask for them.
        (ToolMode::Auto, None, None) if server.wire == WireFormat::Chat && vllm => {
            (text, "tools are called in words (HOLON_TOOLS=native, if vLLM was started with a tool parser)")
        }
        (ToolMode::Auto, None, None) => match ModelRowTable::builtin().local.calls_tools(model) {
            Some(true) => (ToolCalls::Native, "models of this name call tools"),
            Some(false) => (text, "models of this name call no tools, so they are called in words"),
            None if server.wire != WireFormat::Chat => {
                (ToolCalls::Native, "whoever speaks this wire calls tools")
            }
            None => (
                text,
                "nothing is known about its tool calls, so they are made in words (HOLON_TOOLS=native if it can)",
            ),
        },
    }
}
