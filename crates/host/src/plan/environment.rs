//! The environment of a project, as it stands in the plan.

use holon_environment::EnvironmentSetup;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a setup leaves, by what it is known, and how it is made where it is not there yet. Somebody agreed to the setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedEnvironment {
    /// Digest of the commands, the files they go by, and the toolchains.
    pub digest: String,
    /// How it is made.
    pub setup: EnvironmentSetup,
}

impl PlannedEnvironment {
    /// The digest as people are told it.
    pub fn short(&self) -> &str {
        self.digest.get(..12).unwrap_or(&self.digest)
    }
}
