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

use super::Error;
use super::freeze::Owner;
use super::tree::{Kind, Meta, Root, is_nameable, look, open_dir_at, open_file_at, read_link_at};
use super::walk::{Entry, Step, Walk};
use crate::diff::equal;

/// How alike two files must be to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alike {
    /// In their content and in all their permissions.
    Wholly,
    /// As far as a patch can tell.
    ForPatches,
}

/// Takes from `layer`, which is mounted nowhere, what says nothing beyond `base`: files that are the same there, deletions
/// of what is not there, folders that hold nothing more. The two together look as before. `owner` is whom root gave the
/// layer to.
pub fn prune(layer: &Path, base: &Path, owner: Option<(u32, u32)>, alike: Alike) -> Result<(), Error> {
    let base = Root::open(base).map_err(Error::io("open", base))?;
    let walk = Root::open(layer).and_then(|root| root.open_dir(b"")).and_then(Walk::new);
    let walk = walk.map_err(Error::io("open", layer))?;
    Pruning { base, owner: Owner(owner), alike }.run(walk).map_err(Error::io("tidy", layer))
}

struct Pruning {
    base: Root,
    owner: Owner,
    alike: Alike,
}

/// A folder of the layer on the way to where the walk is.
struct Above {
    entry: Entry,
    /// Whether the original below it is out of sight.
    covers: bool,
}

impl Pruning {
    fn run(&self, mut walk: Walk) -> io::Result<()> {
        let mut above: Vec<Above> = Vec::new();
        let hidden = |above: &[Above]| above.last().is_some_and(|folder| folder.covers);
        loop {
            match walk.next()? {
                Step::Entry(entry) if !is_nameable(&entry.path) => {}
                Step::Entry(entry) if entry.meta.is_dir() => {
                    walk.descend(&entry)?;
                    let covers = hidden(&above) || self.covers(&walk, &entry)?;
                    above.push(Above { entry, covers });
                }
                Step::Entry(entry) if !hidden(&above) && self.says_nothing(&walk, &entry) => {
                    unlinkat(walk.dir(), OsStr::from_bytes(&entry.name), AtFlags::empty())?;
                }
                Step::Entry(_) => {}
                Step::Left => {
                    if let Some(Above { entry, covers: false }) = above.pop()
                        && self.is_folder_of_base(&entry)
                    {
                        // One that still holds something stays.
                        let _ = unlinkat(walk.dir(), OsStr::from_bytes(&entry.name), AtFlags::REMOVEDIR);
                    }
                }
                Step::Done => return Ok(()),
            }
        }
    }

    /// Whether a folder just entered hides the original's at the same path; where that hides nothing, it is ended.
    fn covers(&self, walk: &Walk, entry: &Entry) -> io::Result<bool> {
        if !self.owner.is_opaque(walk.dir())? {
            return Ok(false);
        }
        let below = match self.base.look(&entry.path) {
            Ok(None) => Vec::new(),
            Ok(Some(meta)) if meta.is_dir() => match self.base.open_dir(&entry.path).and_then(Walk::new) {
                Ok(walk) => walk.names().to_vec(),
                Err(_) => return Ok(true),
            },
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

    fn is_folder_of_base(&self, entry: &Entry) -> bool {
        let there = self.base.look(&entry.path).ok().flatten();
        there.is_some_and(|there| there.is_dir() && self.permissions_agree(&entry.meta, &there))
    }

    /// What cannot be looked at is left alone.
    fn says_nothing(&self, walk: &Walk, entry: &Entry) -> bool {
        let Ok(there) = self.base.look(&entry.path) else { return false };
        match (entry.meta.kind, there) {
            (Kind::Whiteout, None) => true,
            (Kind::Symlink, Some(there)) if there.kind == Kind::Symlink => {
                let targets = (read_link_at(walk.dir(), &entry.name), self.base.read_link(&entry.path));
                matches!(targets, (Ok(one), Ok(other)) if one == other)
            }
            (Kind::File, Some(there)) if there.kind == Kind::File => {
                there.size == entry.meta.size
                    && self.permissions_agree(&entry.meta, &there)
                    && self.same_content(walk, entry).unwrap_or(false)
            }
            _ => false,
        }
    }

    fn same_content(&self, walk: &Walk, entry: &Entry) -> io::Result<bool> {
        let mut one = open_file_at(walk.dir(), &entry.name)?;
        let mut other = self.base.open_file(&entry.path)?;
        equal(&mut one, &mut other)
    }

    fn permissions_agree(&self, one: &Meta, other: &Meta) -> bool {
        match self.alike {
            Alike::Wholly => one.mode == other.mode,
            Alike::ForPatches => one.is_dir() || one.is_exec() == other.is_exec(),
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

    struct World(tempfile::TempDir);

    impl World {
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
            Owner(None).is_opaque(fs::File::open(self.0.path().join(path)).unwrap().as_fd()).unwrap()
        }

        fn make_opaque(&self, path: &str) {
            Owner(None).make_opaque(fs::File::open(self.0.path().join(path)).unwrap().as_fd()).unwrap();
        }

        /// What is left in the layer.
        fn pruned(&self, alike: Alike) -> Vec<String> {
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
        let world = World::new();
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
        assert_eq!(world.pruned(Alike::Wholly), ["deleted", "empty", "new", "other"]);
    }

    #[test]
    fn permissions_count_unless_a_patch_could_not_tell() {
        let world = World::new();
        for (name, mode) in [("private", 0o600), ("program", 0o755)] {
            world.put(&format!("base/{name}"), "x");
            world.put(&format!("layer/{name}"), "x");
            let path = world.0.path().join("layer").join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(world.pruned(Alike::Wholly), ["private", "program"]);
        assert_eq!(world.pruned(Alike::ForPatches), ["program"]);
    }

    #[test]
    fn a_folder_made_anew_hides_only_what_it_has_to() {
        let world = World::new();
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
        assert_eq!(world.pruned(Alike::Wholly), ["part", "part/a", "whole", "whole/in", "whole/in/b"]);
        assert!(!world.opaque("layer/whole") && !world.opaque("layer/whole/in"));
        assert!(world.opaque("layer/part"));
    }
}
