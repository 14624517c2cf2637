//! How models ask for changes of text, understood with patience and checked before anything is written.
//!
//! Everything here is a pure function of texts: [`replace`] exchanges one passage for another, [`patch`] reads and plans
//! whole patches, [`format_for`] says which of them a model is good at.

mod anchors;
mod escapes;
mod file_diff;
mod format;
mod indent;
mod lines;
mod mismatch;
mod nearest;
pub mod patch;
mod replace;
mod rewrite;
mod seek;
mod similarity;
mod tolerance;
mod typography;

#[cfg(test)]
mod tests;

pub(crate) use file_diff::file_diff;
pub use format::{EditFormat, format_for};
pub use mismatch::{Mismatch, NearestPassage, PassageDifference, PassageNotFound};
pub use replace::{EditedLineRange, ReplacedText, replace};
pub use tolerance::Tolerance;
