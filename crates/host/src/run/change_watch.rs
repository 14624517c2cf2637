//! Looking at the snapshot from outside while the agent works: what differs, by content.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use holon_agent::supervise::{ChangeWatch, WatchedFile, WorkspaceObservation, changed_lines, lost_lines};
use holon_core::digest::sha256;
use holon_core::weakened::is_test_file;
use holon_git::Git;
use holon_sandbox::diff::{CollectOptions, CollectedChanges, PatchLimits, PathChange, PathVersion};
use holon_sandbox::snapshot::{SnapshotStrategy, WorkspaceSnapshot};
use holon_supervisor::event::GitState;

/// More than this is not told while the agent works; the patch has its own limits.
pub(super) const LIMITS: PatchLimits = PatchLimits { entries: 20_000, bytes: 32 << 20 };
/// Most changed files told.
const FILES: usize = 2_000;
/// Above this many files a copied snapshot is not compared again and again.
const COPIED: u64 = 20_000;

/// Looks at a snapshot.
pub(crate) struct SnapshotWatch {
    snapshot: WorkspaceSnapshot,
    git: Git,
    /// Lines that differ, by both contents: equal ones are compared once.
    lines: BTreeMap<(String, String), (u32, u32)>,
}

impl SnapshotWatch {
    /// For a snapshot that can be written to; nothing where looking would cost too much.
    pub(crate) fn of(snapshot: &WorkspaceSnapshot, git: &Git, files: u64) -> Option<Self> {
        let copied = snapshot.strategy() != SnapshotStrategy::Overlay;
        let affordable = !copied || files <= COPIED;
        (snapshot.written().is_some() && affordable).then(|| Self {
            snapshot: snapshot.clone(),
            git: git.clone(),
            lines: BTreeMap::new(),
        })
    }

    /// One changed file, and whether it holds marks of a conflict.
    fn seen(&mut self, changes: &CollectedChanges, change: &PathChange) -> Option<(WatchedFile, bool)> {
        let (base, result) = (change.base.as_ref(), change.result.as_ref());
        let (before, after) = (content(changes, base)?, content(changes, result)?);
        let digest =
            |bytes: &[u8], side: Option<&PathVersion>| side.map(|_| sha256(bytes)).unwrap_or_default();
        let (old, new) = (digest(&before, base), digest(&after, result));
        let (gone, added) =
            *self.lines.entry((old.clone(), new.clone())).or_insert_with(|| changed_lines(&before, &after));
        let path = change.path.to_string_lossy().into_owned();
        let shrunk_test = base.is_some() && is_test_file(&path) && lost_lines(&before, &after);
        Some((
            WatchedFile {
                path,
                before: old,
                after: new,
                lines: gone.saturating_add(added),
                gone,
                shrunk_test,
            },
            has_conflict(&after),
        ))
    }

    /// What the repository the agent sees is doing, from the names of its files alone.
    fn git_state(&self, conflicts: bool) -> GitState {
        let Some(head) = self.find(".git") else { return GitState::None };
        if head.is_file() {
            // A repository elsewhere: its state was looked at when the snapshot was taken.
            return if self.snapshot.base().branch.is_some() { GitState::Normal } else { GitState::Detached };
        }
        let Some(head) = self.find(".git/HEAD") else { return GitState::Corrupt };
        let Some(text) = read_small(&head) else { return GitState::Corrupt };
        let under_way = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"]
            .iter()
            .any(|name| self.find(&format!(".git/{name}")).is_some());
        match (under_way, conflicts) {
            (true, true) => GitState::Conflict,
            (true, false) => GitState::Rebase,
            _ if text.starts_with("ref: ") => GitState::Normal,
            _ if text.trim().len() >= 40 && text.trim().bytes().all(|b| b.is_ascii_hexdigit()) => {
                GitState::Detached
            }
            _ => GitState::Corrupt,
        }
    }

    /// Where something of the merged view lies, if it is there.
    fn find(&self, name: &str) -> Option<PathBuf> {
        let written = self.snapshot.written()?;
        let layers: Vec<&Path> = if self.snapshot.strategy() == SnapshotStrategy::Overlay {
            vec![written, self.snapshot.workspace()]
        } else {
            vec![written]
        };
        for layer in layers {
            let path = layer.join(name);
            match fs::symlink_metadata(&path) {
                // The kernel's mark for something that was removed.
                Ok(meta) if meta.file_type().is_char_device() => return None,
                Ok(_) => return Some(path),
                Err(_) => {}
            }
        }
        None
    }
}

impl ChangeWatch for SnapshotWatch {
    fn look(&mut self) -> Option<WorkspaceObservation> {
        let snapshot = self.snapshot.clone();
        // A file that comes and goes meanwhile makes this look worthless, not the run.
        let changes = snapshot.changes(&CollectOptions { git: &self.git.clone(), limits: LIMITS }).ok()?;
        if changes.entries.len() > FILES {
            return None;
        }
        let mut changed = Vec::with_capacity(changes.entries.len());
        let mut conflicts = false;
        for entry in &changes.entries {
            let (seen, conflict) = self.seen(&changes, entry)?;
            changed.push(seen);
            conflicts |= conflict;
        }
        Some(WorkspaceObservation { git: self.git_state(conflicts), changed })
    }
}

/// The bytes of one side; empty for nothing.
fn content(changes: &CollectedChanges, side: Option<&PathVersion>) -> Option<Vec<u8>> {
    match side {
        None => Some(Vec::new()),
        Some(PathVersion::Symlink { target }) => Some(target.clone()),
        Some(PathVersion::Gitlink { id }) => Some(id.clone().into_bytes()),
        Some(PathVersion::File { place, .. }) => {
            let mut bytes = Vec::new();
            changes.open(place).ok()?.take(LIMITS.bytes).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        }
    }
}

fn has_conflict(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(b"<<<<<<< ")) && lines.any(|line| line.starts_with(b">>>>>>> "))
}

/// A small regular file, never through a link.
fn read_small(path: &Path) -> Option<String> {
    crate::modes::read_bounded(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_needs_both_marks() {
        assert!(has_conflict(b"a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"));
        assert!(!has_conflict(b"<<<<<<< ours\n"));
        assert!(!has_conflict(b">>>>>>> theirs\n<<<<<<< ours\n"));
        assert!(!has_conflict(b" <<<<<<< x\n >>>>>>> y\n"));
    }
}
