//! Bringing a change into a person's files, without ever losing a line they saved.
//!
//! A [`ChangeSet`] says for each path what was there when the change was made (its base) and what shall be there (its
//! result). [`apply`] compares that with what is there now, merges three ways where a person went on working, and
//! refuses where both changed the same lines. What is left is a list of file swaps, each with the content it expects
//! to replace. They are written to a journal, which reaches the disk before the first swap; then each new file is
//! exchanged with the old one in one step, and the one that came out is compared with what was expected. An edit saved
//! a moment before is therefore noticed, and everything goes back and is planned anew.
//!
//! What came out is kept, so that [`undo_of`] can bring it back, and so that a process that died in the middle can be
//! tidied up after by the next one ([`recover`]).

mod apply;
mod change;
mod contents;
mod error;
mod journal;
mod merge;
mod new_file;
mod outcome;
mod parts;
mod plan;
mod recover;
mod slot;
mod transaction;
mod tree;
mod undo;

pub use apply::{ApplyRequest, apply};
pub use change::{ChangeEntry, ChangeSet};
pub use contents::{ContentFile, ContentWriter};
pub use error::ApplyError;
pub use journal::{ApplyPurpose, ApplyStore};
pub use outcome::{ApplyConflict, ApplyOutcome, ConflictReason};
pub use recover::{RecoveredApply, Recovery, recover};
pub use undo::{UndoableApply, undo_of};
