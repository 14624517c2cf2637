//! What can go wrong with the store.

use std::io;
use std::path::PathBuf;

/// An error of the store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// What was to be written contradicts what is there: an id twice, a turn of a thread that is gone.
    #[error("this contradicts what is stored: {0}")]
    Conflict(String),
    /// The database or its folder could not be used.
    #[error("cannot {doing} {}: {why}", path.display())]
    Io {
        /// `open`, `read`, `write` …
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// The system's answer.
        why: String,
    },
    /// The database answered with an error.
    #[error("the database failed: {0}")]
    Database(String),
    /// It was made by a newer release.
    #[error("the database is of version {found}, and this release knows versions up to {known}")]
    Newer {
        /// Its version.
        found: i64,
        /// The newest one known.
        known: i64,
    },
    /// A stored value cannot be read.
    #[error("a stored {what} cannot be read: {why}")]
    Damaged {
        /// What it is.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |e| Self::Io { doing, path, why: e.to_string() }
    }

    /// Whether the caller's own doing is the reason.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }
}
