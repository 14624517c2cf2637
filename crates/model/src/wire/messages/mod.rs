//! Anthropic Messages: blocks that open, grow and close.

mod decode;
mod encode;

pub(super) use decode::{Decoder, whole};
pub(super) use encode::encode;
