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

pub use catalog::{ListedMode, ModeCatalog};
pub use error::{ModeError, Widening};
pub use explain::ProfileRow;
pub use file::{
    AccessKeyword, ArtifactsTable, CommandsTable, ExposeTable, LimitsTable, ModeFile, ModelTable,
    NetworkTable, PromptTable, SandboxTable, WorkspaceTable,
};
pub use limits::RunLimits;
pub use narrow::widenings;
pub use overrides::RunOverrides;
pub use profile::{
    HostMountRules, HostMountSetting, ModeSource, ModelChoice, ModelPolicy, NetworkReach, Profile,
    ProfileArtifacts, PromptRef, ValueOrigin,
};
