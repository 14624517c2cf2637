//! Why a deed could not be done.

use serde::{Deserialize, Serialize};

/// A deed that was not done, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ExecutorError {
    /// What kind of trouble it is.
    pub trouble: ExecutorErrorKind,
    /// What happened, with the path and the remedy.
    pub message: String,
}

/// Kinds of trouble that callers tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorErrorKind {
    /// There is no such file, folder or job.
    NotFound,
    /// It is a folder where a file is needed, or the reverse, or no plain file at all.
    WrongKind,
    /// The place cannot be written to: a read-only mode, or a path outside the scope.
    ReadOnly,
    /// The system refuses access.
    Denied,
    /// Larger than what was allowed.
    TooLarge,
    /// The file is not as expected: it changed since it was read, or exists already.
    Changed,
    /// The pattern, path or argument makes no sense.
    Invalid,
    /// No space or no processes left.
    Exhausted,
    /// The hands themselves are gone; nothing more can be done in this run.
    Gone,
    /// Anything else the system reported.
    Other,
}

impl ExecutorError {
    /// A trouble with its words.
    pub fn new(trouble: ExecutorErrorKind, message: impl Into<String>) -> Self {
        Self { trouble, message: message.into() }
    }
}
