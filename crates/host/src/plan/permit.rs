//! What a run may reach besides its model, as it stands in the plan.

use std::collections::BTreeMap;

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedPermit {
    /// As it was written: a host, or a client.
    pub rule: String,
    /// Who permits it: a flag or a file.
    pub granted_by: String,
    /// For a client, the hosts and ports that its user has configured, worked out when the plan was made; for a remote, with the
    /// path of the repository.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// For a client, the hosts and ports at which its index keeps its files, as the index told the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_hosts: Vec<String>,
    /// For a client, what its user has configured, in its own words and without passwords: it is told the same inside.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}
