//! What can go wrong when git is asked for something.

use std::io;
use std::path::PathBuf;

use crate::GitVersion;

/// Why a git operation did not give a result.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// No `git` in any absolute directory of PATH.
    #[error("git is not installed: no `git` found on PATH (install it, for example with `apt install git`)")]
    NotInstalled,
    /// The git found lacks options that keep a run hermetic.
    #[error("{} is git {found}, but {} or newer is needed", path.display(), GitVersion::OLDEST)]
    TooOld {
        /// The binary that was asked.
        path: PathBuf,
        /// Its version.
        found: GitVersion,
    },
    /// The answer to `git --version` could not be understood.
    #[error("{} does not answer like git: `{answer}`", path.display())]
    NotGit {
        /// The binary that was asked.
        path: PathBuf,
        /// The beginning of what it said.
        answer: String,
    },
    /// The process could not be started or talked to.
    #[error("cannot run `{command}`: {source}")]
    Run {
        /// The command, without the hermetic options.
        command: String,
        /// The reason given by the system.
        source: io::Error,
    },
    /// Git ran and refused.
    #[error("`{command}` failed ({}): {stderr}", exit_text(*exit))]
    Failed {
        /// The command, without the hermetic options.
        command: String,
        /// Exit code; `None` when a signal ended it.
        exit: Option<i32>,
        /// The last lines it wrote to stderr.
        stderr: String,
    },
    /// Git did not finish in time and was killed.
    #[error("`{command}` did not finish within {seconds} s and was stopped")]
    TimedOut {
        /// The command, without the hermetic options.
        command: String,
        /// The limit.
        seconds: u64,
    },
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
    /// The data to import was not what its description promised.
    #[error("cannot hand {} to git: {source}", path.display())]
    Import {
        /// The entry being written.
        path: PathBuf,
        /// What went wrong with it.
        source: io::Error,
    },
}

fn exit_text(exit: Option<i32>) -> String {
    exit.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit {code}"))
}

impl GitError {
    /// Whether there was no space left on the disk.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Io { source, .. } | Self::Run { source, .. } | Self::Import { source, .. } => {
                source.kind() == io::ErrorKind::StorageFull
            }
            Self::Failed { stderr, .. } => stderr.contains("No space left on device"),
            _ => false,
        }
    }

    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
