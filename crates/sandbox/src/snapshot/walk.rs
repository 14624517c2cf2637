//! Walking a tree of any depth with one open directory and no recursion.
//!
//! Going down opens the child by name; going up opens `..` and checks that it is the directory it came from.
//! So neither the call stack, nor the number of descriptors, nor the length of a path limits the depth, and a
//! directory moved meanwhile is an error instead of a way out.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Dir, Mode, chmodat, fstat};
use rustix::io::Errno;

use super::tree::{TreeEntryMeta, join, look, open_dir_at};

/// An open directory that can move one step down or up.
#[derive(Debug)]
pub(crate) struct WalkCursor {
    fd: OwnedFd,
    above: Vec<(u64, u64)>,
}

impl WalkCursor {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self { fd, above: Vec::new() }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn down(&mut self, name: &[u8]) -> rustix::io::Result<()> {
        let here = TreeEntryMeta::from(fstat(&self.fd)?);
        self.fd = open_dir_at(self.fd(), name)?;
        self.above.push((here.dev, here.ino));
        Ok(())
    }

    pub(crate) fn up(&mut self) -> io::Result<()> {
        let Some(expected) = self.above.pop() else { return Ok(()) };
        let parent = open_dir_at(self.fd(), b"..")?;
        let meta = TreeEntryMeta::from(fstat(&parent)?);
        if (meta.dev, meta.ino) != expected {
            return Err(io::Error::other("a directory was moved while it was being read"));
        }
        self.fd = parent;
        Ok(())
    }
}

/// One name found in the current directory.
#[derive(Debug, Clone)]
pub(crate) struct WalkEntry {
    pub(crate) name: Vec<u8>,
    /// Relative to where the walk began.
    pub(crate) path: Vec<u8>,
    pub(crate) meta: TreeEntryMeta,
}

/// What [`TreeWalk::next`] came to.
#[derive(Debug)]
pub(crate) enum WalkStep {
    Entry(WalkEntry),
    /// The current directory is finished and has been left; the walk is in its parent again.
    Left,
    /// Everything has been seen.
    Done,
}

/// A walk in byte order of the names; the caller chooses which directories to enter.
#[derive(Debug)]
pub(crate) struct TreeWalk {
    cursor: WalkCursor,
    path: Vec<u8>,
    frames: Vec<WalkFrame>,
    /// Makes directories readable that their owner (the payload, which is gone) made unreadable.
    repair: bool,
}

#[derive(Debug)]
struct WalkFrame {
    names: Vec<Vec<u8>>,
    next: usize,
    path_len: usize,
}

impl TreeWalk {
    pub(crate) fn new(dir: OwnedFd) -> io::Result<Self> {
        let mut walk =
            Self { cursor: WalkCursor::new(dir), path: Vec::new(), frames: Vec::new(), repair: false };
        walk.enter(0)?;
        Ok(walk)
    }

    /// A walk over what a payload left: its owner may have taken permissions away, which are given back.
    pub(crate) fn repairing(dir: OwnedFd) -> io::Result<Self> {
        Ok(Self { repair: true, ..Self::new(dir)? })
    }

    /// The directory the walk is in.
    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.cursor.fd()
    }

    /// All names in the directory the walk is in, sorted.
    pub(crate) fn names(&self) -> &[Vec<u8>] {
        self.frames.last().map_or(&[], |frame| &frame.names)
    }

    pub(crate) fn next(&mut self) -> io::Result<WalkStep> {
        loop {
            let Some(frame) = self.frames.last_mut() else { return Ok(WalkStep::Done) };
            let Some(name) = frame.names.get(frame.next).cloned() else {
                let left = self.frames.pop();
                self.path.truncate(left.map_or(0, |frame| frame.path_len));
                if self.frames.is_empty() {
                    return Ok(WalkStep::Done);
                }
                self.cursor.up()?;
                return Ok(WalkStep::Left);
            };
            frame.next += 1;
            // A name can vanish from a tree in use; then there is nothing to report.
            if let Some(meta) = look(self.cursor.fd(), &name)? {
                let path = join(&self.path, &name);
                return Ok(WalkStep::Entry(WalkEntry { name, path, meta }));
            }
        }
    }

    /// Enters a directory just reported; its entries come next, then [`WalkStep::Left`].
    pub(crate) fn descend(&mut self, entry: &WalkEntry) -> io::Result<()> {
        match self.cursor.down(&entry.name) {
            Err(Errno::ACCESS) if self.repair => {
                make_accessible(self.cursor.fd(), entry)?;
                self.cursor.down(&entry.name)?;
            }
            done => done?,
        }
        let path_len = self.path.len();
        self.path.clone_from(&entry.path);
        self.enter(path_len)
    }

    fn enter(&mut self, path_len: usize) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.cursor.fd())? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
        }
        names.sort_unstable();
        self.frames.push(WalkFrame { names, next: 0, path_len });
        Ok(())
    }
}

/// Gives the owner back the right to read (and, for a directory, to pass).
pub(crate) fn make_accessible(dir: BorrowedFd<'_>, entry: &WalkEntry) -> io::Result<()> {
    let more = if entry.meta.is_dir() { 0o700 } else { 0o600 };
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(entry.name.as_slice());
    // Only called where nothing else writes any more, on an entry just seen not to be a link.
    chmodat(dir, name, Mode::from_raw_mode(entry.meta.mode | more), rustix::fs::AtFlags::empty())?;
    Ok(())
}
