//! What is asked of a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::ModelMessage;

/// One request, the same for every wire.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRequest {
    /// The model's id, as its provider spells it.
    pub model: String,
    /// The system prompt; empty for none.
    pub system: String,
    /// The conversation so far; the last message is the user's.
    pub messages: Vec<ModelMessage>,
    /// The tools the model may call.
    pub tools: Vec<ToolSpec>,
    /// Whether it may, must or must not call one.
    pub choice: ToolChoice,
    /// The most tokens of the answer, thoughts included.
    pub max_output: Option<u32>,
    /// Randomness; the provider's default when absent.
    pub temperature: Option<f64>,
    /// How hard to think; the provider's default when absent.
    pub effort: Option<Effort>,
    /// A schema the answer's text must follow.
    pub format: Option<ReplyFormat>,
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub schema: Value,
}

/// Whether tools are called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No call.
    None,
    /// At least one call.
    Required,
    /// This tool.
    Named(String),
}

/// How hard a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl Effort {
    /// The word that all OpenAI-like wires use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// The tokens of thought it stands for, where a wire wants a number.
    pub fn tokens(self) -> u32 {
        match self {
            Self::Low => 2_048,
            Self::Medium => 8_192,
            Self::High => 24_576,
        }
    }
}

/// A schema the answer must follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyFormat {
    /// A short name: letters, digits, `_` and `-`.
    pub name: String,
    /// JSON Schema of the answer.
    pub schema: Value,
}

impl ToolSpec {
    /// A tool with a schema for its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> Self {
        Self { name: name.into(), description: description.into(), schema }
    }
}

impl ModelRequest {
    /// A request to a model with one message of the user.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self { model: model.into(), messages: vec![ModelMessage::user(text)], ..Self::default() }
    }
}
