//! A project's environment, decided without looking at anything: which commands set it up, by which digest what they leave is
//! known again, and whether somebody agreed to commands that come from the repository.
//!
//! Files are read through [`ProjectFiles`]; where layers are kept and how they are mounted is the business of the host and of
//! the walls.

mod devcontainer;
mod found;
mod key;
mod record;
mod settings;
mod setup;
mod sharing;
mod trust;

pub use found::{INPUT_FILES, found_setup};
pub use key::{EnvironmentKey, ToolchainStamp};
pub use record::{EnvironmentRecord, KeptPlace, LeftOutPath};
pub use settings::{EnvironmentSettings, SettingsError, UserEnvironmentSettings};
pub use setup::{EnvironmentSetup, ProjectFiles, SetupSource, choose_setup, inputs_of};
pub use sharing::time_counts;
pub use trust::{SetupStanding, SetupTrust, TrustEntry};
