//! Anthropic Messages: blocks that open, grow and close.

mod decode;
mod encode;

pub(super) use decode::{MessagesDecoder, whole};
pub(super) use encode::encode;
