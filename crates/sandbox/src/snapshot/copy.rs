//! A full copy of a workspace, sharing blocks where the file system can.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, SeekFrom, Timespec, Timestamps, Uid, chownat, copy_file_range, fchmod,
    fchown, fstat, futimens, ioctl_ficlone, mkdirat, openat, seek, symlinkat, utimensat,
};
use rustix::io::Errno;

use super::index::{CopyIndexEntry, CopyIndexWriter, FileStat};
use super::remove::remove_tree;
use super::tree::{
    OpenTree, TreeEntryKind, TreeEntryMeta, is_nameable, look, open_file_at, path_of, read_link_at,
};
use super::walk::{TreeWalk, WalkCursor, WalkEntry, WalkStep};
use super::{SkipReason, SkippedPath, SnapshotError};

/// How to make a copy.
pub(crate) struct CopyPlan<'a> {
    pub(crate) from: &'a Path,
    /// Must exist and be empty.
    pub(crate) to: &'a Path,
    /// Where the index goes; `None` for copies nobody compares later.
    pub(crate) index: Option<&'a Path>,
    /// Root-relative paths that are left out.
    pub(crate) without: &'a [Vec<u8>],
    /// Who shall own everything.
    pub(crate) owner: Option<(u32, u32)>,
    /// Whether to try sharing blocks.
    pub(crate) reflink: bool,
}

/// What a copy came to.
#[derive(Debug, Default)]
pub(crate) struct CopyResult {
    /// What was left out, and why.
    pub(crate) skipped: Vec<SkippedPath>,
    /// Whether blocks are shared with the original.
    pub(crate) reflinked: bool,
}

/// Copies everything; when that fails, deletes what was copied so far.
pub(crate) fn tree(plan: &CopyPlan<'_>) -> Result<CopyResult, SnapshotError> {
    let mut copier = TreeCopier { plan, copied: CopyResult::default(), index: None, reflink: plan.reflink };
    copier.run().inspect_err(|_| {
        let _ = remove_tree(plan.to);
        let _ = plan.index.map(std::fs::remove_file);
    })?;
    copier.copied.reflinked = copier.reflink;
    Ok(copier.copied)
}

struct TreeCopier<'a> {
    plan: &'a CopyPlan<'a>,
    copied: CopyResult,
    index: Option<CopyIndexWriter>,
    reflink: bool,
}

impl TreeCopier<'_> {
    fn run(&mut self) -> Result<(), SnapshotError> {
        let from = OpenTree::open(self.plan.from).map_err(SnapshotError::unreadable(self.plan.from))?;
        let to = OpenTree::open(self.plan.to).map_err(SnapshotError::io("open", self.plan.to))?;
        let write = |e: io::Error| SnapshotError::io("write", self.plan.to)(e);
        self.index = self.plan.index.map(CopyIndexWriter::create).transpose().map_err(write)?;
        let root = from.look(b"").map_err(SnapshotError::unreadable(self.plan.from))?;
        let start = from.open_dir(b"").map_err(SnapshotError::unreadable(self.plan.from))?;
        let mut walk = TreeWalk::new(start).map_err(SnapshotError::unreadable(self.plan.from))?;
        let mut target = WalkCursor::new(to.open_dir(b"").map_err(write)?);
        let mut entered: Vec<TreeEntryMeta> = Vec::new();
        loop {
            match walk.next().map_err(SnapshotError::io("read", self.plan.from))? {
                WalkStep::Entry(entry) => {
                    if self.plan.without.contains(&entry.path) {
                        continue;
                    }
                    if entry.meta.is_dir() {
                        match walk.descend(&entry) {
                            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                                self.skip(&entry, SkipReason::Unreadable);
                            }
                            Err(e) => {
                                return Err(SnapshotError::io(
                                    "read",
                                    self.plan.from.join(path_of(&entry.path)),
                                )(e));
                            }
                            Ok(()) => {
                                self.enter(&mut target, &entry)?;
                                entered.push(entry.meta);
                            }
                        }
                    } else {
                        self.leaf(walk.dir(), target.fd(), &entry)?;
                    }
                }
                WalkStep::Left => {
                    if let Some(meta) = entered.pop() {
                        self.finish_dir(target.fd(), &meta).map_err(write)?;
                    }
                    target.up().map_err(write)?;
                }
                WalkStep::Done => break,
            }
        }
        if let Some(meta) = root {
            self.finish_dir(target.fd(), &meta).map_err(write)?;
        }
        self.index.take().map_or(Ok(()), CopyIndexWriter::finish).map_err(write)
    }

    fn enter(&self, target: &mut WalkCursor, entry: &WalkEntry) -> Result<(), SnapshotError> {
        let failed = |e: Errno| SnapshotError::io("write", self.plan.to.join(path_of(&entry.path)))(e.into());
        mkdirat(target.fd(), OsStr::from_bytes(&entry.name), Mode::RWXU).map_err(failed)?;
        target.down(&entry.name).map_err(failed)
    }

    fn leaf(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        entry: &WalkEntry,
    ) -> Result<(), SnapshotError> {
        let done = match entry.meta.kind {
            TreeEntryKind::File => self.file(from, to, entry),
            TreeEntryKind::Symlink => self.link(from, to, entry),
            TreeEntryKind::Dir | TreeEntryKind::Whiteout | TreeEntryKind::Special => {
                self.skip(entry, SkipReason::Special);
                return Ok(());
            }
        };
        let pair = match done {
            Ok(pair) => pair,
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                self.skip(entry, SkipReason::Unreadable);
                return Ok(());
            }
            Err(e) => return Err(SnapshotError::io("copy", self.plan.from.join(path_of(&entry.path)))(e)),
        };
        if !is_nameable(&entry.path) {
            return Ok(());
        }
        match &mut self.index {
            Some(index) => index.add(&entry.path, &pair).map_err(SnapshotError::io("write", self.plan.to)),
            None => Ok(()),
        }
    }

    fn skip(&mut self, entry: &WalkEntry, why: SkipReason) {
        self.copied.skipped.push(SkippedPath { path: path_of(&entry.path), why });
    }

    fn file(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        entry: &WalkEntry,
    ) -> io::Result<CopyIndexEntry> {
        let source = open_file_at(from, &entry.name)?;
        // Looked at before reading: a change during the copy then shows as one made after it.
        let base = TreeEntryMeta::from(fstat(&source)?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = File::from(openat(to, OsStr::from_bytes(&entry.name), flags, Mode::RUSR | Mode::WUSR)?);
        self.content(&source, &target)?;
        self.give(target.as_fd(), &base)?;
        futimens(&target, &times(&base))?;
        Ok(CopyIndexEntry {
            base: FileStat::from(&base),
            copy: FileStat::from(&TreeEntryMeta::from(fstat(&target)?)),
        })
    }

    fn content(&mut self, source: &File, target: &File) -> io::Result<()> {
        if self.reflink {
            match ioctl_ficlone(target, source) {
                Ok(()) => return Ok(()),
                Err(Errno::NOSPC | Errno::DQUOT) => return Err(Errno::NOSPC.into()),
                // Not on this file system, or not between these two: never again in this copy.
                Err(_) => self.reflink = false,
            }
        }
        let meta = fstat(source)?;
        if (meta.st_blocks as u64).saturating_mul(512) < meta.st_size as u64
            && parts(source, target, meta.st_size as u64)?
        {
            return Ok(());
        }
        loop {
            match copy_file_range(source, None, target, None, 1 << 30) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::NOSPC) => return Err(Errno::NOSPC.into()),
                Err(_) => break,
            }
        }
        // Whatever the kernel did not copy itself (other file systems, files of unknown length).
        io::copy(&mut &*source, &mut &*target).map(drop)
    }

    fn link(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        entry: &WalkEntry,
    ) -> io::Result<CopyIndexEntry> {
        let target = read_link_at(from, &entry.name)?;
        let name = OsStr::from_bytes(&entry.name);
        symlinkat(OsStr::from_bytes(&target), to, name)?;
        if let Some((uid, gid)) = self.plan.owner {
            let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
            chownat(to, name, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        utimensat(to, name, &times(&entry.meta), AtFlags::SYMLINK_NOFOLLOW)?;
        let copy = look(to, &entry.name)?.ok_or(Errno::NOENT)?;
        Ok(CopyIndexEntry { base: FileStat::from(&entry.meta), copy: FileStat::from(&copy) })
    }

    fn finish_dir(&self, dir: BorrowedFd<'_>, meta: &TreeEntryMeta) -> io::Result<()> {
        self.give(dir, meta)?;
        Ok(futimens(dir, &times(meta))?)
    }

    /// Owner and permissions; never the bits that lend someone else's rights.
    fn give(&self, fd: BorrowedFd<'_>, meta: &TreeEntryMeta) -> io::Result<()> {
        if let Some((uid, gid)) = self.plan.owner {
            fchown(fd, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        Ok(fchmod(fd, Mode::from_raw_mode(meta.mode & 0o777))?)
    }
}

/// Copies what a file with holes holds and leaves the holes, so that the image of a disk costs what is in it; false, with
/// nothing copied, where the file system does not tell them.
fn parts(source: &File, target: &File, size: u64) -> io::Result<bool> {
    let mut at = 0;
    while at < size {
        let start = match seek(source, SeekFrom::Data(at)) {
            Ok(start) => start,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(_) if at == 0 => {
                seek(source, SeekFrom::Start(0))?;
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        at = seek(source, SeekFrom::Hole(start))?;
        seek(source, SeekFrom::Start(start))?;
        seek(target, SeekFrom::Start(start))?;
        io::copy(&mut source.take(at - start), &mut &*target)?;
    }
    target.set_len(size)?;
    Ok(true)
}

fn times(meta: &TreeEntryMeta) -> Timestamps {
    let at = Timespec { tv_sec: meta.mtime.sec, tv_nsec: meta.mtime.nsec.into() };
    Timestamps { last_access: at, last_modification: at }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn holes_stay_holes() {
        const SIZE: u64 = 64 << 20;
        let (source, target) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        source.set_len(SIZE).unwrap();
        for (offset, text) in [(0, "first"), (9 << 20, "in the middle"), (SIZE - 4, "last")] {
            source.write_all_at(text.as_bytes(), offset).unwrap();
        }
        assert!(parts(&source, &target, SIZE).unwrap(), "the file system of the tests knows holes");
        let (from, to) = (source.metadata().unwrap(), target.metadata().unwrap());
        assert_eq!(to.len(), SIZE);
        assert!(to.blocks() <= from.blocks() + 64, "{} blocks became {}", from.blocks(), to.blocks());
        let (mut ours, mut theirs) = (vec![0; 1 << 20], vec![0; 1 << 20]);
        for offset in (0..SIZE).step_by(1 << 20) {
            source.read_exact_at(&mut ours, offset).unwrap();
            target.read_exact_at(&mut theirs, offset).unwrap();
            assert!(ours == theirs, "at {offset}");
        }
    }
}
