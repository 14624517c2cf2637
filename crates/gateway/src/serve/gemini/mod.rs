//! Google's `generateContent`.

mod encode;
mod read;
mod schema;
#[cfg(test)]
mod tests;

pub(super) use encode::{GeminiFrames, whole};
pub(super) use read::read;
