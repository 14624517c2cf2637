//! How full the model's window is, estimated from bytes and corrected by what providers count.

use holon_model::{MessagePart, ModelMessage, ToolSpec};
use serde::{Deserialize, Serialize};

/// Bytes of a conversation per thousand tokens; learned from usage, so that estimates fit model and language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenEstimator {
    /// Bytes per thousand tokens.
    pub bytes_per_1000: u64,
}

impl Default for TokenEstimator {
    fn default() -> Self {
        Self { bytes_per_1000: 4_000 }
    }
}

impl TokenEstimator {
    /// The tokens that so many bytes make.
    pub fn tokens(self, bytes: u64) -> u64 {
        bytes.saturating_mul(1_000) / self.bytes_per_1000.max(1)
    }

    /// The bytes that make so many tokens.
    pub fn bytes(self, tokens: u64) -> u64 {
        u64::try_from(u128::from(tokens) * u128::from(self.bytes_per_1000) / 1_000).unwrap_or(u64::MAX)
    }

    /// Learns from a request whose tokens were counted; absurd counts are not believed.
    pub(crate) fn learn(&mut self, bytes: u64, tokens: u64) {
        if tokens > 0 && bytes >= 1_000 {
            self.bytes_per_1000 = (bytes.saturating_mul(1_000) / tokens).clamp(1_500, 8_000);
        }
    }
}

/// The bytes of a request that count: everything the model reads.
pub(crate) fn request_bytes(system: &str, tools: &[ToolSpec], messages: &[ModelMessage]) -> u64 {
    let tools =
        tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len());
    count(system.len() + tools.sum::<usize>()) + messages_bytes(messages)
}

/// The bytes of messages that count.
pub(crate) fn messages_bytes(messages: &[ModelMessage]) -> u64 {
    messages.iter().map(message_bytes).sum()
}

/// The bytes of one message that count; a little is added for what is around each part.
pub(crate) fn message_bytes(message: &ModelMessage) -> u64 {
    message.parts.iter().map(|part| count(part_bytes(part) + 16)).sum()
}

fn part_bytes(part: &MessagePart) -> usize {
    match part {
        MessagePart::Text(text) => text.len(),
        MessagePart::Reasoning(thought) => {
            thought.text.len() + thought.seal.as_ref().map_or(0, |seal| seal.value.to_string().len())
        }
        MessagePart::Call(call) => call.name.len() + call.arguments.len(),
        MessagePart::Result(result) => result.text.len(),
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_follow_what_is_counted() {
        let mut gauge = TokenEstimator::default();
        assert_eq!((gauge.tokens(8_000), gauge.bytes(2_000)), (2_000, 8_000));
        gauge.learn(30_000, 10_000);
        assert_eq!((gauge.tokens(30_000), gauge.bytes(10_000)), (10_000, 30_000));
        gauge.learn(30_000, 1);
        assert_eq!(gauge.bytes_per_1000, 8_000);
        gauge.learn(30_000, 0);
        gauge.learn(10, 10);
        assert_eq!(gauge.bytes_per_1000, 8_000);
        assert_eq!(gauge.bytes(u64::MAX), u64::MAX);
    }
}
