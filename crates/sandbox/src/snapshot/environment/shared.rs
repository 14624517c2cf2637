//! Files that several layers hold once, known by what they hold: each layer has a hard link to them.
//!
//! Nobody can write to them through a layer, which is only ever mounted below something else.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, copy_file_range, fchmod, futimens, ioctl_ficlone,
    linkat, openat, renameat,
};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::snapshot::tree::{TreeEntryKind, TreeEntryMeta, look};

/// Files of one user's layers.
#[derive(Debug)]
pub struct SharedFiles {
    folder: PathBuf,
    number: AtomicU64,
}

/// What a sweep took away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweptFiles {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl SharedFiles {
    /// Those in a folder, which is made when it is not there.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_owned(), number: AtomicU64::new(0) })
    }

    /// Puts a file at `name` of a folder of a layer: a link to one with the same content and permissions, and, where that
    /// counts, the same time.
    pub(super) fn put(
        &self,
        source: &mut File,
        meta: &TreeEntryMeta,
        time_counts: bool,
        to: BorrowedFd<'_>,
        name: &[u8],
    ) -> io::Result<()> {
        let mode = (meta.mode & 0o777) | 0o400;
        let digest = digest(source)?;
        let time =
            if time_counts { format!("-{}.{}", meta.mtime.sec, meta.mtime.nsec) } else { String::new() };
        let (shelf, rest) = digest.split_at(2);
        let shelf = self.folder.join(shelf);
        let known = shelf.join(format!("{rest}-{mode:o}{time}"));
        let as_it_was = |path: &Path| {
            look(CWD, path.as_os_str().as_bytes()).is_ok_and(|there| {
                there.is_some_and(|there| there.kind == TreeEntryKind::File && there.size == meta.size)
            })
        };
        if !as_it_was(&known) {
            fs::create_dir_all(&shelf)?;
            let temp = shelf.join(format!(
                "new-{}-{}",
                std::process::id(),
                self.number.fetch_add(1, Ordering::Relaxed)
            ));
            let made = write(source, &temp, mode, meta).and_then(|()| Ok(renameat(CWD, &temp, CWD, &known)?));
            made.inspect_err(|_| {
                let _ = fs::remove_file(&temp);
            })?;
        }
        let name = OsStr::from_bytes(name);
        match linkat(CWD, &known, to, name, AtFlags::empty()) {
            // As many links as the file system allows, or a file system without.
            Err(Errno::MLINK | Errno::PERM | Errno::XDEV) => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let target = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
                fill(source, &target, mode, meta)
            }
            linked => Ok(linked?),
        }
    }

    /// Takes away what no layer has any more. Nobody may make a layer meanwhile.
    pub fn sweep(&self) -> io::Result<SweptFiles> {
        let mut swept = SweptFiles::default();
        for shelf in fs::read_dir(&self.folder)? {
            let shelf = shelf?.path();
            for file in fs::read_dir(&shelf)? {
                let file = file?;
                let meta = file.metadata()?;
                if meta.nlink() == 1 {
                    fs::remove_file(file.path())?;
                    swept.files += 1;
                    swept.bytes += meta.blocks() * 512;
                }
            }
            // One that still holds something stays.
            let _ = fs::remove_dir(&shelf);
        }
        Ok(swept)
    }
}

fn digest(source: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(holon_git::touched::hex(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}

fn write(source: &mut File, temp: &Path, mode: u32, meta: &TreeEntryMeta) -> io::Result<()> {
    let target = File::options().write(true).create_new(true).open(temp)?;
    fill(source, &target, mode, meta)
}

/// Content, permissions and time of a file, into a fresh one.
fn fill(source: &mut File, target: &File, mode: u32, meta: &TreeEntryMeta) -> io::Result<()> {
    io::Seek::rewind(source)?;
    if ioctl_ficlone(target, &*source).is_err() {
        loop {
            match copy_file_range(&*source, None, target, None, 1 << 30) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(e @ (Errno::NOSPC | Errno::DQUOT)) => return Err(e.into()),
                Err(_) => break,
            }
        }
        // Whatever the kernel did not copy itself.
        io::copy(source, &mut &*target)?;
    }
    fchmod(target.as_fd(), Mode::from_raw_mode(mode))?;
    let at = Timespec { tv_sec: meta.mtime.sec, tv_nsec: meta.mtime.nsec.into() };
    Ok(futimens(target, &Timestamps { last_access: at, last_modification: at })?)
}
