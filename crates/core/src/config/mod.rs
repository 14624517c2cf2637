//! The configuration: layers of tables, laid over one another key by key, with the origin of every value.
//!
//! Which keys there are, and what a workspace may do with them, is data (`rules/config.toml`). Reading files is the caller's.

mod key;
mod layer;
mod legacy;
mod migrate;
mod schema;
mod settings;

#[cfg(test)]
mod tests;

pub use key::{ConfigKey, ConfigValueKind, known};
pub use layer::{ConfigLayer, ConfigSource, ConfigValue, ConfigWarning, ResolvedConfig, merge};
pub use migrate::{MigratedConfig, migrate};
pub use schema::schema;
pub use settings::ModeSettings;

/// What makes a configuration unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// The layer.
        place: String,
        /// What the parser says, with line and column.
        message: String,
    },
    /// A value that does not fit its key.
    #[error("{place}: `{key}` is {is}, and must be {must}")]
    Value {
        /// The layer.
        place: String,
        /// The key, with its sections.
        key: String,
        /// What it is.
        is: String,
        /// What it has to be.
        must: String,
    },
    /// A key of a former release, where those are errors.
    #[error(
        "{place}: `{old}` is no longer read; write `{new}` (`holon config migrate {place} --write` does it)"
    )]
    Legacy {
        /// The layer.
        place: String,
        /// As it is.
        old: String,
        /// As it must be.
        new: String,
    },
    /// A mode asked for by its name in a former release, where those are errors.
    #[error("the mode `{old}` is `{new}` now, and {place} says that former names are errors")]
    FormerMode {
        /// Who says so.
        place: String,
        /// As it was asked for.
        old: String,
        /// As it is called.
        new: String,
    },
}
