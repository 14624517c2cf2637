//! What a run may reach besides its model, as it stands in the plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may not come in although its host may be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlannedArrivals {
    /// How many days ago a version must have been published.
    pub min_age_days: u32,
    /// Packages that never come in, as `[REGISTRY:]NAME[@VERSION]`.
    pub denied: Vec<String>,
}

/// Something that somebody permitted the run to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedPermit {
    /// As it was written: a host, or a client.
    pub rule: String,
    /// Who permits it: a flag or a file.
    pub granted_by: String,
    /// For a client, the hosts and ports that its user has configured, worked out when the plan was made.
    #[serde(default)]
    pub hosts: Vec<String>,
}
