//! What can go wrong before or around a run, with the remedy.

use std::io;
use std::path::{Path, PathBuf};

use holon_core::mode::ModeError;
use holon_core::release::ReleaseDecision;
use holon_core::spec::SpecError;
use holon_model::{ModelError, ModelErrorKind};

/// An error of the host; a run that has begun turns it into its manifest instead of losing it.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The request itself is wrong; nothing was started.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A mode is unknown or a mode file is wrong.
    #[error(transparent)]
    Mode(#[from] ModeError),
    /// The spec is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A file could not be used.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// `read`, `write`, `create` …
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Git is missing or refused.
    #[error(transparent)]
    Git(#[from] holon_git::GitError),
    /// The snapshot could not be taken.
    #[error(transparent)]
    Snapshot(#[from] holon_sandbox::snapshot::SnapshotError),
    /// The patch could not be made or did not prove right.
    #[error(transparent)]
    Diff(#[from] holon_sandbox::diff::DiffError),
    /// A change could not be brought into the workspace.
    #[error(transparent)]
    Apply(#[from] holon_apply::ApplyError),
    /// No model can be asked.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The walls could not be built.
    #[error("{message}")]
    Walls {
        /// What was tried and refused.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The release gate lets nothing of it out.
    #[error("{}", .0.message())]
    Held(Box<ReleaseDecision>),
    /// No such run, or it is not in a state for what was asked.
    #[error("{message}")]
    Run {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
}

/// The remedy for a full disk.
const FULL: &str = "free some space (`holon runs gc` removes old runs) and run again; nothing was lost";

impl HostError {
    /// A request that cannot be carried out as it is.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: Some(hint.into()) }
    }

    /// A problem with a stored run.
    pub fn run(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Run { message: message.into(), hint: Some(hint.into()) }
    }

    /// For `map_err` around file operations.
    pub fn io<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }

    /// Whether the caller asked for something impossible, as opposed to something failing on the way.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage { .. } | Self::Mode(_) | Self::Spec(_))
    }

    /// A stable short word for manifests.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Usage { .. } => "usage",
            Self::Mode(_) => "mode",
            Self::Spec(_) => "spec",
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => "disk_full",
            Self::Snapshot(holon_sandbox::snapshot::SnapshotError::DiskFull { .. }) => "disk_full",
            Self::Git(git) if git.is_full() => "disk_full",
            Self::Io { .. } => "io",
            Self::Git(_) => "git",
            Self::Apply(_) => "apply",
            Self::Snapshot(_) => "snapshot",
            Self::Diff(_) => "patch",
            Self::Model(error) => match error.kind {
                ModelErrorKind::Auth | ModelErrorKind::Setup => "credentials",
                _ => "model",
            },
            Self::Walls { .. } => "sandbox",
            Self::Held(_) => "held",
            Self::Run { .. } => "run",
        }
    }

    /// Whether there are changes that no patch can hold: too much, or what git takes for dangerous.
    pub fn fits_no_patch(&self) -> bool {
        use holon_sandbox::diff::DiffError::{Refused, TooLarge, TooMany};
        matches!(self, Self::Diff(TooMany { .. } | TooLarge { .. } | Refused { .. }))
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Usage { hint, .. } | Self::Walls { hint, .. } | Self::Run { hint, .. } => hint.clone(),
            Self::Model(error) => crate::model::hint(error),
            Self::Held(decision) => Some(decision.hint("")),
            Self::Snapshot(holon_sandbox::snapshot::SnapshotError::EnvironmentMisfit { .. }) => {
                Some("`holon environment build --again` makes it anew; --fresh runs without it".into())
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => Some(FULL.into()),
            Self::Git(git) if git.is_full() => Some(FULL.into()),
            Self::Io { path, .. } if *path == std::env::temp_dir() => {
                Some("set TMPDIR to a folder that is there and can be written".into())
            }
            Self::Io { source, path, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some(format!("check the permissions of {}", path.display()))
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => Some(
                "it is on a file system that cannot be written; XDG_STATE_HOME chooses where runs are kept"
                    .into(),
            ),
            _ => None,
        }
    }
}
