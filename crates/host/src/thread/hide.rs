//! What a thread neither sees nor delivers.

use std::path::{Path, PathBuf};

use holon_core::Profile;

use super::late_executor::HostVariables;
use crate::config;
use crate::error::HostError;
use crate::holon_folders::HolonFolders;

/// What the mode hides, and logs that the user wants in the workspace: they grow while agents look at it.
pub fn hidden(
    places: &HolonFolders,
    env: &HostVariables,
    profile: &Profile,
    workspace: &Path,
) -> Result<Vec<PathBuf>, HostError> {
    let mut paths = crate::run::hidden(profile, workspace)?;
    paths.extend(config::read(places, workspace, env)?.text("artifacts.logs_dir").map(PathBuf::from));
    Ok(paths)
}
