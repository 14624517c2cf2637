//! What is written down beside a kept environment.

use holon_core::manifest::NetworkPackage;
use serde::{Deserialize, Serialize};

use crate::setup::EnvironmentSetup;

/// A kept environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentRecord {
    /// By what it is known.
    pub digest: String,
    /// How it was made.
    pub setup: EnvironmentSetup,
    /// When, as RFC 3339.
    pub made_at: String,
    /// The run that made it.
    pub run: String,
    /// The workspace it was made for.
    pub workspace: String,
    /// Ignored paths of the workspace that it brings, none inside another.
    pub roots: Vec<String>,
    /// Private folders of toolchains that it brings.
    pub places: Vec<KeptPlace>,
    /// What the setup changed besides, and why it is not in here.
    pub left_out: Vec<LeftOutPath>,
    /// Packages that came in.
    pub packages: Vec<NetworkPackage>,
    /// Files in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A private folder of a toolchain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPlace {
    /// Where it is seen inside.
    pub at: String,
    /// The folder of the environment that holds it.
    pub folder: String,
}

/// Something a setup changed that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutPath {
    /// In the workspace.
    pub path: String,
    /// Why.
    pub why: String,
}
