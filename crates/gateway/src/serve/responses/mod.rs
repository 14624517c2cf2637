//! OpenAI Responses.

mod encode;
mod read;

pub(super) use encode::{ResponsesFrames, whole};
pub(super) use read::read;
