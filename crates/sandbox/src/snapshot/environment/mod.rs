//! What a setup left, as a layer that later snapshots stand on: between the workspace and what a run writes, never written to.
//!
//! Only ignored paths are in it, so nothing of it can get into a patch: a patch leaves out what the base ignores.

mod keep;
mod shared;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, lchown, symlink};
use std::path::{Path, PathBuf};

use holon_git::Repository;

use super::copy::{self, CopyPlan};
use super::layers;
use super::tree::{OpenTree, bytes, is_nameable, path_of};
use super::walk::{TreeWalk, WalkStep};
use super::{SnapshotError, SnapshotStrategy, WorkspaceSnapshot, remove_tree};
use crate::diff::{BaseIgnoreRules, is_dot_git};

pub use keep::{KeptIgnored, KeptSize, LayerKeeper, LeftOut};
pub use shared::{SharedFiles, SweptFiles};

/// What an earlier setup left in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentLayer {
    /// The folder that holds it.
    pub folder: PathBuf,
    /// The paths that it brings, relative to the workspace, none inside another.
    pub roots: Vec<PathBuf>,
}

/// The topmost ignored paths of a workspace, by the rules that patches go by. Git's own folder is none of them.
pub fn ignored_paths(workspace: &Path) -> Result<Vec<PathBuf>, SnapshotError> {
    let failed = || SnapshotError::unreadable(workspace);
    let found = Repository::look(workspace)?;
    let rules = BaseIgnoreRules::of(found.repository.as_ref()).map_err(failed())?;
    let root = OpenTree::open(workspace).map_err(failed())?;
    let mut walk = root.open_dir(b"").and_then(TreeWalk::new).map_err(failed())?;
    let mut ignored = Vec::new();
    loop {
        match walk.next().map_err(failed())? {
            WalkStep::Entry(entry) if is_dot_git(&entry.name) || !is_nameable(&entry.path) => {}
            WalkStep::Entry(entry) if rules.matches(&entry.path, entry.meta.is_dir()) => {
                ignored.push(path_of(&entry.path));
            }
            WalkStep::Entry(entry) if entry.meta.is_dir() => match walk.descend(&entry) {
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
                entered => entered.map_err(failed())?,
            },
            WalkStep::Entry(_) | WalkStep::Left => {}
            WalkStep::Done => return Ok(ignored),
        }
    }
}

impl WorkspaceSnapshot {
    /// Puts a layer under what is going to be written: what it brings takes the place of what the workspace has there. Call it
    /// once, before anything is mounted.
    pub fn stand_on(&mut self, layer: &EnvironmentLayer) -> Result<(), SnapshotError> {
        let base = OpenTree::open(&self.workspace).map_err(SnapshotError::unreadable(&self.workspace))?;
        let misfit = layer.roots.iter().find(|root| !has_room(&base, root));
        if let Some(root) = misfit {
            return Err(SnapshotError::EnvironmentMisfit { path: root.clone() });
        }
        self.environment.clone_from(&layer.roots);
        match self.copy.clone() {
            Some(tree) => layer.roots.iter().try_for_each(|root| self.copy_root(layer, root, &tree)),
            None => self.lay_under(layer),
        }
    }

    /// Sees to it that what is written says everything by itself, also what was moved. Call it before anything is mounted.
    pub fn write_whole(&mut self) {
        self.layers.moved_whole = true;
    }

    /// What it stands on, relative to the workspace.
    pub fn environment(&self) -> &[PathBuf] {
        &self.environment
    }

    fn lay_under(&mut self, layer: &EnvironmentLayer) -> Result<(), SnapshotError> {
        let below = OpenTree::open(&layer.folder).map_err(SnapshotError::io("open", &layer.folder))?;
        for hidden in &self.hidden {
            let veil = match &self.layers.veil {
                Some(veil) => veil.clone(),
                None => {
                    let veil = self.dir.join("veil");
                    fs::create_dir(&veil).map_err(SnapshotError::io("create", &veil))?;
                    self.layers.veil = Some(veil.clone());
                    veil
                }
            };
            layers::hide(&veil, &below, bytes(hidden))?;
        }
        self.layers.environment = Some(layer.folder.clone());
        // What is moved out of the layer cannot be told from the workspace.
        self.layers.moved_whole = true;
        Ok(())
    }

    /// Copies one path of the layer into the copy of the workspace.
    fn copy_root(&self, layer: &EnvironmentLayer, root: &Path, tree: &Path) -> Result<(), SnapshotError> {
        if self.hidden.iter().any(|hidden| root.starts_with(hidden)) {
            return Ok(());
        }
        let (from, to) = (layer.folder.join(root), tree.join(root));
        let failed = || SnapshotError::io("write", &to);
        let meta = fs::symlink_metadata(&from).map_err(SnapshotError::io("read", &from))?;
        match fs::symlink_metadata(&to) {
            Ok(there) if there.is_dir() => remove_tree(&to).map_err(failed())?,
            Ok(_) => fs::remove_file(&to).map_err(failed())?,
            Err(_) => self.make_parents(root, tree)?,
        }
        if meta.is_dir() {
            fs::create_dir(&to).map_err(failed())?;
            let reflink = self.strategy == SnapshotStrategy::Reflink;
            let inside = |hidden: &PathBuf| hidden.strip_prefix(root).ok().map(|path| bytes(path).to_vec());
            let without: Vec<Vec<u8>> = self.hidden.iter().filter_map(inside).collect();
            let (from, to, owner) = (from.as_path(), to.as_path(), self.owner);
            copy::tree(&CopyPlan { from, to, index: None, without: &without, owner, reflink })?;
            return Ok(());
        }
        if meta.is_symlink() {
            let target = fs::read_link(&from).map_err(SnapshotError::io("read", &from))?;
            symlink(target, &to).map_err(failed())?;
        } else {
            fs::copy(&from, &to).map_err(failed())?;
        }
        self.give(&to).map_err(SnapshotError::io("give away", &to))
    }

    fn make_parents(&self, root: &Path, tree: &Path) -> Result<(), SnapshotError> {
        let parent = root.parent().unwrap_or(Path::new(""));
        let mut here = tree.to_owned();
        for name in parent.components() {
            here.push(name);
            match fs::DirBuilder::new().mode(0o755).create(&here) {
                Ok(()) => self.give(&here).map_err(SnapshotError::io("give away", &here))?,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(SnapshotError::io("create", &here)(e)),
            }
        }
        Ok(())
    }
}

/// Whether everything above a path is a folder, or not there: a layer must not hide anything but what it brings.
fn has_room(base: &OpenTree, root: &Path) -> bool {
    let above = root.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    above.into_iter().all(|path| match base.look(bytes(path)) {
        Ok(Some(meta)) => meta.is_dir(),
        // Missing, or below something that is no folder, which is looked at itself.
        Ok(None) => true,
        Err(_) => false,
    })
}

/// Copies a folder of a layer into one that is there; what is there already stays. For what cannot be merged by a mount.
pub fn copy_into(from: &Path, to: &Path, owner: Option<(u32, u32)>) -> Result<(), SnapshotError> {
    let entries = fs::read_dir(from).map_err(SnapshotError::io("read", from))?;
    for entry in entries {
        let entry = entry.map_err(SnapshotError::io("read", from))?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let failed = || SnapshotError::io("write", &to);
        let kind = entry.file_type().map_err(SnapshotError::io("read", &from))?;
        let there = fs::symlink_metadata(&to);
        if kind.is_dir() {
            match there {
                Ok(there) if there.is_dir() => copy_into(&from, &to, owner)?,
                Ok(_) => {}
                Err(_) => {
                    fs::create_dir(&to).map_err(failed())?;
                    copy::tree(&CopyPlan {
                        from: &from,
                        to: &to,
                        index: None,
                        without: &[],
                        owner,
                        reflink: true,
                    })?;
                }
            }
        } else if there.is_err() {
            if kind.is_symlink() {
                let target = fs::read_link(&from).map_err(SnapshotError::io("read", &from))?;
                symlink(target, &to).map_err(failed())?;
            } else {
                fs::copy(&from, &to).map_err(failed())?;
            }
            if let Some((uid, gid)) = owner {
                lchown(&to, Some(uid), Some(gid)).map_err(SnapshotError::io("give away", &to))?;
            }
        }
    }
    Ok(())
}
