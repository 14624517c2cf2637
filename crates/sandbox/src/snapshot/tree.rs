//! Directories nobody vouches for: every access is relative to an open root and follows no link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::stamp::FileTimestamp;

/// Longer paths cannot be named in one system call, so neither git nor a person can do anything with them.
pub(crate) const LONGEST_PATH: usize = 4000;
/// Deeper trees are somebody's attempt to make others work: each path costs as much as it is deep.
const DEEPEST_PATH: usize = 512;

/// Whether a path can be part of a patch.
pub(crate) fn is_nameable(path: &[u8]) -> bool {
    path.len() <= LONGEST_PATH && path.iter().filter(|&&b| b == b'/').count() < DEEPEST_PATH
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeEntryKind {
    File,
    Dir,
    Symlink,
    /// A character device 0:0, by which an overlay says that something is deleted.
    Whiteout,
    /// FIFO, socket or device.
    Special,
}

/// What `lstat` says, as far as anything here needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeEntryMeta {
    pub(crate) kind: TreeEntryKind,
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) mtime: FileTimestamp,
    pub(crate) ctime: FileTimestamp,
}

impl TreeEntryMeta {
    pub(crate) fn is_dir(&self) -> bool {
        self.kind == TreeEntryKind::Dir
    }

    /// The one permission git keeps.
    pub(crate) fn is_exec(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

#[allow(clippy::unnecessary_cast, reason = "the widths differ between architectures")]
impl From<Stat> for TreeEntryMeta {
    fn from(stat: Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => TreeEntryKind::File,
            FileType::Directory => TreeEntryKind::Dir,
            FileType::Symlink => TreeEntryKind::Symlink,
            FileType::CharacterDevice if stat.st_rdev == 0 => TreeEntryKind::Whiteout,
            _ => TreeEntryKind::Special,
        };
        Self {
            kind,
            mode: stat.st_mode & 0o7777,
            size: stat.st_size as u64,
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            mtime: FileTimestamp { sec: stat.st_mtime as i64, nsec: stat.st_mtime_nsec as u32 },
            ctime: FileTimestamp { sec: stat.st_ctime as i64, nsec: stat.st_ctime_nsec as u32 },
        }
    }
}

/// Looks at one name in an open directory; `None` when nothing is there.
pub(crate) fn look(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<Option<TreeEntryMeta>> {
    match statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat.into())),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Opens a directory by name in an open one, never through a link.
pub(crate) fn open_dir_at(dir: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    openat(dir, OsStr::from_bytes(name), flags, Mode::empty())
}

/// Opens a regular file by name in an open directory: no link followed, no waiting on a FIFO.
pub(crate) fn open_file_at(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = openat(dir, OsStr::from_bytes(name), flags, Mode::empty())?;
    if TreeEntryMeta::from(fstat(&fd)?).kind != TreeEntryKind::File {
        return Err(io::Error::other("it is no longer a regular file"));
    }
    Ok(File::from(fd))
}

/// The target of a link by name in an open directory.
pub(crate) fn read_link_at(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<Vec<u8>> {
    Ok(readlinkat(dir, OsStr::from_bytes(name), Vec::new())?.into_bytes())
}

/// A directory (`None`: the root itself) and a name in it.
pub(crate) type DirEntryName<'p> = (Option<Arc<OwnedFd>>, &'p [u8]);

/// An open directory below which paths are resolved one component at a time.
#[derive(Debug)]
pub(crate) struct OpenTree {
    fd: OwnedFd,
    path: PathBuf,
    /// The directory resolved last: the next path is usually in it or below it.
    last: Mutex<Option<(Vec<u8>, Arc<OwnedFd>)>>,
}

impl OpenTree {
    /// Opens `path`; this one path is the host's own and may contain links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            fd: openat(CWD, path, flags, Mode::empty())?,
            path: path.to_owned(),
            last: Mutex::default(),
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Where it was opened, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is at `rel`; `None` when it or a directory above it is missing, or one above is a link.
    pub(crate) fn look(&self, rel: &[u8]) -> io::Result<Option<TreeEntryMeta>> {
        if rel.is_empty() {
            return Ok(Some(fstat(&self.fd)?.into()));
        }
        match self.parent_of(rel)? {
            Some((dir, name)) => look(dir.as_deref().map_or(self.fd(), AsFd::as_fd), name),
            None => Ok(None),
        }
    }

    /// Opens the regular file at `rel`.
    pub(crate) fn open_file(&self, rel: &[u8]) -> io::Result<File> {
        let (dir, name) = self.parent_of(rel)?.ok_or(Errno::NOENT)?;
        open_file_at(dir.as_deref().map_or(self.fd(), AsFd::as_fd), name)
    }

    /// The target of the link at `rel`.
    pub(crate) fn read_link(&self, rel: &[u8]) -> io::Result<Vec<u8>> {
        let (dir, name) = self.parent_of(rel)?.ok_or(Errno::NOENT)?;
        read_link_at(dir.as_deref().map_or(self.fd(), AsFd::as_fd), name)
    }

    /// Opens the directory at `rel`; the root itself for the empty path.
    pub(crate) fn open_dir(&self, rel: &[u8]) -> io::Result<OwnedFd> {
        if rel.is_empty() {
            return Ok(open_dir_at(self.fd(), b".")?);
        }
        let (dir, name) = self.parent_of(rel)?.ok_or(Errno::NOENT)?;
        Ok(open_dir_at(dir.as_deref().map_or(self.fd(), AsFd::as_fd), name)?)
    }

    /// The whole content of a small regular file; `None` when there is none, or it is larger than `cap`.
    pub(crate) fn read_small(&self, rel: &[u8], cap: u64) -> io::Result<Option<Vec<u8>>> {
        use std::io::Read;
        if !self.look(rel)?.is_some_and(|meta| meta.kind == TreeEntryKind::File && meta.size <= cap) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.open_file(rel)?.take(cap).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// The directory that holds `rel`, and its last name; `None` when there is no such directory.
    pub(crate) fn parent_of<'p>(&self, rel: &'p [u8]) -> io::Result<Option<DirEntryName<'p>>> {
        let Some(end) = rel.iter().rposition(|&b| b == b'/') else { return Ok(Some((None, rel))) };
        let (mut dir, mut at) = self.nearest(&rel[..end]);
        while at < end {
            let next = rel[at..end].iter().position(|&b| b == b'/').map_or(end, |slash| at + slash);
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let from = dir.as_deref().map_or(self.fd(), AsFd::as_fd);
            match openat(from, OsStr::from_bytes(&rel[at..next]), flags, Mode::empty()) {
                Ok(opened) => dir = Some(Arc::new(opened)),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
            at = next + 1;
        }
        if let (Some(dir), Ok(mut last)) = (&dir, self.last.lock()) {
            *last = Some((rel[..end].to_vec(), Arc::clone(dir)));
        }
        Ok(Some((dir, &rel[end + 1..])))
    }

    /// Where to begin looking for the directory `rel`: an open directory and how much of `rel` it covers.
    fn nearest(&self, rel: &[u8]) -> (Option<Arc<OwnedFd>>, usize) {
        if let Ok(last) = self.last.lock()
            && let Some((path, fd)) = &*last
            && rel.starts_with(path)
            && matches!(rel.get(path.len()), None | Some(b'/'))
        {
            return (Some(Arc::clone(fd)), path.len() + 1);
        }
        (None, 0)
    }
}

/// `dir/name`, or just `name` at the root.
pub(crate) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() {
        return name.to_vec();
    }
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    path.extend_from_slice(dir);
    path.push(b'/');
    path.extend_from_slice(name);
    path
}

/// The bytes of a path.
pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// A path of these bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
