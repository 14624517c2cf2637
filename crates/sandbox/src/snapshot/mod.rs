//! The copy of the workspace a run sees: prepared on the host, mounted by the walls, never the original.

mod copy;
pub mod environment;
mod error;
mod freeze;
mod gitview;
mod index;
mod lay;
mod layers;
mod live_processes;
pub(crate) mod originals;
mod prune;
mod remove;
mod stamp;
mod strategy;
mod take;
pub(crate) mod tree;
pub(crate) mod walk;

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::Access;
use serde::{Deserialize, Serialize};

pub use error::SnapshotError;
pub use freeze::freeze;
pub use gitview::GIT_INSIDE;
pub use lay::PlantedFile;
pub use live_processes::{of_layer, take_turn};
pub use originals::OriginalsSaver;
pub use prune::{LayerLikeness, prune};
pub use remove::remove_tree;
pub use stamp::FileTimestamp;
pub use strategy::{SnapshotStrategy, SnapshotStrategyChoice};
pub use take::{SnapshotRequest, take};

pub(crate) use gitview::GitView;
pub(crate) use index::{CopyIndex, CopyIndexEntry, FileStat};
pub(crate) use layers::OverlayFolders;
pub(crate) use remove::TempTree;

use crate::mount::{self, Mount, MountSource};

/// Where the workspace appears inside.
pub const WORKSPACE_INSIDE: &str = "/holon/workspace";
/// The file in the run directory that [`WorkspaceSnapshot::store`] writes.
const STORED: &str = "snapshot.json";

/// Something of the workspace that is not in the snapshot or cannot be in a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedPath {
    /// Relative to the workspace.
    #[serde(with = "mount::path")]
    pub path: PathBuf,
    /// The reason.
    pub why: SkipReason,
}

/// Reasons for leaving something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// A FIFO, socket or device.
    Special,
    /// Its permissions do not let the host read it.
    Unreadable,
    /// Its path is longer than the system and git can name.
    PathTooLong,
}

/// What the snapshot was taken of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SnapshotBase {
    /// Whether the workspace belongs to a repository that could be used.
    pub is_git: bool,
    /// The commit HEAD named.
    pub commit: Option<String>,
    /// The branch checked out.
    pub branch: Option<String>,
    /// Whether git's ids are SHA-256.
    pub sha256: bool,
    /// Things the user should know about it.
    pub notes: Vec<String>,
}

/// A prepared snapshot; can be stored in the run directory and loaded again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSnapshot {
    #[serde(with = "mount::path")]
    workspace: PathBuf,
    #[serde(with = "mount::path")]
    dir: PathBuf,
    strategy: SnapshotStrategy,
    access: Access,
    #[serde(with = "mount::paths")]
    hidden: Vec<PathBuf>,
    scoped: Option<ScopedWrites>,
    layers: OverlayFolders,
    #[serde(with = "mount::optional_path")]
    copy: Option<PathBuf>,
    git: Option<GitView>,
    started: FileTimestamp,
    base: SnapshotBase,
    skipped: Vec<SkippedPath>,
    generation: u32,
    owner: Option<(u32, u32)>,
    /// What the layer below it brings.
    #[serde(default, with = "mount::paths")]
    environment: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ScopedWrites {
    #[serde(with = "mount::paths")]
    dirs: Vec<PathBuf>,
}

impl WorkspaceSnapshot {
    /// What the walls mount for it: the workspace first, then a repository that lies elsewhere.
    pub fn mounts(&self) -> Vec<Mount> {
        let writable = self.access.writable();
        let source = match &self.copy {
            Some(path) => MountSource::Bind(path.clone()),
            None => self.layers.source(),
        };
        let workspace = Mount { at: WORKSPACE_INSIDE.into(), source, writable };
        [workspace].into_iter().chain(self.git.as_ref().map(|git| git.mount(writable))).collect()
    }

    /// `Some`: the workspace is to be read-only apart from these directories (relative to it, all existing in
    /// the merged view). `None`: it is writable or not as its [`Mount`] says.
    pub fn scoped_dirs(&self) -> Option<&[PathBuf]> {
        self.scoped.as_ref().map(|scoped| scoped.dirs.as_slice())
    }

    /// How it was made.
    pub fn strategy(&self) -> SnapshotStrategy {
        self.strategy
    }

    /// What the agent may do to it.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// What it was taken of.
    pub fn base(&self) -> &SnapshotBase {
        &self.base
    }

    /// The original.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// What is not in it.
    pub fn skipped(&self) -> &[SkippedPath] {
        &self.skipped
    }

    /// The moment it was taken, on the file system's clock.
    pub fn started(&self) -> FileTimestamp {
        self.started
    }

    /// Where the agent's writes are on the host; `None` when there can be none.
    pub fn written(&self) -> Option<&Path> {
        self.copy.as_deref().or(self.layers.upper.as_deref())
    }

    /// Replaces the scratch space of its overlays, which the kernel accepts for one mount only. Call it
    /// before mounting again, when nothing is mounted any more.
    pub fn renew(&mut self) -> Result<(), SnapshotError> {
        self.generation += 1;
        let git = match &mut self.git {
            Some(GitView::Layers(layers)) => Some(layers),
            _ => None,
        };
        for layers in [Some(&mut self.layers), git].into_iter().flatten() {
            let Some(old) = &layers.work else { continue };
            let fresh = old.with_extension(self.generation.to_string());
            remove_tree(old).map_err(SnapshotError::io("remove", old))?;
            fs::create_dir(&fresh).map_err(SnapshotError::io("create", &fresh))?;
            if let Some((uid, gid)) = self.owner {
                std::os::unix::fs::lchown(&fresh, Some(uid), Some(gid))
                    .map_err(SnapshotError::io("give away", &fresh))?;
            }
            layers.work = Some(fresh);
        }
        Ok(())
    }

    /// Writes it to the run directory.
    pub fn store(&self, run_dir: &Path) -> Result<(), SnapshotError> {
        let path = run_dir.join(STORED);
        let text = serde_json::to_vec(self)
            .map_err(|e| SnapshotError::Stored { path: path.clone(), why: e.to_string() })?;
        let temp = run_dir.join(format!("{STORED}.new"));
        fs::write(&temp, text).map_err(SnapshotError::io("write", &temp))?;
        fs::rename(&temp, &path).map_err(SnapshotError::io("write", path))
    }

    /// Reads it back.
    pub fn load(run_dir: &Path) -> Result<Self, SnapshotError> {
        let path = run_dir.join(STORED);
        let text = fs::read(&path).map_err(SnapshotError::io("read", &path))?;
        serde_json::from_slice(&text).map_err(|e| SnapshotError::Stored { path, why: e.to_string() })
    }

    /// Deletes everything made for it: the agent's writes, the copy, the layers.
    pub fn discard(&self) -> Result<(), SnapshotError> {
        remove_tree(&self.dir).map_err(SnapshotError::io("remove", &self.dir))
    }

    /// Where it keeps its files: private to the host, and a good place for temporary ones.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    pub(crate) fn copy(&self) -> Option<&Path> {
        self.copy.as_deref()
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// Whether root mounts its layers, which decides where the kernel keeps its notes.
    pub(crate) fn by_root(&self) -> bool {
        self.owner.is_some()
    }

    pub(crate) fn git_view(&self) -> Option<&GitView> {
        self.git.as_ref()
    }
}
