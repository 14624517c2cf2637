//! A package, and one that came in.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permit::PackageFamily;

/// A version of a package.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PackageVersion {
    /// What kind of registry it is from.
    pub family: PackageFamily,
    /// Its name, as the registry writes it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The file, where one version has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A version of a package whose bytes came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackageArrival {
    /// Which one.
    #[serde(flatten)]
    pub package: PackageVersion,
    /// The host it came from.
    pub host: String,
    /// SHA-256 of what came, in hex.
    pub sha256: String,
    /// How many bytes.
    pub bytes: u64,
}

impl fmt::Display for PackageVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}
