//! The table of toolchains: see `policies/toolchains.toml`, which also explains every key.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde::Deserialize;

use super::HostMountError;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolchainTable {
    pub(super) system: Vec<PathBuf>,
    pub(super) system_secrets: Vec<PathBuf>,
    pub(super) never: Vec<String>,
    pub(super) credential_names: Vec<String>,
    pub(super) toolchain: Vec<Toolchain>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Toolchain {
    pub(super) name: String,
    #[serde(default)]
    pub(super) markers: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) env_offline: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) env_read_only: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) place: Vec<ToolchainPlace>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ToolchainPlace {
    pub(super) find: Vec<String>,
    pub(super) every: bool,
    pub(super) needs: Vec<PathBuf>,
    pub(super) private: bool,
    pub(super) read_only: Vec<String>,
    pub(super) cache: Vec<String>,
    pub(super) copied: Vec<PathBuf>,
    pub(super) files: BTreeMap<PathBuf, String>,
    pub(super) files_offline: BTreeMap<PathBuf, String>,
    pub(super) home: BTreeMap<PathBuf, String>,
    pub(super) secrets: Vec<SecretPath>,
    pub(super) path: Vec<String>,
    pub(super) provides: Option<String>,
    pub(super) env: BTreeMap<String, String>,
}

/// A file or folder that must not be seen, or must not be seen as it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum SecretPath {
    Always(String),
    #[serde(rename_all = "snake_case")]
    Sometimes {
        file: String,
        when: Vec<String>,
        instead: String,
    },
}

static TABLE: LazyLock<Result<ToolchainTable, String>> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../policies/toolchains.toml")).map_err(|e| e.to_string())
});

/// The built-in table; it cannot be changed from outside.
pub(super) fn table() -> Result<&'static ToolchainTable, HostMountError> {
    TABLE.as_ref().map_err(|e| HostMountError::Table(e.clone()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;
    use std::path::{Component, Path};

    use super::*;

    fn is_plain(path: &Path) -> bool {
        path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
    }

    #[test]
    fn the_table_says_what_it_can_mean() {
        let table = table().unwrap();
        let names: BTreeSet<_> = table.toolchain.iter().map(|t| &t.name).collect();
        assert_eq!(names.len(), table.toolchain.len(), "names are unique");
        for (name, place) in table.toolchain.iter().flat_map(|t| t.place.iter().map(|p| (&t.name, p))) {
            let told = format!("{name}: {:?}", place.find);
            assert!(!place.find.is_empty(), "{told}");
            let rooted = |f: &String| f.starts_with("~/") || f.starts_with('$') || f.starts_with('/');
            assert!(place.find.iter().all(rooted), "{told}");
            let children = place.read_only.iter().chain(&place.cache).chain(&place.path);
            assert!(children.map(Path::new).all(is_plain), "{told}");
            assert!(place.copied.iter().chain(place.files.keys()).all(|p| is_plain(p)), "{told}");
            let fresh = place.copied.is_empty() && place.files.is_empty() && place.files_offline.is_empty();
            assert!(place.private || fresh, "only a private place takes files: {told}");
            assert!(place.path.is_empty() || place.provides.is_some(), "{told}");
            // A whole folder named by a variable is shown only if it looks like what it should be.
            let whole = place.read_only.iter().any(|c| c == ".");
            let by_variable = place.find.iter().any(|f| f.starts_with('$') && !f.contains('/'));
            let dedicated = place.env.keys().any(|k| k.starts_with("UV_"));
            assert!(!whole || !by_variable || !place.needs.is_empty() || dedicated, "{told}");
        }
    }

    #[test]
    fn the_system_is_the_one_every_payload_sees() {
        let root: toml::Table = toml::from_str(include_str!("../../../../policies/root.toml")).unwrap();
        let system: Vec<PathBuf> = root["system"].clone().try_into().unwrap();
        assert_eq!(table().unwrap().system, system);
    }
}
