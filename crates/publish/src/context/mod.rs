//! Context the other way: an issue or pull request as files for a run to read.
//!
//! Everything in them was written by someone else. Each text stands between marks it cannot contain, says who wrote it, and
//! holds only what a person sees on the page: comments of HTML and invisible characters are taken out, because the person
//! who asked for the run has not read those either.

mod checks;
mod files;
mod gather;
mod threads;
mod untrusted;

pub use files::{ContextIndex, ContextIndexEntry, write};
pub use gather::{CollectedFile, ContextBounds, collect};
