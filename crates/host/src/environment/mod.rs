//! Environments on this machine: which one a workspace wants, where they are kept, and how one is made.
//!
//! What is decided is in `holon_environment`; layers and mounts are the sandbox's.

mod build;
mod files;
mod project;
mod store;
mod toolchains;
mod trust;

pub use build::{BuiltEnvironment, EnvironmentOrder};
pub use project::{ProjectEnvironment, look};
pub(crate) use project::{current_digest, for_run};
pub use store::{EnvironmentGarbage, EnvironmentStore, OpenEnvironment, StoredEnvironment};
pub use trust::TrustFile;
