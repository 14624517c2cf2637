//! What can go wrong around a flow; what goes wrong inside a step is in that step's manifest.

use std::path::PathBuf;

use holon_host::HostError;

use crate::file_error::FlowFileError;

/// Why a flow could not be started or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A definition is wrong.
    #[error("{file}: {message}")]
    Definition {
        /// The file.
        file: String,
        /// What is wrong with it, and where.
        message: String,
    },
    /// Somebody's flow file is wrong.
    #[error(transparent)]
    File(Box<FlowFileError>),
    /// The flow cannot be gone on with.
    #[error("{message}")]
    Resume {
        /// What stands in the way.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The state of a flow cannot be understood.
    #[error("{} is not the state of a flow: {message}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A file of a finished step is not what it was when the step finished.
    #[error("{path} is not what it was when the step was finished: somebody changed it")]
    Changed {
        /// The file, as `step/file`.
        path: String,
    },
    /// A task failed too often, and is left alone for a while.
    #[error("task {task} failed {failures} times in a row, so it is not tried again before {again}")]
    Breaker {
        /// The task.
        task: String,
        /// How often it failed.
        failures: u32,
        /// When it may be tried again.
        again: String,
    },
    /// Work may not start the work it asks for.
    #[error("{message}")]
    Refused {
        /// What stands against it.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The audit log cannot be gone on with.
    #[error("the audit log {}: {message}", path.display())]
    Audit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The host could not do something.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl From<FlowFileError> for FlowError {
    fn from(error: FlowFileError) -> Self {
        Self::File(Box::new(error))
    }
}

impl FlowError {
    /// A flow that cannot be resumed.
    pub fn resume(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Resume { message: message.into(), hint: hint.into() }
    }

    /// Work that may not be started.
    pub fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), hint: hint.into() }
    }

    /// Whether the caller asked for something impossible, as opposed to something failing on the way.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Resume { .. } | Self::File(_) => true,
            Self::Host(e) => e.is_usage(),
            Self::Definition { .. }
            | Self::State { .. }
            | Self::Changed { .. }
            | Self::Breaker { .. }
            | Self::Refused { .. }
            | Self::Audit { .. } => false,
        }
    }

    /// A stable short word for manifests.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Definition { .. } | Self::File(_) => "flow",
            Self::Resume { .. } => "resume",
            Self::State { .. } => "state",
            Self::Changed { .. } => "changed",
            Self::Breaker { .. } => "breaker_open",
            Self::Refused { .. } => "refused",
            Self::Audit { .. } => "audit",
            Self::Host(e) => e.kind(),
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Definition { .. } => None,
            Self::File(error) => Some(error.remedy.clone()),
            Self::Resume { hint, .. } => Some(hint.clone()),
            Self::State { .. } => Some("start the flow anew".into()),
            Self::Changed { .. } => Some("put it back as it was, or start the flow anew".into()),
            Self::Breaker { again, .. } => {
                Some(format!("look at why it failed (`holon runs show`), and try again after {again}"))
            }
            Self::Refused { hint, .. } => Some(hint.clone()),
            Self::Audit { .. } => Some("`holon audit verify` says what is wrong with it, and where".into()),
            Self::Host(e) => e.hint(),
        }
    }
}
