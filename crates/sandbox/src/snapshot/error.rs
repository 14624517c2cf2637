//! Why a snapshot could not be taken.

use std::io;
use std::path::PathBuf;

/// What went wrong, and with what.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The workspace is not there, is no directory, or may not be read.
    #[error("cannot read the workspace {}: {source}", path.display())]
    Unreadable {
        /// The workspace.
        path: PathBuf,
        /// The reason given by the system.
        source: io::Error,
    },
    /// The disk is full; what had been copied was deleted.
    #[error(
        "no space left for the snapshot at {} (free some space, or keep runs on a larger disk with XDG_STATE_HOME)",
        path.display()
    )]
    DiskFull {
        /// Where it was being written.
        path: PathBuf,
    },
    /// Overlay was asked for by name and this machine cannot do it.
    #[error(
        "this machine cannot mount an overlay here (`holon doctor` says why); use `--snapshot copy` or `auto`"
    )]
    NoOverlay,
    /// Something must be hidden and the file system refuses the marks an overlay needs for it.
    #[error("cannot hide {} from the agent: the file system of {} refuses whiteouts: {source}", what.display(), at.display())]
    Whiteout {
        /// What was to be hidden.
        what: PathBuf,
        /// Where the mark was to be made.
        at: PathBuf,
        /// The reason given by the system.
        source: io::Error,
    },
    /// The workspace has something else than a folder above what an environment brings.
    #[error("the environment brings {}, and above it the workspace has something that is no folder", path.display())]
    EnvironmentMisfit {
        /// What it brings.
        path: PathBuf,
    },
    /// A path that leaves the workspace or cannot name anything in it.
    #[error("`{}` is not a path inside the workspace: {why}", path.display())]
    BadPath {
        /// The path as given.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The write scope of the mode is not usable.
    #[error(transparent)]
    Scope(#[from] holon_core::scope::ScopeError),
    /// The repository could not be looked at.
    #[error(transparent)]
    Git(#[from] holon_git::GitError),
    /// Any other file that could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason given by the system.
        source: io::Error,
    },
    /// A stored snapshot that cannot be understood.
    #[error("{} is not a snapshot this version can read: {why}", path.display())]
    Stored {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl SnapshotError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::Io { action, path, source },
        }
    }

    pub(crate) fn unreadable(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Unreadable { path, source }
    }
}
