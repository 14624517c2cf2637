//! Taking out of a layer what the original says just as well.
//!
//! A layer hides the original wherever it has something, also where a turn only touched a file, and where what it wrote has
//! reached the original since. What is taken out here lets people's own later work be seen, and be left alone.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, unlinkat};

use super::SnapshotError;
use super::freeze::LayerOwner;
use super::tree::{
    OpenTree, TreeEntryKind, TreeEntryMeta, is_nameable, look, open_dir_at, open_file_at, read_link_at,
};
use super::walk::{TreeWalk, WalkEntry, WalkStep};
use crate::diff::equal;

/// How alike two files must be to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerLikeness {
    /// In their content and in all their permissions.
    Wholly,
    /// As far as a patch can tell.
    ForPatches,
}

/// Takes from `layer`, which is mounted nowhere, what says nothing beyond `base`: files that are the same there, deletions
/// of what is not there, folders that hold nothing more. The two together look as before. `owner` is whom root gave the
/// layer to.
pub fn prune(
    layer: &Path,
    base: &Path,
    owner: Option<(u32, u32)>,
    alike: LayerLikeness,
) -> Result<(), SnapshotError> {
    let base = OpenTree::open(base).map_err(SnapshotError::io("open", base))?;
    let walk = OpenTree::open(layer).and_then(|root| root.open_dir(b"")).and_then(TreeWalk::new);
    let walk = walk.map_err(SnapshotError::io("open", layer))?;
    LayerPruning { base, owner: LayerOwner(owner), alike }.run(walk).map_err(SnapshotError::io("tidy", layer))
}

struct LayerPruning {
    base: OpenTree,
    owner: LayerOwner,
    alike: LayerLikeness,
}

/// A folder of the layer on the way to where the walk is.
struct ParentLayerEntry {
    entry: WalkEntry,
    /// Whether the original below it is out of sight.
    covers: bool,
}

impl LayerPruning {
    fn run(&self, mut walk: TreeWalk) -> io::Result<()> {
        let mut above: Vec<ParentLayerEntry> = Vec::new();
        let hidden = |above: &[ParentLayerEntry]| above.last().is_some_and(|folder| folder.covers);
        loop {
            match walk.next()? {
                WalkStep::Entry(entry) if !is_nameable(&entry.path) => {}
                WalkStep::Entry(entry) if entry.meta.is_dir() => {
                    walk.descend(&entry)?;
                    let covers = hidden(&above) || self.covers(&walk, &entry)?;
                    above.push(ParentLayerEntry { entry, covers });
                }
                WalkStep::Entry(entry) if !hidden(&above) && self.says_nothing(&walk, &entry) => {
                    unlinkat(walk.dir(), OsStr::from_bytes(&entry.name), AtFlags::empty())?;
                }
                WalkStep::Entry(_) => {}
                WalkStep::Left => {
                    if let Some(ParentLayerEntry { entry, covers: false }) = above.pop()
                        && self.is_folder_of_base(&entry)
                    {
                        // One that still holds something stays.
                        let _ = unlinkat(walk.dir(), OsStr::from_bytes(&entry.name), AtFlags::REMOVEDIR);
                    }
                }
                WalkStep::Done => return Ok(()),
            }
        }
    }

    /// Whether a folder just entered hides the original's at the same path; where that hides nothing, it is ended.
    fn covers(&self, walk: &TreeWalk, entry: &WalkEntry) -> io::Result<bool> {
        if !self.owner.is_opaque(walk.dir())? {
            return Ok(false);
        }
        let below = match self.base.look(&entry.path) {
            Ok(None) => Vec::new(),
            Ok(Some(meta)) if meta.is_dir() => {
                match self.base.open_dir(&entry.path).and_then(TreeWalk::new) {
                    Ok(walk) => walk.names().to_vec(),
                    Err(_) => return Ok(true),
                }
            }
            _ => return Ok(true),
        };
        // What only the original has would come back.
        if !below.iter().all(|name| walk.names().binary_search(name).is_ok()) {
            return Ok(true);
        }
        // Folders in it were hidden with it, and have to hide for themselves before.
        for name in below {
            if look(walk.dir(), &name)?.is_some_and(|meta| meta.is_dir()) {
                self.owner.make_opaque(open_dir_at(walk.dir(), &name)?.as_fd())?;
            }
        }
        self.owner.make_merged(walk.dir())?;
        Ok(false)
    }

    fn is_folder_of_base(&self, entry: &WalkEntry) -> bool {
        let there = self.base.look(&entry.path).ok().flatten();
        there.is_some_and(|there| there.is_dir() && self.permissions_agree(&entry.meta, &there))
    }

    /// What cannot be looked at is left alone.
    fn says_nothing(&self, walk: &TreeWalk, entry: &WalkEntry) -> bool {
        let Ok(there) = self.base.look(&entry.path) else { return false };
        match (entry.meta.kind, there) {
            (TreeEntryKind::Whiteout, None) => true,
            (TreeEntryKind::Symlink, Some(there)) if there.kind == TreeEntryKind::Symlink => {
                let targets = (read_link_at(walk.dir(), &entry.name), self.base.read_link(&entry.path));
                matches!(targets, (Ok(one), Ok(other)) if one == other)
            }
            (TreeEntryKind::File, Some(there)) if there.kind == TreeEntryKind::File => {
                there.size == entry.meta.size
                    && self.permissions_agree(&entry.meta, &there)
                    && self.same_content(walk, entry).unwrap_or(false)
            }
            _ => false,
        }
    }

    fn same_content(&self, walk: &TreeWalk, entry: &WalkEntry) -> io::Result<bool> {
        let mut one = open_file_at(walk.dir(), &entry.name)?;
        let mut other = self.base.open_file(&entry.path)?;
        equal(&mut one, &mut other)
    }

    fn permissions_agree(&self, one: &TreeEntryMeta, other: &TreeEntryMeta) -> bool {
        match self.alike {
            LayerLikeness::Wholly => one.mode == other.mode,
            LayerLikeness::ForPatches => one.is_dir() || one.is_exec() == other.is_exec(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    struct PruneWorld(tempfile::TempDir);

    impl PruneWorld {
        fn new() -> Self {
            let world = Self(tempfile::tempdir().unwrap());
            for side in ["base", "layer"] {
                fs::create_dir(world.0.path().join(side)).unwrap();
            }
            world
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }

        fn whiteout(&self, path: &str) {
            let path = self.0.path().join("layer").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
        }

        fn opaque(&self, path: &str) -> bool {
            LayerOwner(None).is_opaque(fs::File::open(self.0.path().join(path)).unwrap().as_fd()).unwrap()
        }

        fn make_opaque(&self, path: &str) {
            LayerOwner(None).make_opaque(fs::File::open(self.0.path().join(path)).unwrap().as_fd()).unwrap();
        }

        /// What is left in the layer.
        fn pruned(&self, alike: LayerLikeness) -> Vec<String> {
            let layer = self.0.path().join("layer");
            prune(&layer, &self.0.path().join("base"), None, alike).unwrap();
            let mut found = Vec::new();
            let mut todo = vec![layer.clone()];
            while let Some(folder) = todo.pop() {
                for entry in fs::read_dir(&folder).unwrap().flatten() {
                    let path = entry.path();
                    found.push(path.strip_prefix(&layer).unwrap().to_str().unwrap().to_owned());
                    if entry.file_type().unwrap().is_dir() {
                        todo.push(path);
                    }
                }
            }
            found.sort();
            found
        }
    }

    #[test]
    fn only_differences_stay() {
        let world = PruneWorld::new();
        for side in ["base", "layer"] {
            world.put(&format!("{side}/same"), "x");
            world.put(&format!("{side}/d/same"), "x");
            world.put(&format!("{side}/other"), side);
            symlink("there", world.0.path().join(side).join("link")).unwrap();
        }
        world.put("layer/new", "x");
        world.put("base/deleted", "x");
        world.whiteout("deleted");
        world.whiteout("never-there");
        fs::create_dir(world.0.path().join("layer/empty")).unwrap();
        assert_eq!(world.pruned(LayerLikeness::Wholly), ["deleted", "empty", "new", "other"]);
    }

    #[test]
    fn permissions_count_unless_a_patch_could_not_tell() {
        let world = PruneWorld::new();
        for (name, mode) in [("private", 0o600), ("program", 0o755)] {
            world.put(&format!("base/{name}"), "x");
            world.put(&format!("layer/{name}"), "x");
            let path = world.0.path().join("layer").join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(world.pruned(LayerLikeness::Wholly), ["private", "program"]);
        assert_eq!(world.pruned(LayerLikeness::ForPatches), ["program"]);
    }

    #[test]
    fn a_folder_made_anew_hides_only_what_it_has_to() {
        let world = PruneWorld::new();
        world.put("base/whole/in/a", "x");
        world.put("layer/whole/in/a", "x");
        world.put("layer/whole/in/b", "x");
        world.put("base/part/a", "x");
        world.put("base/part/gone", "x");
        world.put("layer/part/a", "x");
        for folder in ["layer/whole", "layer/part"] {
            world.make_opaque(folder);
        }
        // Without `a` in the layer it would be gone below a folder that hides it.
        assert_eq!(
            world.pruned(LayerLikeness::Wholly),
            ["part", "part/a", "whole", "whole/in", "whole/in/b"]
        );
        assert!(!world.opaque("layer/whole") && !world.opaque("layer/whole/in"));
        assert!(world.opaque("layer/part"));
    }
}
