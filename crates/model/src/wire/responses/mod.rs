//! OpenAI Responses: typed events, no `[DONE]`.

mod decode;
mod encode;

pub(super) use decode::{ResponsesDecoder, whole};
pub(super) use encode::encode;
