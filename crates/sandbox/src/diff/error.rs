//! Why the changes of a run could not be told.

use std::io;
use std::path::PathBuf;

/// What went wrong, and with what.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// More entries changed than a patch may hold.
    #[error("the run changed more than {limit} files; exclude generated ones with .gitignore")]
    TooMany {
        /// The limit that was passed.
        limit: u64,
    },
    /// More bytes changed than a patch may hold.
    #[error("the run changed more than {limit} bytes of files ({} is the one too many); exclude generated ones with .gitignore", path.display())]
    TooLarge {
        /// The limit that was passed.
        limit: u64,
        /// The file that passed it.
        path: PathBuf,
    },
    /// Git refuses the patch, for example because of a name it takes for dangerous.
    #[error("the changes cannot be delivered as a patch, git refuses it: {why}")]
    Refused {
        /// What git said.
        why: String,
    },
    /// The patch does not lead to the result.
    #[error("the patch does not reproduce {}: {why}", path.display())]
    NotReproduced {
        /// The first path that differs.
        path: PathBuf,
        /// In what way.
        why: &'static str,
    },
    /// Somebody saved one file after the other while they were read.
    #[error(
        "files of the workspace changed whenever they were read; run again when other programs leave them alone"
    )]
    Unsettled,
    /// Git itself failed.
    #[error(transparent)]
    Git(#[from] holon_git::GitError),
    /// The mode's scope is not usable.
    #[error(transparent)]
    Scope(#[from] holon_core::scope::ScopeError),
    /// A file that could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason given by the system.
        source: io::Error,
    },
}

impl DiffError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
