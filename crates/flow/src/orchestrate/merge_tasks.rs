//! Joining: the changes of one task after the other, and everything together as one patch.

use std::collections::BTreeSet;
use std::path::PathBuf;

use holon_core::digest::sha256;
use holon_core::event::EventBody;
use holon_git::Git;
use holon_git::objects::TreeDiff;
use holon_host::HostError;
use holon_host::store::write_atomic;

use super::child_builder;
use super::deliver;
use super::drive::OrchestrationDriver;
use super::merge::{self, MergeInput, MergeOutcome};
use super::planner::{OrchestrationEvent, apply};
use super::state::{AttemptPurpose, MergeMethod, MergedChange, OrchestrationState, TaskPhase};
use crate::dispatch::private_folder;
use crate::error::FlowError;

impl OrchestrationDriver<'_, '_> {
    /// Joins the changes of a task with those before it.
    pub(super) fn join(&mut self, state: &mut OrchestrationState, node: usize) -> Result<(), FlowError> {
        let TaskPhase::ToMerge { purpose } = state.nodes[node].phase else { return Ok(()) };
        let task = state.nodes[node].task.id.clone();
        let lost = || FlowError::Changed { path: format!("{task}/diff.patch") };
        let attempt =
            state.nodes[node].attempts.iter().rev().find(|a| a.purpose == purpose && a.end.is_some());
        let attempt = attempt.cloned().ok_or_else(lost)?;
        let patch = child_builder::artifact(&attempt, "diff.patch", self.held.path())?.ok_or_else(lost)?;
        let run = attempt.run.as_ref().ok_or_else(lost)?;
        let touched = child_builder::touched(&self.held.own(attempt.folder.as_deref().unwrap_or_default()))?;
        self.trunk.ready(&state.merges)?;
        let git = Git::find().map_err(HostError::from)?;
        let temp = tempfile::tempdir().map_err(HostError::io("create", &std::env::temp_dir()))?;
        let base = self.bases(run.as_str());
        let known = paths(state);
        let first = touched.iter().map(|entry| entry.path.as_path()).filter(|path| !known.contains(*path));
        self.trunk.keep_originals(&base, first)?;
        let change = MergeInput { patch: &patch, touched: &touched, base: &base };
        let format = self.trunk.format()?;
        let joined =
            merge::join(&git, &self.trunk.path(), &change, format, temp.path()).map_err(HostError::from)?;
        match joined {
            MergeOutcome::Nothing => apply(state, OrchestrationEvent::Merged { node, merge: None }),
            MergeOutcome::In { patch, merged } => {
                self.trunk.grown();
                let file = format!("merges/{:02}-{task}.patch", state.merges.len() + 1);
                private_folder(&self.held.own("merges"))?;
                write_atomic(&self.held.own(&file), &patch)?;
                let how = match (purpose, merged) {
                    (AttemptPurpose::Conflict, _) => MergeMethod::Resolved,
                    (_, true) => MergeMethod::Merged,
                    (_, false) => MergeMethod::Clean,
                };
                let paths = touched.iter().map(|entry| entry.path.to_string_lossy().into_owned()).collect();
                let merge = MergedChange { task, how, file, sha256: sha256(&patch), paths };
                apply(state, OrchestrationEvent::Merged { node, merge: Some(merge) });
                self.ensure_checked(state)?;
            }
            MergeOutcome::Conflict(paths) => {
                let message = format!("{task}: its changes meet others in {}", paths.join(", "));
                self.journal.emit(EventBody::Warning { message });
                apply(state, OrchestrationEvent::Conflicted { node, paths });
            }
        }
        Ok(())
    }

    /// Everything that was joined so far, as one patch.
    pub(super) fn changes(&mut self, state: &OrchestrationState) -> Result<TreeDiff, FlowError> {
        Ok(deliver::combined(&mut self.trunk, &self.workspace, state)?.0)
    }
}

/// Every path that was touched by what was joined.
pub(super) fn paths(state: &OrchestrationState) -> BTreeSet<PathBuf> {
    state.merges.iter().flat_map(|merge| merge.paths.iter().map(PathBuf::from)).collect()
}
