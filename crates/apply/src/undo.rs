//! The way back from an apply that ended: the same change the other way round.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_git::FileMode;
use holon_git::touched::hex;
use sha2::{Digest as _, Sha256};

use crate::ApplyError;
use crate::change::{ChangeEntry, ChangeSet};
use crate::contents::ContentFile;
use crate::journal::{ApplyJournal, ApplyPurpose, ApplyStore, MERGED, SLOTS};

/// A mark in the folder of an apply that was undone.
const UNDONE: &str = "undone";

/// An apply that can be taken back.
#[derive(Debug)]
pub struct UndoableApply {
    /// The change that takes it back.
    pub changes: ChangeSet,
    /// The workspace it went to.
    pub workspace: PathBuf,
    dir: PathBuf,
    kept: Vec<(String, PathBuf, FileMode)>,
    merged: Option<ContentFile>,
}

/// The last apply of a run or thread that was not undone yet.
pub fn undo_of(store: &ApplyStore, label: &str) -> Result<Option<UndoableApply>, ApplyError> {
    for dir in ApplyStore::list(&store.done()).into_iter().rev() {
        let Ok(Some(journal)) = ApplyJournal::load(&dir) else { continue };
        let is_one = journal.label.as_deref() == Some(label) && journal.purpose == ApplyPurpose::Apply;
        if is_one && !dir.join(UNDONE).exists() {
            return UndoableApply::of(dir, journal).map(Some);
        }
    }
    Ok(None)
}

impl UndoableApply {
    fn of(dir: PathBuf, journal: ApplyJournal) -> Result<Self, ApplyError> {
        let slot = |number: usize| dir.join(SLOTS).join(number.to_string());
        let kept = journal.steps.iter().enumerate().filter_map(|(number, step)| {
            step.before.as_ref().map(|before| (before.sha256.clone(), slot(number), before.mode))
        });
        let merged = dir.join(MERGED);
        let merged = match ContentFile::open(&merged) {
            Ok(file) => Some(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(ApplyError::io("read", merged)(e)),
        };
        let entries = journal.steps.iter().map(|step| ChangeEntry {
            path: step.path.clone(),
            base: step.after.clone(),
            result: step.before.clone(),
            permissions: step.permissions,
        });
        let changes = ChangeSet { entries: entries.collect() };
        Ok(Self { changes, workspace: journal.workspace, kept: kept.collect(), merged, dir })
    }

    /// What has this digest: as it was before the apply, or as the apply merged it.
    pub fn read(&self, sha256: &str) -> io::Result<Option<Vec<u8>>> {
        for (_, path, mode) in self.kept.iter().filter(|(known, ..)| known == sha256) {
            let bytes = content(path, *mode)?;
            if hex(&Sha256::digest(&bytes)) == sha256 {
                return Ok(Some(bytes));
            }
        }
        self.merged.as_ref().map_or(Ok(None), |merged| merged.read(sha256))
    }

    /// Notes that it was undone.
    pub fn mark_undone(&self) -> Result<(), ApplyError> {
        let path = self.dir.join(UNDONE);
        fs::write(&path, b"").map_err(ApplyError::io("write", path))
    }
}

fn content(path: &Path, mode: FileMode) -> io::Result<Vec<u8>> {
    match mode {
        FileMode::Symlink => Ok(fs::read_link(path)?.as_os_str().as_bytes().to_vec()),
        _ => fs::read(path),
    }
}
