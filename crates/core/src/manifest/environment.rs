//! The environment a run stood on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NetworkPackage;

/// What an earlier setup had left, below what the run wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnvironmentUse {
    /// By what it is known.
    pub digest: String,
    /// The commands that made it.
    pub commands: Vec<String>,
    /// Who says that they are the ones.
    pub source: String,
    /// The run that made it.
    pub run: String,
    /// Whether it was made for this run.
    pub made_now: bool,
    /// Ignored paths of the workspace that it brings.
    pub brings: Vec<String>,
    /// Packages that came in when it was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<NetworkPackage>,
    /// What the setup changed besides, which is not in it, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}
