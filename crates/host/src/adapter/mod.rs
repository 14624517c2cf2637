//! How an agent is driven, described as data: a TOML file per agent, built in, the user's, or the project's.

mod calls;
pub mod client;
pub mod events;
mod file;
pub(crate) mod fill;
mod find;
mod locate;
mod version;
mod wrong;

pub use calls::{About, Calls, Ending};
pub use file::{Adapter, Alone, Deed, Finding, ForMode, Kind, ModelUse};
pub use find::{Agent, Known, find, list};
pub use locate::{AGENTS_DIR, Absent, Located, ask_version, locate};
pub use version::VersionRange;
