//! The tree that later steps work on: the workspace with the changes of the steps before, in a private copy that can be made
//! again at any time from the state. Where no step changed anything yet it is the workspace itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use holon_core::manifest::{ArtifactRecord, ChangeSize, Manifest, VerificationReport, VerificationState};
use holon_git::{Git, TouchedPath};
use holon_host::HostError;
use holon_host::store::{RunFolder, RunRecord, write_durable};

use crate::definition::FlowDefinition;
use crate::dispatch::private_folder;
use crate::error::FlowError;
use crate::folder::FlowFolder;
use crate::orchestrate::merge;
use crate::orchestrate::merge_tree::{MergeTree, ORIGINALS};
use crate::orchestrate::state::{MergeMethod, MergedChange};
use crate::orchestrate::{keep_contents, touched};
use crate::rounds::PATCH;
use crate::state::{FinishedStep, FlowState};

/// The tree of a flow.
pub(crate) struct CarriedTree {
    tree: MergeTree,
    workspace: PathBuf,
}

impl CarriedTree {
    pub(crate) fn new(record: &RunRecord, folder: &FlowFolder) -> Self {
        let tree = MergeTree::new(&record.workspace, folder.run().path(), record.out.as_deref());
        Self { tree, workspace: record.workspace.clone() }
    }

    /// The folder that the next run works on.
    pub(crate) fn base(
        &mut self,
        definition: &FlowDefinition,
        state: &FlowState,
        folder: &FlowFolder,
    ) -> Result<PathBuf, FlowError> {
        let changes = state.changes(definition);
        if changes.is_empty() {
            return Ok(self.workspace.clone());
        }
        self.ready(&changes, folder)?;
        Ok(self.tree.path())
    }

    /// Takes it away; it can be made again.
    pub(crate) fn remove(&mut self) {
        self.tree.remove();
    }

    fn ready(
        &mut self,
        changes: &[(&str, &FinishedStep)],
        folder: &FlowFolder,
    ) -> Result<Vec<MergedChange>, FlowError> {
        let mut merges = Vec::new();
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        let originals = folder.own(ORIGINALS);
        private_folder(&originals)?;
        for (step, done) in changes {
            let lost = || FlowError::Changed { path: format!("{step}/{PATCH}") };
            let run = folder.steps().open(done.run.as_ref().ok_or_else(lost)?);
            let entries = touched(run.path())?;
            let first: Vec<TouchedPath> =
                entries.iter().filter(|entry| seen.insert(entry.path.clone())).cloned().collect();
            if !self.tree.holds(changes.len()) {
                // As they were when the first step that changes them began, whatever became of them since.
                merge::keep_base_of(&run, &first, &self.workspace, &originals)
                    .map_err(HostError::io("write", &originals))?;
            }
            let patch = run.output().join(PATCH);
            let file = patch.strip_prefix(folder.run().path()).map_err(|_| lost())?;
            merges.push(MergedChange {
                task: (*step).to_owned(),
                how: MergeMethod::Clean,
                file: file.to_string_lossy().into_owned(),
                sha256: done.artifacts.get(PATCH).cloned().ok_or_else(lost)?,
                paths: entries.iter().map(|entry| entry.path.to_string_lossy().into_owned()).collect(),
            });
        }
        self.tree.ready(&merges)?;
        Ok(merges)
    }

    /// Hands over the changes of several steps as one patch, in the place of the last step's; `None` where that one is the
    /// whole.
    pub(crate) fn combine(
        &mut self,
        definition: &FlowDefinition,
        state: &FlowState,
        folder: &FlowFolder,
        manifest: &mut Manifest,
    ) -> Result<Option<ArtifactRecord>, FlowError> {
        if !state.is_combined(definition) {
            return Ok(None);
        }
        let changes = state.changes(definition);
        let merges = self.ready(&changes, folder)?;
        let paths = merges.iter().flat_map(|merge| merge.paths.iter().map(PathBuf::from)).collect();
        let git = Git::find().map_err(HostError::from)?;
        let temp = tempfile::tempdir().map_err(HostError::io("create", &std::env::temp_dir()))?;
        let (from, to) = (self.tree.originals(&self.workspace), self.tree.path());
        let (diff, entries) = merge::between(&git, &from, &to, &paths, self.tree.format()?, temp.path())
            .map_err(HostError::from)?;
        let list = serde_json::to_vec_pretty(&entries).unwrap_or_default();
        write_durable(&folder.own("touched.json"), &list)?;
        keep_contents(&self.tree, &self.workspace, &entries, &folder.run().contents())?;
        write_durable(&folder.run().output().join(PATCH), &diff.patch)?;
        manifest.no_changes = diff.patch.is_empty();
        manifest.metadata.changes = ChangeSize {
            files: diff.files,
            insertions: diff.insertions,
            deletions: diff.deletions,
            ignored: manifest.metadata.changes.ignored,
        };
        if let Some(snapshot) = &mut manifest.metadata.snapshot {
            let base = |entry: &TouchedPath| entry.base.as_ref().map(|base| base.sha256.clone());
            let named = |entry: &TouchedPath| (entry.path.to_string_lossy().into_owned(), base(entry));
            snapshot.touched = entries.iter().map(named).collect();
        }
        Ok(Some(ArtifactRecord {
            path: PATCH.into(),
            sha256: Some(holon_core::digest::sha256(&diff.patch)),
            bytes: diff.patch.len() as u64,
            required: true,
            valid: true,
            problems: Vec::new(),
        }))
    }
}

/// What is known of a change that `next` was made on top of: it is as right as the weakest of its parts, for each part was
/// checked with what the parts before it say that a check is.
pub(crate) fn verified_together(
    before: Option<VerificationReport>,
    next: Option<VerificationReport>,
) -> Option<VerificationReport> {
    let (before, mut next) = (before.unwrap_or_default(), next?);
    let weakness = |state| match state {
        VerificationState::Verified => 0,
        VerificationState::ChangedChecks => 1,
        VerificationState::FailingAsBefore => 2,
        VerificationState::NotChecked => 3,
        VerificationState::Unverified => 4,
        VerificationState::Failed => 5,
    };
    if weakness(before.state) > weakness(next.state) {
        next.state = before.state;
    }
    next.tests_may_change |= before.tests_may_change;
    next.weakened.splice(..0, before.weakened);
    next.definitions.splice(..0, before.definitions);
    Some(next)
}

/// What files were before a step's run changed them, by their digests.
pub(crate) fn content_before(run: &RunFolder, sha256: &str) -> Option<Vec<u8>> {
    holon_apply::ContentFile::open(&run.contents()).ok()?.read(sha256).ok()?
}

/// The folder of a run's store that lies somewhere below the steps of a flow.
pub(crate) fn stores_below(steps: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(steps).into_iter().flatten().flatten();
    let mut stores: Vec<PathBuf> = listed.map(|entry| entry.path().join("runs")).collect();
    stores.retain(|runs| runs.is_dir());
    stores.sort();
    stores
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn inv_18_a_change_in_parts_is_as_right_as_its_weakest_part() {
        use VerificationState::{ChangedChecks, Failed, NotChecked, Verified};
        let of = |state| Some(VerificationReport { state, ..VerificationReport::default() });
        let check = |before, next, expected| {
            assert_eq!(verified_together(before, of(next)).unwrap().state, expected);
        };
        check(of(Verified), Verified, Verified);
        check(of(ChangedChecks), Verified, ChangedChecks);
        check(of(Verified), Failed, Failed);
        check(of(NotChecked), Verified, NotChecked);
        check(None, Verified, NotChecked);
        assert_eq!(verified_together(of(Verified), None), None);
    }
}
