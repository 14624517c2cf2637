//! Looking for files and for lines in them, with ripgrep's own libraries.

pub(crate) mod excerpt;
pub(crate) mod grep;
pub(crate) mod list;
mod rules;
pub(crate) mod walk;
