//! A private directory with the touched files of the base: read once, so that everything after sees the same.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use holon_git::{FileMode, PathDigest};
use rustix::fs::{Mode, OFlags, mkdirat, openat, symlinkat};
use rustix::io::Errno;

use super::{CollectedChanges, DiffError, PathVersion};
use crate::snapshot::TempTree;
use crate::snapshot::tree::{OpenTree, TreeEntryMeta, join, open_dir_at, path_of};
use crate::snapshot::walk::{TreeWalk, WalkEntry, WalkStep};

/// The staged base; deleted when dropped.
#[derive(Debug)]
pub(crate) struct StagedBase {
    pub(crate) root: OpenTree,
    tree: TempTree,
}

impl StagedBase {
    /// Copies the base side of every change; gives their digests in the same order.
    pub(crate) fn base(
        changes: &CollectedChanges,
        parent: &Path,
    ) -> Result<(Self, Vec<Option<PathDigest>>), DiffError> {
        let tree = TempTree::new(parent, "stage-").map_err(DiffError::io("make a stage in", parent))?;
        let root = OpenTree::open(tree.path()).map_err(DiffError::io("open", tree.path()))?;
        let stage = Self { root, tree };
        let mut digests = Vec::with_capacity(changes.entries.len());
        for change in &changes.entries {
            let failed = DiffError::io("stage", &change.path);
            digests.push(stage.put(changes, change.name(), change.base.as_ref()).map_err(failed)?);
        }
        stage.obstacles(changes)?;
        Ok((stage, digests))
    }

    pub(crate) fn path(&self) -> &Path {
        self.tree.path()
    }

    fn put(
        &self,
        changes: &CollectedChanges,
        path: &[u8],
        side: Option<&PathVersion>,
    ) -> io::Result<Option<PathDigest>> {
        Ok(match side {
            None | Some(PathVersion::Gitlink { .. }) => None,
            Some(PathVersion::Symlink { target }) => {
                let (dir, name) = self.parent(path)?;
                symlinkat(OsStr::from_bytes(target), &dir, OsStr::from_bytes(name))?;
                Some(PathDigest::of_bytes(FileMode::Symlink, target))
            }
            Some(side @ PathVersion::File { exec, place, .. }) => {
                let mut to = self.create(path, if *exec { 0o755 } else { 0o644 })?;
                let mut from = TeeReader { from: changes.open(place)?, to: &mut to };
                Some(PathDigest::of_reader(side.mode(), &mut from)?.0)
            }
        })
    }

    /// Where the patch puts a file in place of a directory, that directory must become empty: what it holds
    /// besides the touched files is put there too, so that git fails here and not at the user's.
    fn obstacles(&self, changes: &CollectedChanges) -> Result<(), DiffError> {
        let Some(roots) = &changes.roots else { return Ok(()) };
        for replaced in &changes.replaced {
            let failed = || DiffError::io("stage", path_of(replaced));
            let mut walk = roots.base.open_dir(replaced).and_then(TreeWalk::new).map_err(failed())?;
            loop {
                match walk.next().map_err(failed())? {
                    WalkStep::Entry(entry) if entry.meta.is_dir() => {
                        self.directory(&join(replaced, &entry.path)).map_err(failed())?;
                        walk.descend(&entry).map_err(failed())?;
                    }
                    WalkStep::Entry(WalkEntry { path, .. }) => {
                        let path = join(replaced, &path);
                        if self.root.look(&path).map_err(failed())?.is_none() {
                            self.create(&path, 0o644).map_err(failed())?;
                        }
                    }
                    WalkStep::Left => {}
                    WalkStep::Done => break,
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
    pub(crate) fn files(&self) -> io::Result<Vec<(Vec<u8>, TreeEntryMeta)>> {
        let mut walk = TreeWalk::new(self.root.open_dir(b"")?)?;
        let mut files = Vec::new();
        loop {
            match walk.next()? {
                WalkStep::Entry(entry) if entry.meta.is_dir() => walk.descend(&entry)?,
                WalkStep::Entry(entry) => files.push((entry.path, entry.meta)),
                WalkStep::Left => {}
                WalkStep::Done => return Ok(files),
            }
        }
    }
}

/// Reads, and writes what was read.
pub(crate) struct TeeReader<'w, R, W> {
    pub(crate) from: R,
    pub(crate) to: &'w mut W,
}

impl<R: Read, W: Write> Read for TeeReader<'_, R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.to.write_all(&buffer[..n])?;
        Ok(n)
    }
}
