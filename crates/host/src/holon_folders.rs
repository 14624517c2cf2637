//! Where Holon keeps things: state, cache and configuration, never in the workspace.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;

use crate::error::HostError;

/// The three folders of Holon, as the environment says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolonFolders {
    /// Runs, threads, audit, logs.
    pub state: PathBuf,
    /// What can be made again.
    pub cache: PathBuf,
    /// What the user wrote.
    pub config: PathBuf,
    /// The user's home, if known.
    pub home: Option<PathBuf>,
}

impl HolonFolders {
    /// From `$XDG_STATE_HOME`, `$XDG_CACHE_HOME`, `$XDG_CONFIG_HOME` or the usual folders below `$HOME`.
    pub fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, HostError> {
        let absolute = |name: &str| env(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let home = absolute("HOME");
        let place = |variable: &str, below: &str| {
            absolute(variable).or_else(|| home.as_ref().map(|h| h.join(below))).map(|p| p.join("holon")).ok_or_else(|| {
                HostError::usage(
                    format!("cannot tell where to keep state: neither ${variable} nor $HOME is an absolute path"),
                    "set HOME, or XDG_STATE_HOME, XDG_CACHE_HOME and XDG_CONFIG_HOME",
                )
            })
        };
        Ok(Self {
            state: place("XDG_STATE_HOME", ".local/state")?,
            cache: place("XDG_CACHE_HOME", ".cache")?,
            config: place("XDG_CONFIG_HOME", ".config")?,
            home,
        })
    }

    /// The records of what was applied to workspaces, and of what it replaced.
    pub fn applies(&self) -> holon_apply::ApplyStore {
        holon_apply::ApplyStore::new(self.state.join("applies"))
    }

    /// The folder that holds the threads of one workspace.
    pub fn threads_of(&self, workspace: &Path) -> PathBuf {
        self.state.join(workspace_key(workspace)).join("threads")
    }

    /// The folder that holds the runs of one workspace.
    pub fn runs_of(&self, workspace: &Path) -> PathBuf {
        self.state.join(workspace_key(workspace)).join("runs")
    }
}

/// A readable, unique folder name for a workspace: its last component and a digest of its whole path.
fn workspace_key(workspace: &Path) -> String {
    let name: String = workspace
        .file_name()
        .map(|n| {
            n.to_string_lossy()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
                .take(32)
                .collect()
        })
        .unwrap_or_default();
    let digest = sha256(workspace.as_os_str().as_bytes());
    format!("{}-{}", if name.is_empty() { "root" } else { &name }, &digest[..12])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn places_follow_the_environment() {
        let env = |name: &str| match name {
            "HOME" => Some("/h".into()),
            "XDG_STATE_HOME" => Some("/s".into()),
            "XDG_CACHE_HOME" => Some("relative".into()),
            _ => None,
        };
        let places = HolonFolders::from_env(&env).unwrap();
        assert_eq!(places.state, Path::new("/s/holon"));
        assert_eq!(
            places.cache,
            Path::new("/h/.cache/holon"),
            "a relative path is ignored, as the convention says"
        );
        assert!(HolonFolders::from_env(&|_| None).unwrap_err().is_usage());
    }

    #[test]
    fn workspaces_with_the_same_name_differ() {
        let (a, b) = (workspace_key(Path::new("/a/näme x")), workspace_key(Path::new("/b/näme x")));
        assert_ne!(a, b);
        assert!(a.starts_with("n-me-x-"), "{a}");
    }
}
