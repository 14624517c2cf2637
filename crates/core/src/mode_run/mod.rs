//! Work in a mode as the dispatcher sees it: what goes in, what comes out, and what a mode may do meanwhile.

mod envelope;
mod permissions;
mod result;

pub use envelope::{ModeEnvelope, ModeInputs};
pub use permissions::{MAX_CHILDREN, MAX_DEPTH, Permissions, may_start};
pub use result::{
    ModeArtifact, ModeArtifactKind, ModeDecision, ModeLogEntry, ModeMetrics, ModeProposal, ModeResult,
};
