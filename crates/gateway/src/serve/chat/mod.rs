//! Chat completions.

mod encode;
mod read;

pub(super) use encode::{ChatFrames, whole};
pub(super) use read::read;
