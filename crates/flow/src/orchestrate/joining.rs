//! Joining: the changes of one task after the other, and everything together as one patch.

use std::collections::BTreeSet;
use std::path::PathBuf;

use holon_core::digest::sha256;
use holon_core::event::Body;
use holon_git::Git;
use holon_git::objects::TreeDiff;
use holon_host::HostError;
use holon_host::store::write_atomic;

use super::child;
use super::deliver;
use super::drive::Drive;
use super::merge::{self, Change, Joining};
use super::planner::{Event, apply};
use super::state::{Joined, Merge, Phase, Purpose, State};
use crate::dispatch::private_folder;
use crate::error::FlowError;

impl Drive<'_, '_> {
    /// Joins the changes of a task with those before it.
    pub(super) fn join(&mut self, state: &mut State, node: usize) -> Result<(), FlowError> {
        let Phase::ToMerge { purpose } = state.nodes[node].phase else { return Ok(()) };
        let task = state.nodes[node].task.id.clone();
        let lost = || FlowError::Changed { path: format!("{task}/diff.patch") };
        let attempt =
            state.nodes[node].attempts.iter().rev().find(|a| a.purpose == purpose && a.end.is_some());
        let attempt = attempt.cloned().ok_or_else(lost)?;
        let patch = child::artifact(&attempt, "diff.patch", self.held.path())?.ok_or_else(lost)?;
        let run = attempt.run.as_ref().ok_or_else(lost)?;
        let touched = child::touched(&self.held.own(attempt.folder.as_deref().unwrap_or_default()))?;
        self.trunk.ready(&state.merges)?;
        let git = Git::find().map_err(HostError::from)?;
        let temp = tempfile::tempdir().map_err(HostError::io("create", &std::env::temp_dir()))?;
        let base = self.bases(run.as_str());
        let known = paths(state);
        let first = touched.iter().map(|entry| entry.path.as_path()).filter(|path| !known.contains(*path));
        self.trunk.keep_originals(&base, first)?;
        let change = Change { patch: &patch, touched: &touched, base: &base };
        let format = self.trunk.format()?;
        let joined =
            merge::join(&git, &self.trunk.path(), &change, format, temp.path()).map_err(HostError::from)?;
        match joined {
            Joining::Nothing => apply(state, Event::Merged { node, merge: None }),
            Joining::In { patch, merged } => {
                self.trunk.grown();
                let file = format!("merges/{:02}-{task}.patch", state.merges.len() + 1);
                private_folder(&self.held.own("merges"))?;
                write_atomic(&self.held.own(&file), &patch)?;
                let how = match (purpose, merged) {
                    (Purpose::Conflict, _) => Joined::Resolved,
                    (_, true) => Joined::Merged,
                    (_, false) => Joined::Clean,
                };
                let paths = touched.iter().map(|entry| entry.path.to_string_lossy().into_owned()).collect();
                let merge = Merge { task, how, file, sha256: sha256(&patch), paths };
                apply(state, Event::Merged { node, merge: Some(merge) });
                self.ensure_checked(state)?;
            }
            Joining::Conflict(paths) => {
                let message = format!("{task}: its changes meet others in {}", paths.join(", "));
                self.journal.emit(Body::Warning { message });
                apply(state, Event::Conflicted { node, paths });
            }
        }
        Ok(())
    }

    /// Everything that was joined so far, as one patch.
    pub(super) fn changes(&mut self, state: &State) -> Result<TreeDiff, FlowError> {
        Ok(deliver::combined(&mut self.trunk, &self.workspace, state)?.0)
    }
}

/// Every path that was touched by what was joined.
pub(super) fn paths(state: &State) -> BTreeSet<PathBuf> {
    state.merges.iter().flat_map(|merge| merge.paths.iter().map(PathBuf::from)).collect()
}
