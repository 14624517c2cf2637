//! The folders of a run that back what it may write to in a toolchain: layers, veils and private places.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::HostMountError;
use crate::mount::Overlay;

/// Makes folders below the run's own, side by side: on a disk, every one of them costs more than all the looking.
#[derive(Debug)]
pub(super) struct BackingFolders {
    folder: PathBuf,
    owner: Option<(u32, u32)>,
    count: u32,
}

impl BackingFolders {
    /// Below `run_dir`; folders the payload writes to belong to `owner`.
    pub(super) fn new(run_dir: &Path, owner: Option<(u32, u32)>) -> Self {
        Self { folder: run_dir.join("expose"), owner, count: 0 }
    }

    /// A new folder; those of an earlier start of the same run are never used again.
    fn next(&mut self, name: &str, mode: u32) -> Result<PathBuf, HostMountError> {
        if self.count == 0 {
            match DirBuilder::new().mode(0o700).create(&self.folder) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(HostMountError::prepare(&self.folder)(e));
                }
                _ => {}
            }
        }
        loop {
            self.count += 1;
            let next = self.folder.join(format!("{}-{name}", self.count));
            match self.make(&next, mode) {
                Ok(()) => return Ok(next),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(HostMountError::prepare(&next)(e)),
            }
        }
    }

    /// A folder of the payload's own.
    fn make(&self, at: &Path, mode: u32) -> io::Result<()> {
        fs::create_dir(at)?;
        fs::set_permissions(at, Permissions::from_mode(mode))?;
        self.give(at)
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        self.owner.map_or(Ok(()), |(uid, gid)| lchown(path, Some(uid), Some(gid)))
    }

    /// The fresh folder that stands in for a private place.
    pub(super) fn private(&mut self) -> Result<PrivateFolder<'_>, HostMountError> {
        let folder = self.next("place", 0o755)?;
        Ok(PrivateFolder { shelf: self, folder })
    }

    /// Layers over `lower`: what is in `hidden` (relative) is absent, and writes go to a private layer if `writable`.
    pub(super) fn layers(
        &mut self,
        lower: &Path,
        hidden: &[PathBuf],
        writable: bool,
    ) -> Result<Overlay, HostMountError> {
        let mode = lower.metadata().map_or(0o755, |meta| meta.mode() & 0o777) | 0o700;
        let mut lowers = vec![lower.to_owned()];
        // Without an upper layer the kernel asks for two lower ones.
        if !hidden.is_empty() || !writable {
            let veil = self.next("veil", mode)?;
            for path in hidden {
                self.veil(&veil, lower, path)?;
            }
            lowers.insert(0, veil);
        }
        if !writable {
            return Ok(Overlay { lowers, upper: None, work: None, lasting: false, moved_whole: false });
        }
        let upper = self.next("upper", mode)?;
        let work = self.next("work", 0o700)?;
        Ok(Overlay { lowers, upper: Some(upper), work: Some(work), lasting: false, moved_whole: false })
    }

    /// A whiteout: to the merged view, `path` does not exist. Folders above look as they do in the real one.
    fn veil(&self, veil: &Path, lower: &Path, path: &Path) -> Result<(), HostMountError> {
        let mut here = PathBuf::new();
        for part in path.parent().into_iter().flat_map(Path::components) {
            here.push(part);
            let at = veil.join(&here);
            if !at.exists() {
                let mode = lower.join(&here).metadata().map_or(0o755, |meta| meta.mode() & 0o777);
                self.make(&at, mode | 0o700).map_err(HostMountError::prepare(&at))?;
            }
        }
        let at = veil.join(path);
        match mknodat(CWD, &at, FileType::CharacterDevice, Mode::empty(), 0) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
            Err(e) => Err(HostMountError::prepare(&at)(e.into())),
        }
    }
}

/// A private place while it is being filled.
#[derive(Debug)]
pub(super) struct PrivateFolder<'a> {
    shelf: &'a BackingFolders,
    /// Where it is on the host.
    pub(super) folder: PathBuf,
}

impl PrivateFolder<'_> {
    /// Something to mount a child on.
    pub(super) fn mount_point(&self, child: &Path, is_dir: bool) -> Result<(), HostMountError> {
        if is_dir { self.parents(&child.join("x")) } else { self.file(child, b"") }
    }

    /// A file of the payload's own; what is there already stays.
    pub(super) fn file(&self, child: &Path, bytes: &[u8]) -> Result<(), HostMountError> {
        let at = self.folder.join(child);
        if at.symlink_metadata().is_ok() {
            return Ok(());
        }
        self.parents(child)?;
        fs::write(&at, bytes)
            .and_then(|()| fs::set_permissions(&at, Permissions::from_mode(0o644)))
            .and_then(|()| self.shelf.owner.map_or(Ok(()), |(uid, gid)| chown(&at, Some(uid), Some(gid))))
            .map_err(HostMountError::prepare(&at))
    }

    /// A link to another place.
    pub(super) fn link(&self, child: &Path, target: &Path) -> Result<(), HostMountError> {
        let at = self.folder.join(child);
        if at.symlink_metadata().is_ok() {
            return Ok(());
        }
        self.parents(child)?;
        symlink(target, &at).and_then(|()| self.shelf.give(&at)).map_err(HostMountError::prepare(&at))
    }

    fn parents(&self, child: &Path) -> Result<(), HostMountError> {
        let mut here = self.folder.clone();
        for part in child.parent().into_iter().flat_map(Path::components) {
            here.push(part);
            if here.symlink_metadata().is_err() {
                self.shelf.make(&here, 0o755).map_err(HostMountError::prepare(&here))?;
            }
        }
        Ok(())
    }
}
