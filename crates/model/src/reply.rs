//! What a model answers, whole and piece by piece.

use serde::{Deserialize, Serialize};

use crate::message::{MessagePart, ModelMessage, Role, ToolCall};
use crate::usage::TokenUsage;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The provider's id of it, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The model that answered, which a router may have chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What was said, in order; never a tool result.
    pub parts: Vec<MessagePart>,
    /// Why it ended.
    pub stop: ReplyStop,
    /// Tokens, when the provider told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyStop {
    /// The model was done.
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// The limit of the answer was reached.
    MaxTokens,
    /// The context window was full.
    ContextFull,
    /// A stop sequence came up.
    StopSequence,
    /// A long turn was paused; sending the reply back goes on with it.
    Pause,
    /// The model or its provider declined.
    Refusal,
}

impl ReplyStop {
    /// The word for it in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::ContextFull => "context_full",
            Self::StopSequence => "stop_sequence",
            Self::Pause => "pause",
            Self::Refusal => "refusal",
        }
    }
}

/// A piece of an answer as it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyDelta {
    /// Words.
    Text(String),
    /// Thoughts.
    Reasoning(String),
    /// A call begins; its name is known.
    CallStarted {
        /// Its place among the calls of this reply.
        index: usize,
        /// The tool.
        name: String,
    },
    /// A piece of a call's arguments.
    CallArguments {
        /// Which call.
        index: usize,
        /// The piece.
        text: String,
    },
    /// Everything before is void: the request is sent again. Comes after thoughts, and after words or calls only to
    /// callers that asked for it.
    Restart,
}

impl ModelReply {
    /// The reply as a message for the next request.
    pub fn message(&self) -> ModelMessage {
        ModelMessage { role: Role::Assistant, parts: self.parts.clone() }
    }

    /// The calls it asks for.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Call(call) => Some(call),
            _ => None,
        })
    }

    /// All words, without thoughts.
    pub fn text(&self) -> String {
        self.message().text()
    }

    /// The whole reply as pieces, for receivers of one that did not come in any.
    pub fn deltas(&self) -> Vec<ReplyDelta> {
        let mut out = Vec::new();
        let mut index = 0;
        for part in &self.parts {
            match part {
                MessagePart::Text(text) => out.push(ReplyDelta::Text(text.clone())),
                MessagePart::Reasoning(reasoning) if reasoning.text.is_empty() => {}
                MessagePart::Reasoning(reasoning) => out.push(ReplyDelta::Reasoning(reasoning.text.clone())),
                MessagePart::Call(call) => {
                    out.push(ReplyDelta::CallStarted { index, name: call.name.clone() });
                    out.push(ReplyDelta::CallArguments { index, text: call.arguments.clone() });
                    index += 1;
                }
                MessagePart::Result(_) => {}
            }
        }
        out
    }
}
