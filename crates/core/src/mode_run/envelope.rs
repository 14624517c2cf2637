//! What goes into a mode.

use serde::{Deserialize, Serialize};

use crate::ids::{RequestId, TaskId};
use crate::manifest::ContextFile;

use super::Permissions;

/// Everything a mode is started with. Permissions are computed by the dispatcher; whoever asks cannot name any.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModeEnvelope {
    /// Canonical name of the mode.
    pub mode: String,
    /// This request, a UUID.
    pub request_id: RequestId,
    /// The piece of work it belongs to, across retries and children.
    pub task_id: TaskId,
    /// What is wanted.
    pub goal: String,
    /// What it gets to work with.
    pub context: ModeInputs,
    /// What it may do.
    pub permissions: Permissions,
}

/// What a mode gets to work with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeInputs {
    /// The folder its snapshot is taken of.
    pub snapshot: String,
    /// What it must keep to, such as checks that have to succeed.
    pub constraints: Vec<String>,
    /// Artifacts of work that was done before.
    pub artifacts: Vec<ContextFile>,
}
