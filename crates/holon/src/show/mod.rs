//! How things look: tables, patches, progress, the end of a run.

pub(crate) mod amount;
pub(crate) mod applied;
mod environment;
pub(crate) mod flow;
pub(crate) mod manifest;
mod network;
pub(crate) mod patch;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod supervisor;
pub(crate) mod table;
pub(crate) mod tree;
