//! A private directory with the touched files of the base: read once, so that everything after sees the same.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use holon_git::{Digest, FileMode};
use rustix::fs::{Mode, OFlags, mkdirat, openat, symlinkat};
use rustix::io::Errno;

use super::{Changes, Error, Side};
use crate::snapshot::TempTree;
use crate::snapshot::tree::{Meta, Root, join, open_dir_at, path_of};
use crate::snapshot::walk::{Entry, Step, Walk};

/// The staged base; deleted when dropped.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) root: Root,
    tree: TempTree,
}

impl Stage {
    /// Copies the base side of every change; gives their digests in the same order.
    pub(crate) fn base(changes: &Changes, parent: &Path) -> Result<(Self, Vec<Option<Digest>>), Error> {
        let tree = TempTree::new(parent, "stage-").map_err(Error::io("make a stage in", parent))?;
        let root = Root::open(tree.path()).map_err(Error::io("open", tree.path()))?;
        let stage = Self { root, tree };
        let mut digests = Vec::with_capacity(changes.entries.len());
        for change in &changes.entries {
            let failed = Error::io("stage", &change.path);
            digests.push(stage.put(changes, change.name(), change.base.as_ref()).map_err(failed)?);
        }
        stage.obstacles(changes)?;
        Ok((stage, digests))
    }

    pub(crate) fn path(&self) -> &Path {
        self.tree.path()
    }

    fn put(&self, changes: &Changes, path: &[u8], side: Option<&Side>) -> io::Result<Option<Digest>> {
        Ok(match side {
            None | Some(Side::Gitlink { .. }) => None,
            Some(Side::Symlink { target }) => {
                let (dir, name) = self.parent(path)?;
                symlinkat(OsStr::from_bytes(target), &dir, OsStr::from_bytes(name))?;
                Some(Digest::of_bytes(FileMode::Symlink, target))
            }
            Some(side @ Side::File { exec, place, .. }) => {
                let mut to = self.create(path, if *exec { 0o755 } else { 0o644 })?;
                let mut from = Tee { from: changes.open(place)?, to: &mut to };
                Some(Digest::of_reader(side.mode(), &mut from)?.0)
            }
        })
    }

    /// Where the patch puts a file in place of a directory, that directory must become empty: what it holds
    /// besides the touched files is put there too, so that git fails here and not at the user's.
    fn obstacles(&self, changes: &Changes) -> Result<(), Error> {
        let Some(roots) = &changes.roots else { return Ok(()) };
        for replaced in &changes.replaced {
            let failed = || Error::io("stage", path_of(replaced));
            let mut walk = roots.base.open_dir(replaced).and_then(Walk::new).map_err(failed())?;
            loop {
                match walk.next().map_err(failed())? {
                    Step::Entry(entry) if entry.meta.is_dir() => {
                        self.directory(&join(replaced, &entry.path)).map_err(failed())?;
                        walk.descend(&entry).map_err(failed())?;
                    }
                    Step::Entry(Entry { path, .. }) => {
                        let path = join(replaced, &path);
                        if self.root.look(&path).map_err(failed())?.is_none() {
                            self.create(&path, 0o644).map_err(failed())?;
                        }
                    }
                    Step::Left => {}
                    Step::Done => break,
                }
            }
        }
        Ok(())
    }

    fn create(&self, path: &[u8], mode: u32) -> io::Result<File> {
        let (dir, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&dir, OsStr::from_bytes(name), flags, Mode::from_raw_mode(mode))?))
    }

    fn directory(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let mut dir = open_dir_at(self.root.fd(), b".")?;
        for part in path.split(|&b| b == b'/').filter(|part| !part.is_empty()) {
            match mkdirat(&dir, OsStr::from_bytes(part), Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
            dir = open_dir_at(dir.as_fd(), part)?;
        }
        Ok(dir)
    }

    fn parent<'p>(&self, path: &'p [u8]) -> io::Result<(OwnedFd, &'p [u8])> {
        match path.iter().rposition(|&b| b == b'/') {
            Some(slash) => Ok((self.directory(&path[..slash])?, &path[slash + 1..])),
            None => Ok((self.directory(b"")?, path)),
        }
    }

    /// Everything in the stage that is not a directory.
    pub(crate) fn files(&self) -> io::Result<Vec<(Vec<u8>, Meta)>> {
        let mut walk = Walk::new(self.root.open_dir(b"")?)?;
        let mut files = Vec::new();
        loop {
            match walk.next()? {
                Step::Entry(entry) if entry.meta.is_dir() => walk.descend(&entry)?,
                Step::Entry(entry) => files.push((entry.path, entry.meta)),
                Step::Left => {}
                Step::Done => return Ok(files),
            }
        }
    }
}

/// Reads, and writes what was read.
pub(crate) struct Tee<'w, R, W> {
    pub(crate) from: R,
    pub(crate) to: &'w mut W,
}

impl<R: Read, W: Write> Read for Tee<'_, R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.to.write_all(&buffer[..n])?;
        Ok(n)
    }
}
