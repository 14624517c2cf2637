//! OpenAI chat completions and its many dialects.

mod decode;
mod encode;
mod thinking;

pub(super) use decode::{ChatDecoder, whole};
pub(super) use encode::encode;
