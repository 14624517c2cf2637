//! Joining what a turn wrote with what the turns before it left, into one layer that is never written to again.
//!
//! Files are shared by hard links: a lower layer's file is copied before anyone writes to it, so neither side can change
//! the other. Both old layers stay as they are, which is what makes going back cheap.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode, Timespec, Timestamps, XattrFlags, fchmod, fchown, fremovexattr, fsetxattr, futimens,
};
use rustix::fs::{Gid, Uid, linkat, mkdirat, unlinkat};
use rustix::io::Errno;

use super::SnapshotError;
use super::remove::remove_tree;
use super::tree::{DirEntryName, OpenTree, TreeEntryKind, TreeEntryMeta, is_nameable, path_of};
use super::walk::{TreeWalk, WalkEntry, WalkStep};

/// Who the layers belong to, and so where the kernel keeps its notes about them.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerOwner(pub(super) Option<(u32, u32)>);

/// Makes the layer `to` (which must not exist) out of `below`, if there is any, and `written` above it; `base` is the
/// original under both. `owner` is whom root gave the layers to. On failure nothing is left.
pub fn freeze(
    below: Option<&Path>,
    written: &Path,
    base: &Path,
    to: &Path,
    owner: Option<(u32, u32)>,
) -> Result<(), SnapshotError> {
    let failed = |e: io::Error| SnapshotError::io("write", to)(e);
    fs::create_dir(to).map_err(failed)?;
    let join = || -> io::Result<()> {
        let mut joining = LayerFreeze {
            to: OpenTree::open(to)?,
            path: to,
            base: OpenTree::open(base)?,
            owner: LayerOwner(owner),
        };
        for layer in below.into_iter().chain([written]) {
            joining.add(layer)?;
        }
        Ok(())
    };
    join().map_err(|e| {
        let _ = remove_tree(to);
        failed(e)
    })
}

struct LayerFreeze<'a> {
    to: OpenTree,
    path: &'a Path,
    base: OpenTree,
    owner: LayerOwner,
}

impl LayerFreeze<'_> {
    /// Lays one layer over what is there.
    fn add(&mut self, layer: &Path) -> io::Result<()> {
        let from = OpenTree::open(layer).or_else(|e| match e.kind() {
            // The payload may have closed its own root directory; it is the host's again.
            io::ErrorKind::PermissionDenied => {
                fs::set_permissions(layer, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
                OpenTree::open(layer)
            }
            _ => Err(e),
        })?;
        let mut walk = TreeWalk::repairing(from.open_dir(b"")?)?;
        // Times are set on the way out: adding entries changes them.
        let mut entered: Vec<(Vec<u8>, TreeEntryMeta)> = Vec::new();
        loop {
            match walk.next()? {
                WalkStep::Entry(entry) if !is_nameable(&entry.path) => {}
                WalkStep::Entry(entry) if entry.meta.is_dir() => {
                    walk.descend(&entry)?;
                    let opaque = self.owner.is_opaque(walk.dir())?;
                    self.folder(&entry, opaque)?;
                    entered.push((entry.path, entry.meta));
                }
                WalkStep::Entry(entry) => self.leaf(&walk, &entry)?,
                WalkStep::Left => {
                    if let Some((path, meta)) = entered.pop() {
                        self.finish(&path, &meta)?;
                    }
                }
                WalkStep::Done => break,
            }
        }
        match from.look(b"")? {
            Some(meta) => self.finish(b"", &meta),
            None => Ok(()),
        }
    }

    fn folder(&mut self, entry: &WalkEntry, opaque: bool) -> io::Result<()> {
        let there = self.to.look(&entry.path)?;
        let covers = match there.map(|meta| meta.kind) {
            Some(TreeEntryKind::Dir) if !opaque => return Ok(()),
            Some(_) => {
                self.clear(&entry.path)?;
                true
            }
            None => opaque,
        };
        self.at(&entry.path, |dir, name| mkdirat(dir, name, Mode::RWXU))?;
        if covers {
            self.owner.make_opaque(self.to.open_dir(&entry.path)?.as_fd())?;
        }
        Ok(())
    }

    fn leaf(&mut self, walk: &TreeWalk, entry: &WalkEntry) -> io::Result<()> {
        self.clear(&entry.path)?;
        // A deletion of what only an earlier turn made leaves nothing to say.
        if entry.meta.kind == TreeEntryKind::Whiteout && self.base.look(&entry.path)?.is_none() {
            return Ok(());
        }
        let from = OsStr::from_bytes(&entry.name);
        self.at(&entry.path, |dir, name| linkat(walk.dir(), from, dir, name, AtFlags::empty()))
    }

    /// Takes away whatever earlier layers have at `path`.
    fn clear(&mut self, path: &[u8]) -> io::Result<()> {
        match self.to.look(path)? {
            None => Ok(()),
            // Every directory on the way is one made here, so the path leads nowhere else.
            Some(meta) if meta.is_dir() => {
                remove_tree(&self.path.join(path_of(path)))?;
                // It remembers directories it has been in.
                self.to = OpenTree::open(self.path)?;
                Ok(())
            }
            Some(_) => self.at(path, |dir, name| unlinkat(dir, name, AtFlags::empty())),
        }
    }

    fn finish(&self, path: &[u8], meta: &TreeEntryMeta) -> io::Result<()> {
        let dir = self.to.open_dir(path)?;
        if let LayerOwner(Some((uid, gid))) = self.owner {
            fchown(&dir, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        fchmod(&dir, Mode::from_raw_mode(meta.mode | 0o700))?;
        let at = Timespec { tv_sec: meta.mtime.sec, tv_nsec: meta.mtime.nsec.into() };
        Ok(futimens(&dir, &Timestamps { last_access: at, last_modification: at })?)
    }

    fn at(
        &self,
        path: &[u8],
        act: impl FnOnce(BorrowedFd<'_>, &OsStr) -> rustix::io::Result<()>,
    ) -> io::Result<()> {
        let (dir, name): DirEntryName<'_> = self.to.parent_of(path)?.ok_or(Errno::NOENT)?;
        act(dir.as_deref().map_or(self.to.fd(), AsFd::as_fd), OsStr::from_bytes(name))?;
        Ok(())
    }
}

impl LayerOwner {
    fn note(self) -> &'static std::ffi::CStr {
        if self.0.is_some() { c"trusted.overlay.opaque" } else { c"user.overlay.opaque" }
    }

    pub(super) fn is_opaque(self, dir: BorrowedFd<'_>) -> io::Result<bool> {
        let mut value = [0; 4];
        match rustix::fs::fgetxattr(dir, self.note(), &mut value[..]) {
            Ok(len) => Ok(value[..len] == *b"y"),
            Err(Errno::NODATA | Errno::NOTSUP | Errno::PERM | Errno::RANGE) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    pub(super) fn make_opaque(self, dir: BorrowedFd<'_>) -> io::Result<()> {
        Ok(fsetxattr(dir, self.note(), b"y", XattrFlags::empty())?)
    }

    /// The original's folder is seen through it again.
    pub(super) fn make_merged(self, dir: BorrowedFd<'_>) -> io::Result<()> {
        Ok(fremovexattr(dir, self.note())?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::MetadataExt;
    use std::path::PathBuf;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    struct FreezeWorld {
        dir: tempfile::TempDir,
    }

    impl FreezeWorld {
        /// Folders `base`, `one` and `two` with these files; `-path` is a deletion, `path/` a folder, `!path` an opaque one.
        fn new(files: &[(&str, &[&str])]) -> Self {
            let world = Self { dir: tempfile::tempdir().unwrap() };
            for (layer, paths) in files {
                fs::create_dir(world.at(layer)).unwrap();
                for path in *paths {
                    world.put(layer, path);
                }
            }
            world
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().join(path)
        }

        fn put(&self, layer: &str, path: &str) {
            let at = self.at(layer).join(path.trim_start_matches(['-', '!']));
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            if path.starts_with('-') {
                mknodat(CWD, &at, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
            } else if path.starts_with('!') {
                fs::create_dir_all(&at).unwrap();
                LayerOwner(None).make_opaque(fs::File::open(&at).unwrap().as_fd()).unwrap();
            } else if path.ends_with('/') {
                fs::create_dir_all(&at).unwrap();
            } else {
                fs::write(&at, layer).unwrap();
            }
        }

        fn joined(&self) -> Vec<String> {
            let to = self.at("to");
            freeze(Some(&self.at("one")), &self.at("two"), &self.at("base"), &to, None).unwrap();
            let mut found = Vec::new();
            let mut todo = vec![to.clone()];
            while let Some(folder) = todo.pop() {
                for entry in fs::read_dir(&folder).unwrap().flatten() {
                    let path = entry.path();
                    let name = path.strip_prefix(&to).unwrap().to_str().unwrap().to_owned();
                    let meta = entry.metadata().unwrap();
                    if meta.is_dir() {
                        let opaque =
                            LayerOwner(None).is_opaque(fs::File::open(&path).unwrap().as_fd()).unwrap();
                        found.push(if opaque { format!("!{name}") } else { format!("{name}/") });
                        todo.push(path);
                    } else if meta.is_file() {
                        found.push(format!("{name}={}", fs::read_to_string(&path).unwrap()));
                    } else {
                        found.push(format!("-{name}"));
                    }
                }
            }
            found.sort();
            found
        }
    }

    #[test]
    fn later_layers_win_as_the_kernel_would_have_it() {
        let check = |base: &[&str], one: &[&str], two: &[&str], expect: &[&str]| {
            let world = FreezeWorld::new(&[("base", base), ("one", one), ("two", two)]);
            assert_eq!(world.joined(), expect, "{one:?} {two:?}");
        };
        check(&["a"], &["a", "b"], &["b"], &["a=one", "b=two"]);
        // A file of the original, deleted after it was changed.
        check(&["a"], &["a"], &["-a"], &["-a"]);
        // A file that only an earlier turn made.
        check(&[], &["a"], &["-a"], &[]);
        // Deleted, then made again.
        check(&["a"], &["-a"], &["a"], &["a=two"]);
        // Folders merge, unless the later one covers everything.
        check(&["d/x"], &["d/a"], &["d/b"], &["d/", "d/a=one", "d/b=two"]);
        check(&["d/x"], &["d/a"], &["!d", "d/b"], &["!d", "d/b=two"]);
        // A folder where an earlier turn had deleted or replaced one shows nothing of the original.
        check(&["d/x"], &["-d"], &["d/b"], &["!d", "d/b=two"]);
        check(&["d/x"], &["d"], &["d/b"], &["!d", "d/b=two"]);
        check(&["d/x"], &["d/a"], &["-d"], &["-d"]);
        check(&["d/x"], &["d/a"], &["d"], &["d=two"]);
        // What covered everything before still does.
        check(&["d/x"], &["!d", "d/a"], &["d/b"], &["!d", "d/a=one", "d/b=two"]);
    }

    #[test]
    fn files_are_shared_and_both_layers_stay() {
        let world = FreezeWorld::new(&[("base", &[]), ("one", &["a"]), ("two", &["b"])]);
        world.joined();
        let inode = |path: &str| fs::metadata(world.at(path)).unwrap().ino();
        assert_eq!(inode("one/a"), inode("to/a"));
        assert_eq!(inode("two/b"), inode("to/b"));
    }
}
