//! Whether a model calls tools natively or in words.

use serde::{Deserialize, Serialize};

use crate::catalogue::{ModelRow, Table};
use crate::detect::ollama::Shown;
use crate::endpoint::Endpoint;
use crate::wire::Wire;

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

/// For a server on this machine: what it says itself counts, then the model's name. With the reason in words.
pub(super) fn on_this_machine(
    mode: ToolMode,
    server: &Endpoint,
    model: &str,
    shown: Option<&Shown>,
) -> (ToolCalls, &'static str) {
    // A schema keeps a small model on the rails, and keeps a thinking one from thinking.
    let constrain = !shown.is_some_and(|shown| shown.thinks);
    let text = ToolCalls::Text { constrain };
    match (mode, shown) {
        (ToolMode::Native, _) => (ToolCalls::Native, "tools are called natively, as asked"),
        (ToolMode::Text, _) => (text, "tools are called in words, as asked"),
        (ToolMode::Auto, Some(shown)) if shown.tools => {
            (ToolCalls::Native, "the server says that it calls tools")
        }
        (ToolMode::Auto, Some(_)) => {
            (text, "the server says that it calls no tools, so they are called in words")
        }
        // Native calls are switched on by flags of the server, and there is no way to ask for them.
        (ToolMode::Auto, None) if server.wire == Wire::Chat && server.name == "vllm" => {
            (text, "tools are called in words (HOLON_TOOLS=native, if vLLM was started with a tool parser)")
        }
        (ToolMode::Auto, None) => match Table::builtin().local.calls_tools(model) {
            Some(true) => (ToolCalls::Native, "models of this name call tools"),
            Some(false) => (text, "models of this name call no tools, so they are called in words"),
            None if server.wire != Wire::Chat => (ToolCalls::Native, "whoever speaks this wire calls tools"),
            None => (
                text,
                "nothing is known about its tool calls, so they are made in words (HOLON_TOOLS=native if it can)",
            ),
        },
    }
}
