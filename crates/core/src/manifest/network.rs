//! What a run did with the network it had by permit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The permits of a run, what it reached by them, what it was refused, and what came in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkRecord {
    /// What was permitted, as it was written.
    pub permits: Vec<String>,
    /// Connections that were opened.
    pub allowed: u64,
    /// Connections and requests that were refused.
    pub refused: u64,
    /// By host and port.
    pub hosts: BTreeMap<String, NetworkHost>,
    /// Requests for so many further hosts are in the sums alone.
    pub other_hosts: u64,
    /// Packages that came in.
    pub packages: Vec<NetworkPackage>,
}

/// What happened at one host and port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkHost {
    /// Connections that were opened.
    pub allowed: u64,
    /// Connections and requests that were refused.
    pub refused: u64,
    /// Bytes that went out.
    pub sent: u64,
    /// Bytes that came in.
    pub received: u64,
    /// Whether some of it passed unread although it should have been read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub opaque: bool,
    /// Why the last refusal was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The flag that would have allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
}

/// A package that came in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkPackage {
    /// What kind of registry it is from.
    pub family: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The host it came from.
    pub host: String,
    /// SHA-256 of what came in, in hex.
    pub sha256: String,
    /// How many bytes.
    pub bytes: u64,
}
