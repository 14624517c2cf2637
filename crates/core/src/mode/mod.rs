//! Modes and the profiles they bind: data files, resolved by inheritance that can only narrow.

mod apply;
pub mod builtin;
mod catalog;
mod error;
mod explain;
mod file;
mod limits;
mod narrow;
mod overrides;
mod profile;

pub use catalog::{Catalog, Listed};
pub use error::{ModeError, Widening};
pub use explain::Row;
pub use file::{
    ArtifactsTable, CommandsTable, ExposeTable, LimitsTable, ModeFile, ModelTable, NetworkTable, PromptTable,
    SandboxTable, WorkspaceAccess, WorkspaceTable,
};
pub use limits::Limits;
pub use narrow::widenings;
pub use overrides::Overrides;
pub use profile::{
    Artifacts, Expose, Exposure, ModelChoice, ModelPolicy, Network, Origin, Profile, PromptRef, Source,
};
