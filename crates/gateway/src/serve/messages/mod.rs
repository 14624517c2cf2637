//! Anthropic Messages.

mod encode;
mod read;

pub(super) use encode::{MessagesFrames, whole};
pub(super) use read::read;
