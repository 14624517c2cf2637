//! A workspace whose repository lies elsewhere: what git inside the sandbox needs of it.
//!
//! A worktree's or submodule's `.git` file names a directory of the host that is not there inside. So the
//! repository it belongs to is shown at a fixed place, and the agent gets a `.git` file that says so.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_git::Repository;
use holon_git::config;
use holon_git::repo::WorktreeLink;
use serde::{Deserialize, Serialize};

use super::copy::{self, CopyPlan};
use super::layers::OverlayFolders;
use super::{SnapshotError, SnapshotStrategy};
use crate::mount::{self, Mount, MountSource};

/// Where the repository appears inside.
pub const GIT_INSIDE: &str = "/holon/git";

/// How the repository is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GitView {
    /// Through layers, like the workspace.
    Layers(OverlayFolders),
    /// As a copy.
    Copy(#[serde(with = "mount::path")] PathBuf),
}

impl GitView {
    /// What to mount, and the directory on the host that holds what the agent did to it.
    pub(crate) fn mount(&self, writable: bool) -> Mount {
        let source = match self {
            Self::Layers(layers) => layers.source(),
            Self::Copy(path) => MountSource::Bind(path.clone()),
        };
        Mount { at: GIT_INSIDE.into(), source, writable }
    }

    /// Where the agent's own git files are.
    pub(crate) fn written(&self) -> Option<&Path> {
        match self {
            Self::Layers(layers) => layers.upper.as_deref(),
            Self::Copy(path) => Some(path),
        }
    }
}

/// Whether this repository must be brought in.
pub(crate) fn is_elsewhere(repository: &Repository) -> bool {
    repository.link != WorktreeLink::Directory && repository.is_toplevel()
}

/// The `.git` file the agent gets instead of the user's.
pub(crate) fn dot_git(repository: &Repository) -> Vec<u8> {
    let mut text = format!("gitdir: {GIT_INSIDE}").into_bytes();
    if let Some(name) = repository.worktree_name() {
        text.extend(b"/worktrees/");
        text.extend(name.as_bytes());
    }
    text.push(b'\n');
    text
}

/// Prepares the view below `dir`.
pub(crate) fn prepare(
    repository: &Repository,
    dir: &Path,
    strategy: SnapshotStrategy,
    writable: bool,
    owner: Option<(u32, u32)>,
) -> Result<GitView, SnapshotError> {
    let config = own_config(repository)?;
    if matches!(strategy, SnapshotStrategy::Copy | SnapshotStrategy::Reflink) {
        let to = dir.join("git");
        fs::create_dir(&to).map_err(SnapshotError::io("create", &to))?;
        let reflink = strategy == SnapshotStrategy::Reflink;
        copy::tree(&CopyPlan {
            from: &repository.common_dir,
            to: &to,
            index: None,
            without: &[],
            owner,
            reflink,
        })?;
        if let Some(text) = config {
            let path = to.join("config");
            fs::write(&path, text).map_err(SnapshotError::io("write", path))?;
        }
        return Ok(GitView::Copy(to));
    }
    let mut layers = OverlayFolders::over(repository.common_dir.clone());
    if config.is_some() || !writable {
        // Empty but for the configuration; there to make a merged view, which hides the sockets of git's daemons.
        let veil = dir.join("git-veil");
        fs::create_dir(&veil).map_err(SnapshotError::io("create", &veil))?;
        if let Some(text) = config {
            fs::write(veil.join("config"), text).map_err(SnapshotError::io("write", &veil))?;
        }
        layers.veil = Some(veil);
    }
    if writable {
        layers.make_writable(dir, "git-", owner)?;
    }
    Ok(GitView::Layers(layers))
}

/// A submodule's configuration says where its working tree is on the host, which is wrong inside; without
/// that line the directory with the `.git` file counts.
fn own_config(repository: &Repository) -> Result<Option<Vec<u8>>, SnapshotError> {
    if repository.link != WorktreeLink::Submodule {
        return Ok(None);
    }
    let path = repository.common_dir.join("config");
    let text = fs::read(&path).map_err(SnapshotError::io("read", path))?;
    Ok(Some(config::without(&text, "core", "worktree")))
}
