//! What can go wrong while files are brought into a workspace.

use std::io;
use std::path::{Path, PathBuf};

/// Why an apply gave no outcome. Whenever one is returned the files are as they were, or the text names where they are.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason given by the system.
        source: io::Error,
    },
    /// A path of the change leads outside the workspace, or into a repository's own folder.
    #[error("{} cannot be changed by an apply: it leads outside the workspace or into .git", path.display())]
    Forbidden {
        /// The path.
        path: PathBuf,
    },
    /// What a path shall become was not kept.
    #[error("the new content of {} was not kept with the run", path.display())]
    NoContent {
        /// The path.
        path: PathBuf,
    },
    /// Every path is changed, and not everything that was replaced is in the store yet.
    #[error(
        "every file is changed, but what they were before could not all be kept: {why}; make room, then the next command of holon finishes it"
    )]
    Unfinished {
        /// The reason.
        why: String,
    },
    /// A journal cannot be read.
    #[error("the record of an apply at {} cannot be read: {why}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Git could not be asked.
    #[error(transparent)]
    Git(#[from] holon_git::GitError),
}

impl ApplyError {
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Io { action, path, source }
    }
}
