//! Making a layer of what a setup left. Whatever a setup runs is not trusted: no link is followed, and special files, marks of
//! the kernel and the bits that lend rights are left behind.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_git::{Git, Repository, tracked};
use rustix::fs::{AtFlags, Mode, Timespec, Timestamps, fchmod, futimens, mkdirat, symlinkat, utimensat};

use super::shared::SharedFiles;
use crate::diff::{BaseIgnoreRules, is_dot_git};
use crate::snapshot::freeze::LayerOwner;
use crate::snapshot::tree::{
    OpenTree, TreeEntryKind, TreeEntryMeta, bytes, is_nameable, join, look, open_dir_at, open_file_at,
    path_of, read_link_at,
};
use crate::snapshot::walk::{TreeWalk, WalkCursor, WalkStep, make_accessible};
use crate::snapshot::{SnapshotError, WorkspaceSnapshot, layers};

/// How much is in a layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeptSize {
    /// Files and links.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

impl KeptSize {
    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

/// Why an ignored path is not in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// The repository has files below it, which the layer would hide.
    HoldsTracked,
    /// Its name is no text.
    NoText,
    /// Something that is no folder stands above it.
    NoRoom,
}

/// What was kept of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptIgnored {
    /// The paths that were kept, none inside another.
    pub roots: Vec<PathBuf>,
    /// Those that were not, and why.
    pub left_out: Vec<(PathBuf, LeftOut)>,
    /// How much.
    pub size: KeptSize,
}

/// Writes layers.
#[derive(Clone, Copy)]
pub struct LayerKeeper<'a> {
    /// Where files are shared.
    pub shared: &'a SharedFiles,
    /// Whether the time of a file counts, by its path.
    pub time_counts: &'a dyn Fn(&str) -> bool,
    /// Whether root will mount it, which decides where the kernel looks for its marks.
    pub by_root: bool,
}

impl std::fmt::Debug for LayerKeeper<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LayerKeeper").field("by_root", &self.by_root).finish_non_exhaustive()
    }
}

impl LayerKeeper<'_> {
    /// Keeps the ignored paths among what was written to a snapshot, in `to`, which must be empty. Nothing may run in it any more.
    pub fn ignored(
        &self,
        snapshot: &WorkspaceSnapshot,
        git: &Git,
        to: &Path,
    ) -> Result<KeptIgnored, SnapshotError> {
        let Some(from) = snapshot.written() else { return Ok(KeptIgnored::default()) };
        let workspace = snapshot.workspace();
        let repository = Repository::look(workspace)?.repository;
        let mut kept = KeptIgnored::default();
        let Some(repository) = repository else { return Ok(kept) };
        let rules = BaseIgnoreRules::of(Some(&repository)).map_err(SnapshotError::unreadable(workspace))?;
        let read = || SnapshotError::io("read", from);
        let written = OpenTree::open(from).map_err(read())?;
        let base = OpenTree::open(workspace).map_err(SnapshotError::unreadable(workspace))?;
        let found = ignored_in(&written, &rules).map_err(read())?;
        let tracked = tracked::below(git, &repository, &found)?;
        for root in found {
            let refused = if root.to_str().is_none() {
                Some(LeftOut::NoText)
            } else if tracked.keys().any(|path| path.starts_with(&root)) {
                Some(LeftOut::HoldsTracked)
            } else {
                let above = root.parent().map(bytes).unwrap_or_default();
                let room = above.is_empty() || {
                    let made = layers::mirror(to, &base, above, None);
                    made.map_err(SnapshotError::io("write", to))?
                };
                (!room).then_some(LeftOut::NoRoom)
            };
            if let Some(why) = refused {
                kept.left_out.push((root, why));
                continue;
            }
            kept.size
                .add(self.root(&written, &root, to).map_err(SnapshotError::io("write", to.join(&root)))?);
            kept.roots.push(root);
        }
        Ok(kept)
    }

    /// Keeps everything in a folder, in `to`, which must be empty; `seen_at` is where it is inside.
    pub fn folder(&self, from: &Path, to: &Path, seen_at: &str) -> Result<KeptSize, SnapshotError> {
        let keep = || -> io::Result<KeptSize> {
            let from = match OpenTree::open(from) {
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                    fs::set_permissions(from, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
                    OpenTree::open(from)?
                }
                opened => opened?,
            };
            let to = OpenTree::open(to)?;
            self.inside(from.open_dir(b"")?, to.open_dir(b"")?, seen_at)
        };
        keep().map_err(SnapshotError::io("write", to))
    }

    fn root(&self, written: &OpenTree, root: &Path, to: &Path) -> io::Result<KeptSize> {
        let path = bytes(root);
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let meta = written.look(path)?.ok_or_else(missing)?;
        let name = root.file_name().ok_or_else(missing)?.as_bytes();
        let target = OpenTree::open(&to.join(root.parent().unwrap_or(Path::new(""))))?;
        let source = written.open_dir(root.parent().map(bytes).unwrap_or_default())?;
        if !meta.is_dir() {
            return self.leaf(source.as_fd(), name, &meta, target.fd(), &root.to_string_lossy());
        }
        mkdirat(target.fd(), OsStr::from_bytes(name), Mode::RWXU)?;
        let folder = open_dir_at(target.fd(), name)?;
        let again = open_dir_at(target.fd(), name)?;
        let size = self.inside(open_dir_at(source.as_fd(), name)?, folder, &root.to_string_lossy())?;
        // What the workspace has at this path is not to be mixed with it.
        LayerOwner(self.by_root.then_some((0, 0))).make_opaque(again.as_fd())?;
        finish(again.as_fd(), &meta)?;
        Ok(size)
    }

    /// Everything in an open folder, into another one.
    fn inside(&self, from: OwnedFd, to: OwnedFd, above: &str) -> io::Result<KeptSize> {
        let mut walk = TreeWalk::repairing(from)?;
        let mut target = WalkCursor::new(to);
        let mut entered: Vec<TreeEntryMeta> = Vec::new();
        let mut size = KeptSize::default();
        loop {
            match walk.next()? {
                WalkStep::Entry(entry) if !is_nameable(&entry.path) => {}
                WalkStep::Entry(entry) if entry.meta.is_dir() => {
                    mkdirat(target.fd(), OsStr::from_bytes(&entry.name), Mode::RWXU)?;
                    walk.descend(&entry)?;
                    target.down(&entry.name)?;
                    entered.push(entry.meta);
                }
                WalkStep::Entry(entry) => {
                    if entry.meta.kind == TreeEntryKind::File && entry.meta.mode & 0o400 == 0 {
                        make_accessible(walk.dir(), &entry)?;
                    }
                    let path = join(above.as_bytes(), &entry.path);
                    let path = String::from_utf8_lossy(&path);
                    size.add(self.leaf(walk.dir(), &entry.name, &entry.meta, target.fd(), &path)?);
                }
                WalkStep::Left => {
                    if let Some(meta) = entered.pop() {
                        finish(target.fd(), &meta)?;
                    }
                    target.up()?;
                }
                WalkStep::Done => return Ok(size),
            }
        }
    }

    fn leaf(
        &self,
        from: BorrowedFd<'_>,
        name: &[u8],
        meta: &TreeEntryMeta,
        to: BorrowedFd<'_>,
        path: &str,
    ) -> io::Result<KeptSize> {
        match meta.kind {
            TreeEntryKind::File => {
                let mut source = open_file_at(from, name)?;
                self.shared.put(&mut source, meta, (self.time_counts)(path), to, name)?;
                Ok(KeptSize { files: 1, bytes: meta.size })
            }
            TreeEntryKind::Symlink => {
                let target = read_link_at(from, name)?;
                symlinkat(OsStr::from_bytes(&target), to, OsStr::from_bytes(name))?;
                utimensat(to, OsStr::from_bytes(name), &times(meta), AtFlags::SYMLINK_NOFOLLOW)?;
                Ok(KeptSize { files: 1, bytes: 0 })
            }
            TreeEntryKind::Dir | TreeEntryKind::Whiteout | TreeEntryKind::Special => Ok(KeptSize::default()),
        }
    }
}

/// The topmost ignored paths among what was written.
fn ignored_in(written: &OpenTree, rules: &BaseIgnoreRules) -> io::Result<Vec<PathBuf>> {
    let mut walk = TreeWalk::repairing(written.open_dir(b"")?)?;
    let mut found = Vec::new();
    loop {
        match walk.next()? {
            WalkStep::Entry(entry) if is_dot_git(&entry.name) || !is_nameable(&entry.path) => {}
            WalkStep::Entry(entry)
                if matches!(entry.meta.kind, TreeEntryKind::Whiteout | TreeEntryKind::Special) => {}
            WalkStep::Entry(entry) if rules.matches(&entry.path, entry.meta.is_dir()) => {
                if entry.meta.is_dir() && entry.meta.mode & 0o500 != 0o500
                    || entry.meta.kind == TreeEntryKind::File && entry.meta.mode & 0o400 == 0
                {
                    make_accessible(walk.dir(), &entry)?;
                }
                // What is gone by now is not kept.
                if look(walk.dir(), &entry.name)?.is_some() {
                    found.push(path_of(&entry.path));
                }
            }
            WalkStep::Entry(entry) if entry.meta.is_dir() => walk.descend(&entry)?,
            WalkStep::Entry(_) | WalkStep::Left => {}
            WalkStep::Done => return Ok(found),
        }
    }
}

fn finish(dir: BorrowedFd<'_>, meta: &TreeEntryMeta) -> io::Result<()> {
    fchmod(dir, Mode::from_raw_mode((meta.mode & 0o777) | 0o700))?;
    Ok(futimens(dir, &times(meta))?)
}

fn times(meta: &TreeEntryMeta) -> Timestamps {
    let at = Timespec { tv_sec: meta.mtime.sec, tv_nsec: meta.mtime.nsec.into() };
    Timestamps { last_access: at, last_modification: at }
}
