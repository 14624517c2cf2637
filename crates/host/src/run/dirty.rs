//! Whether the workspace had uncommitted work when the run began, as far as finding out costs next to nothing: all tracked
//! files of a small repository, looked at beside the run, and in a large one the files that were changed.

use std::path::PathBuf;
use std::thread::JoinHandle;

use holon_core::manifest::{DirtyScope, DirtyState};
use holon_git::{Git, Repository, uncommitted};
use holon_sandbox::diff::DeliveredPatch;

use super::ActiveRun;

/// The largest index whose files are all looked at; one look takes about a microsecond.
const MOST_TRACKED: u32 = 2_000;

/// A look that goes on beside the run.
pub(crate) type PendingDirtyCount = JoinHandle<Option<u64>>;

impl ActiveRun<'_> {
    /// Starts looking at all tracked files, if they are few.
    pub(super) fn look_for_uncommitted(&mut self) {
        let workspace = self.plan.workspace.clone();
        self.looking = Some(std::thread::spawn(move || {
            let repository = Repository::look(&workspace).ok()?.repository?;
            uncommitted::among_tracked(&Git::find().ok()?, &repository, MOST_TRACKED).ok()?
        }));
    }

    /// Writes down what was found; without a whole look, what is known of the files the patch touches.
    pub(super) fn note_uncommitted(&mut self, patch: &DeliveredPatch) {
        let all = self.looking.take().and_then(|looking| looking.join().ok()).flatten();
        let found = match all {
            Some(count) => Some((count, DirtyScope::Tracked)),
            None => self.uncommitted_among(patch).map(|count| (count, DirtyScope::Touched)),
        };
        let (Some(snapshot), Some((count, among))) = (&mut self.manifest.metadata.snapshot, found) else {
            return;
        };
        snapshot.dirty = if count > 0 { DirtyState::Yes } else { DirtyState::No };
        (snapshot.dirty_files, snapshot.dirty_among) = (Some(count), among);
    }

    fn uncommitted_among(&self, patch: &DeliveredPatch) -> Option<u64> {
        let paths: Vec<(PathBuf, bool)> =
            patch.touched.iter().map(|touched| (touched.path.clone(), touched.base.is_some())).collect();
        if paths.is_empty() {
            return None;
        }
        let repository = Repository::look(&self.plan.workspace).ok()?.repository?;
        uncommitted::among(&Git::find().ok()?, &repository, &paths).ok()
    }
}
