//! How an agent is driven, described as data: a TOML file per agent, built in, the user's, or the project's.

mod calls;
pub mod client;
pub mod events;
mod file;
pub(crate) mod fill;
mod find;
mod locate;
mod python;
mod version;
mod wrong;

pub use calls::{AdapterCalls, CallSubject, ToolCallEnding};
pub use file::{
    Adapter, AdapterKind, AgentLookup, ConformanceCall, ModeOverrides, ModelUse, OwnReadOnlyMode, ScreenUse,
};
#[cfg(test)]
pub(crate) use find::builtin;
pub use find::{KnownAdapters, ResolvedAgent, find, list};
pub use locate::{AGENTS_DIR, AgentAbsence, LocatedAgent, ask_help, ask_version, locate};
pub use version::VersionRange;
