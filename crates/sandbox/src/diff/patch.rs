//! The patch: made by git from two small trees of raw bytes, delivered only if it reproduces the result.

use std::io::{self, Write};
use std::path::Path;

use holon_git::objects::Importer;
use holon_git::{FileMode, Git, PathDigest, ScratchRepository, TouchedPath};
use sha2::{Digest as _, Sha256};

use super::stage::{StagedBase, TeeReader};
use super::{CollectedChanges, DiffError, PathVersion, selfcheck};

/// What a run delivers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveredPatch {
    /// What `git apply` takes; empty when nothing changed.
    pub bytes: Vec<u8>,
    /// Files in it; a rename counts once.
    pub files: u64,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Every path it touches, before and after.
    pub touched: Vec<TouchedPath>,
}

impl CollectedChanges {
    /// Makes the patch, and applies it to a copy of the touched base files to see that it leads to the
    /// result, byte and mode. `temp` is a private directory of the host's.
    pub fn patch(&self, git: &Git, temp: &Path) -> Result<DeliveredPatch, DiffError> {
        if self.entries.is_empty() {
            return Ok(DeliveredPatch::default());
        }
        // A patch with renames is what people want to read; should git make one it cannot apply itself, the
        // longer form without them is still right.
        match self.attempt(git, temp, true) {
            Err(DiffError::Refused { .. } | DiffError::NotReproduced { .. }) => {
                self.attempt(git, temp, false)
            }
            done => done,
        }
    }

    fn attempt(&self, git: &Git, temp: &Path, renames: bool) -> Result<DeliveredPatch, DiffError> {
        let (stage, base) = StagedBase::base(self, temp)?;
        let scratch = ScratchRepository::new(temp, self.format)?;
        let mut result = Vec::with_capacity(self.entries.len());
        scratch.import(git, |to| {
            to.tree("base")?;
            for change in &self.entries {
                add_staged(to, &stage, change.name(), change.base.as_ref())?;
            }
            to.tree("result")?;
            for change in &self.entries {
                result.push(self.add(to, change.name(), change.result.as_ref())?);
            }
            Ok(())
        })?;
        let diff = scratch.diff(git, "base", "result", renames)?;
        let each = self.entries.iter().zip(base.into_iter().zip(result));
        let touched: Vec<TouchedPath> = each
            .map(|(change, (base, result))| TouchedPath { path: change.path.clone(), base, result })
            .collect();
        selfcheck::reproduces(git, &diff.patch, self.format, &stage, &touched)?;
        Ok(DeliveredPatch {
            bytes: diff.patch,
            files: diff.files,
            insertions: diff.insertions,
            deletions: diff.deletions,
            touched,
        })
    }

    fn add(
        &self,
        to: &mut Importer<'_>,
        path: &[u8],
        side: Option<&PathVersion>,
    ) -> Result<Option<PathDigest>, holon_git::GitError> {
        Ok(match side {
            None => None,
            Some(PathVersion::Symlink { target }) => {
                to.symlink(path, target)?;
                Some(PathDigest::of_bytes(FileMode::Symlink, target))
            }
            Some(PathVersion::Gitlink { id }) => {
                to.gitlink(path, id)?;
                Some(PathDigest::of_bytes(FileMode::Gitlink, id.as_bytes()))
            }
            Some(side @ PathVersion::File { exec, size, place }) => {
                let mut hash = HashingWriter(Sha256::new());
                let from = self.open(place).map_err(unreadable(path))?;
                to.file(path, *exec, *size, &mut TeeReader { from, to: &mut hash })?;
                Some(PathDigest { mode: side.mode(), sha256: holon_git::touched::hex(&hash.0.finalize()) })
            }
        })
    }
}

fn add_staged(
    to: &mut Importer<'_>,
    stage: &StagedBase,
    path: &[u8],
    side: Option<&PathVersion>,
) -> Result<(), holon_git::GitError> {
    match side {
        None | Some(PathVersion::Gitlink { .. }) => Ok(()),
        Some(PathVersion::Symlink { target }) => to.symlink(path, target),
        Some(PathVersion::File { exec, .. }) => {
            let mut file = stage.root.open_file(path).map_err(unreadable(path))?;
            let len = file.metadata().map_err(unreadable(path))?.len();
            to.file(path, *exec, len, &mut file)
        }
    }
}

fn unreadable(path: &[u8]) -> impl FnOnce(io::Error) -> holon_git::GitError {
    let path = crate::snapshot::tree::path_of(path);
    move |source| holon_git::GitError::Import { path, source }
}

struct HashingWriter(Sha256);

impl Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
