//! Deleting what a run left behind, whatever shape it is in.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, unlinkat};
use rustix::io::Errno;

use super::tree::{OpenTree, TreeEntryKind};
use super::walk::{TreeWalk, WalkStep, make_accessible};

/// Deletes a directory and everything in it: any depth, directories without permissions, no link followed.
/// One that does not exist is fine.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let root = match OpenTree::open(path) {
        Ok(root) => root,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
            OpenTree::open(path)?
        }
        Err(e) => return Err(e),
    };
    let mut walk = TreeWalk::repairing(root.open_dir(b"")?)?;
    let mut entered = Vec::new();
    loop {
        match walk.next()? {
            WalkStep::Entry(entry) if entry.meta.kind == TreeEntryKind::Dir => {
                // Its entries cannot be deleted without write permission, whoever may read it.
                if entry.meta.mode & 0o700 != 0o700 {
                    make_accessible(walk.dir(), &entry)?;
                }
                walk.descend(&entry)?;
                entered.push(entry.name);
            }
            WalkStep::Entry(entry) => unlink(&walk, &entry.name, AtFlags::empty())?,
            WalkStep::Left => {
                if let Some(name) = entered.pop() {
                    unlink(&walk, &name, AtFlags::REMOVEDIR)?;
                }
            }
            WalkStep::Done => break,
        }
    }
    Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

fn unlink(walk: &TreeWalk, name: &[u8], flags: AtFlags) -> io::Result<()> {
    match unlinkat(walk.dir(), OsStr::from_bytes(name), flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// A directory of the host's own that goes away with the value.
#[derive(Debug)]
pub(crate) struct TempTree {
    path: PathBuf,
}

impl TempTree {
    pub(crate) fn new(parent: &Path, prefix: &str) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        Ok(Self { path: dir.keep() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempTree {
    fn drop(&mut self) {
        // Nobody to tell; what is left lies in the run's own directory and goes with it.
        let _ = remove_tree(&self.path);
    }
}
