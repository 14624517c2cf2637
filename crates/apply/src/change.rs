//! What shall change: for each path what it was made from, and what it leads to.

use std::path::PathBuf;

use holon_git::{PathDigest, TouchedPath};

/// One path of a [`ChangeSet`]; `None` means that nothing is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeEntry {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// What the change was made from.
    pub base: Option<PathDigest>,
    /// What it leads to.
    pub result: Option<PathDigest>,
    /// The permissions the result shall have where nothing is now; what the user's mask leaves when unknown.
    pub permissions: Option<u32>,
}

/// A change to some paths of a workspace. The contents are looked up by digest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// Each path once.
    pub entries: Vec<ChangeEntry>,
}

impl ChangeSet {
    /// The change a patch makes, as recorded when it was made.
    pub fn of_patch(touched: &[TouchedPath]) -> Self {
        let entry = |touched: &TouchedPath| ChangeEntry {
            path: touched.path.clone(),
            base: touched.base.clone(),
            result: touched.result.clone(),
            permissions: None,
        };
        Self { entries: touched.iter().map(entry).collect() }
    }
}
