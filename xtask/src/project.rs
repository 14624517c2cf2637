//! Where the source tree is and what is in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{XtaskFailure, process};

/// The root of the source tree this command was started from.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// `cargo` in the root of the tree, without the variables that select another binary under test.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).env_remove("HOLON_BIN");
    for (name, _) in std::env::vars_os().filter(|(name, _)| tells_of_this_package(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command
}

/// Whether `cargo run` has set a variable for this program. Some packages are built again when one of them changes, and
/// with them all that are above: here it would, between a cargo that a person starts and one that this program starts.
fn tells_of_this_package(variable: &str) -> bool {
    ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_"]
        .iter()
        .any(|start| variable.starts_with(start))
        || variable == "OUT_DIR"
}

/// Every file that is tracked or would be: what a fresh clone of the current state holds.
pub(crate) fn files() -> Result<Vec<PathBuf>, XtaskFailure> {
    let mut git = Command::new("git");
    git.current_dir(root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listing = process::capture(&mut git)?;
    let mut files: Vec<PathBuf> =
        listing.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    // A file can be in the index and already deleted.
    files.retain(|file| root().join(file).symlink_metadata().is_ok());
    files.sort();
    files.dedup();
    Ok(files)
}

/// What cargo knows about the workspace.
pub(crate) struct CargoMetadata {
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// The names of all integration tests.
    pub(crate) tests: Vec<String>,
    /// The folder of each package, relative to the root.
    pub(crate) packages: BTreeMap<String, PathBuf>,
}

/// Asks cargo about the workspace, without touching the network.
pub(crate) fn metadata() -> Result<CargoMetadata, XtaskFailure> {
    let text = process::capture(cargo().args(["metadata", "--no-deps", "--format-version=1"]))?;
    parse_metadata(&text)
}

fn parse_metadata(text: &str) -> Result<CargoMetadata, XtaskFailure> {
    let document: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| format!("cannot read what `cargo metadata` said: {error}"))?;
    let root = document["workspace_root"].as_str().ok_or("`cargo metadata` names no workspace")?;
    let target = document["target_directory"].as_str().ok_or("`cargo metadata` names no target directory")?;
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let mut tests: Vec<String> = list(&document["packages"])
        .iter()
        .flat_map(|package| list(&package["targets"]))
        .filter(|target| list(&target["kind"]).iter().any(|kind| kind == "test"))
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect();
    tests.sort();
    tests.dedup();
    let folder = |manifest: &str| Some(Path::new(manifest).parent()?.strip_prefix(root).ok()?.to_owned());
    let package = |package: &serde_json::Value| {
        Some((package["name"].as_str()?.to_owned(), folder(package["manifest_path"].as_str()?)?))
    };
    let packages = list(&document["packages"]).iter().filter_map(package).collect();
    Ok(CargoMetadata { target: target.into(), tests, packages })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn metadata_gives_the_integration_tests() {
        let text = r#"{"target_directory": "/t", "workspace_root": "/w", "packages": [
            {"name": "holon", "manifest_path": "/w/crates/holon/Cargo.toml", "targets": [{"name": "holon", "kind": ["bin"]}, {"name": "run", "kind": ["test"]}]},
            {"targets": [{"name": "battery_escape", "kind": ["test"]}]}]}"#;
        let metadata = parse_metadata(text).unwrap();
        assert_eq!(metadata.target, PathBuf::from("/t"));
        assert_eq!(metadata.tests, ["battery_escape", "run"]);
        assert_eq!(metadata.packages, BTreeMap::from([("holon".into(), "crates/holon".into())]));
        assert!(parse_metadata("{}").is_err());
    }

    #[test]
    fn cargo_is_not_told_which_package_started_it() {
        let command = cargo();
        let removed = |name: &str| command.get_envs().any(|(n, value)| n == name && value.is_none());
        // Cargo has set it for this test too.
        assert!(removed("CARGO_PKG_NAME") && removed("CARGO_MANIFEST_DIR"));
        assert!(!tells_of_this_package("CARGO_TERM_COLOR") && !tells_of_this_package("CARGO_INCREMENTAL"));
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.toml").exists());
        assert!(files().unwrap().contains(&PathBuf::from("xtask/src/project.rs")));
    }
}
