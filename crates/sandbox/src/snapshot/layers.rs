//! The directories of an overlay: where writes land, and the veil of what must not be seen.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, Timespec, Timestamps, futimens, mknodat};
use serde::{Deserialize, Serialize};

use super::SnapshotError;
use super::tree::{OpenTree, TreeEntryMeta, bytes, path_of};
use crate::mount;

/// Host-made directories for one overlay mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OverlayFolders {
    /// Where writes land; `None` for a view nobody can write to.
    #[serde(with = "mount::optional_path")]
    pub(crate) upper: Option<PathBuf>,
    #[serde(with = "mount::optional_path")]
    pub(crate) work: Option<PathBuf>,
    /// A layer between the writes and the original; only made when something must be hidden or replaced.
    #[serde(with = "mount::optional_path")]
    pub(crate) veil: Option<PathBuf>,
    /// What a setup left, right above the original.
    #[serde(default, with = "mount::optional_path")]
    pub(crate) environment: Option<PathBuf>,
    /// The original.
    #[serde(with = "mount::path")]
    pub(crate) lower: PathBuf,
    /// What earlier turns left, above everything but the writes of this one.
    #[serde(default, with = "mount::optional_path")]
    pub(crate) frozen: Option<PathBuf>,
    /// Whether the writes are needed after the mount is gone.
    #[serde(default)]
    pub(crate) lasting: bool,
    /// Whether folders are moved by copying what is in them: what was written then says all of it.
    #[serde(default)]
    pub(crate) moved_whole: bool,
}

impl OverlayFolders {
    /// The original alone.
    pub(crate) fn over(lower: PathBuf) -> Self {
        Self {
            upper: None,
            work: None,
            veil: None,
            environment: None,
            lower,
            frozen: None,
            lasting: false,
            moved_whole: false,
        }
    }

    /// The mount these directories are for.
    pub(crate) fn source(&self) -> mount::MountSource {
        let above = [&self.veil, &self.upper, &self.frozen, &self.environment];
        if above.iter().all(|layer| layer.is_none()) {
            return mount::MountSource::Bind(self.lower.clone());
        }
        mount::MountSource::Overlay(mount::Overlay {
            lowers: self
                .frozen
                .iter()
                .chain(&self.veil)
                .chain(&self.environment)
                .chain([&self.lower])
                .cloned()
                .collect(),
            upper: self.upper.clone(),
            work: self.work.clone(),
            lasting: self.lasting,
            moved_whole: self.moved_whole,
        })
    }

    /// Makes `upper` and `work` with the given names below `dir`, with the root's own mode and the payload as
    /// owner: the root of the merged view takes both from there.
    pub(crate) fn make_writable(
        &mut self,
        dir: &Path,
        name: &str,
        owner: Option<(u32, u32)>,
    ) -> Result<(), SnapshotError> {
        let lower = OpenTree::open(&self.lower).map_err(SnapshotError::unreadable(&self.lower))?;
        let meta = lower.look(b"").ok().flatten();
        let upper = dir.join(format!("{name}upper"));
        let work = dir.join(format!("{name}work"));
        for path in [&upper, &work] {
            fs::create_dir(path).map_err(SnapshotError::io("create", path))?;
            own(path, owner).map_err(SnapshotError::io("give away", path))?;
        }
        if let Some(meta) = meta {
            resemble(&upper, &meta).map_err(SnapshotError::io("create", &upper))?;
        }
        self.upper = Some(upper);
        self.work = Some(work);
        Ok(())
    }
}

/// Makes `rel` and the directories above it below `layer`, each looking like the one of `base` it will merge
/// with, or new where `base` has none. `false` when something else than a directory is in the way: a link
/// there must not lead the mount anywhere else.
pub(crate) fn mirror(
    layer: &Path,
    base: &OpenTree,
    rel: &[u8],
    owner: Option<(u32, u32)>,
) -> io::Result<bool> {
    let ends = rel.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(i, _)| i).chain([rel.len()]);
    let mut metas = Vec::new();
    for end in ends.filter(|end| *end > 0) {
        let part = &rel[..end];
        let meta = base.look(part)?;
        if meta.is_some_and(|meta| !meta.is_dir()) {
            return Ok(false);
        }
        metas.push((layer.join(path_of(part)), meta));
    }
    let mut made = Vec::new();
    for (path, meta) in &metas {
        match fs::DirBuilder::new().mode(0o755).create(path) {
            Ok(()) => made.push((path, meta)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    // Deepest first: making the next one would change the time of the one above.
    for (path, meta) in made.into_iter().rev() {
        own(path, owner)?;
        if let Some(meta) = meta {
            resemble(path, meta)?;
        }
    }
    Ok(true)
}

/// Marks `rel` as not there. Nothing to do, and `false`, when `base` has nothing at that place.
pub(crate) fn hide(veil: &Path, base: &OpenTree, rel: &[u8]) -> Result<bool, SnapshotError> {
    let failed = |source| SnapshotError::Whiteout { what: path_of(rel), at: veil.to_owned(), source };
    if base.look(rel).map_err(SnapshotError::io("look at", base.path().join(path_of(rel))))?.is_none() {
        return Ok(false);
    }
    if let Some(slash) = rel.iter().rposition(|&b| b == b'/')
        && !mirror(veil, base, &rel[..slash], None).map_err(failed)?
    {
        return Ok(false);
    }
    let path = veil.join(path_of(rel));
    match mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(true),
        Err(e) => Err(failed(e.into())),
    }
}

fn own(path: &Path, owner: Option<(u32, u32)>) -> io::Result<()> {
    match owner {
        Some((uid, gid)) => std::os::unix::fs::lchown(path, Some(uid), Some(gid)),
        None => Ok(()),
    }
}

/// Makes a folder of a layer look like the one of the original.
pub(crate) fn resemble(path: &Path, meta: &TreeEntryMeta) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(meta.mode & 0o777))?;
    let at = Timespec { tv_sec: meta.mtime.sec, tv_nsec: meta.mtime.nsec.into() };
    Ok(futimens(fs::File::open(path)?, &Timestamps { last_access: at, last_modification: at })?)
}

/// A workspace-relative path in its one clean form.
pub(crate) fn clean(path: &Path) -> Result<Vec<u8>, SnapshotError> {
    holon_core::scope::normalise(bytes(path))
        .map_err(|e| SnapshotError::BadPath { path: path.to_owned(), why: e.to_string() })
}

/// `dir/name` with the bytes of `name`.
pub(crate) fn below(dir: &Path, name: &[u8]) -> PathBuf {
    dir.join(std::ffi::OsStr::from_bytes(name))
}
