//! OpenAI Responses.

mod read;
mod tell;

pub(super) use read::read;
pub(super) use tell::{Form, whole};
