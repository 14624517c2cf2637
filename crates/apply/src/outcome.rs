//! What became of an apply.

use std::path::PathBuf;

/// How an apply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// The change is empty.
    NothingToDo,
    /// Every path already is as the change would make it.
    AlreadyThere,
    /// Every path was as recorded, and is now as the change says.
    Applied {
        /// What was changed.
        paths: Vec<PathBuf>,
        /// Where the replaced files are, when nobody can tell whether another program still writes to one of them.
        unwatched: Option<PathBuf>,
    },
    /// Some paths had changed since; the change was merged with what a person did there.
    Merged {
        /// What was changed.
        paths: Vec<PathBuf>,
        /// The paths where both sides met.
        merged: Vec<PathBuf>,
        /// Where the replaced files are, when nobody can tell whether another program still writes to one of them.
        unwatched: Option<PathBuf>,
    },
    /// Nothing was changed, because of these.
    Refused {
        /// All of them, not only the first.
        conflicts: Vec<ApplyConflict>,
    },
}

/// Why a path stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyConflict {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// The reason.
    pub why: ConflictReason,
    /// What the system said about it, if it said something.
    pub detail: String,
    /// Where the version that could not be put there is kept, if it is.
    pub kept: Option<PathBuf>,
}

impl ApplyConflict {
    pub(crate) fn new(path: impl Into<PathBuf>, why: ConflictReason) -> Self {
        Self { path: path.into(), why, detail: String::new(), kept: None }
    }
}

/// The reasons for a [`ApplyConflict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictReason {
    /// It changed since, and what it was made from was not kept, so nothing can be merged.
    NoBase,
    /// Both sides changed the same lines.
    Overlap,
    /// It changed since, and it is not text that could be merged.
    NotText,
    /// A person made a file there, and the change makes another one.
    BothAdded,
    /// A person changed it, and the change removes it.
    ChangedHere,
    /// A person removed it, and the change goes on with it.
    RemovedHere,
    /// A folder stands where a file shall be, or the other way round.
    InTheWay,
    /// It is being written by another program.
    InUse,
    /// Somebody changed it while it was to be put back, so it stays as they have it.
    NotPutBack,
    /// Somebody moved or removed it, or its folder, while it was to be put back. What was there before stands there again;
    /// if it could not be, it waits in the moved folder under the name that is the detail.
    MovedAway,
    /// It is outside what a sparse checkout shows.
    Sparse,
    /// It could not be written.
    Unwritten,
}
