//! An orchestration's folder: a run folder like any other, with its state, the runs of its children and what was joined.
//!
//! ```text
//! <state>/<workspace>/runs/<id>/
//!     run.json output/ evidence/   as of every run, so that it is listed, shown, applied and removed like one
//!     orchestrate.json             where it is
//!     steps/                       a store of its own for the runs of its children
//!     trunk/                       the workspace with everything that was joined, while it goes on
//!     merges/ bases/               each change as it was joined, and the files it was made for
//!     handed/ made/         what children were given, and what the host made of their reports
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holon_core::ids::RunId;
use holon_core::redact::Redactor;
use holon_host::store::{RunFolder, RunRecord, RunStore};
use holon_host::{HolonFolders, HostError};

use super::state::OrchestrationState;
use crate::error::FlowError;
use crate::folder::{FlowFolder, steps_state};

const STATE: &str = "orchestrate.json";

/// The folder, held by this process.
pub(super) struct OrchestrationFolder {
    flow: FlowFolder,
}

impl OrchestrationFolder {
    pub(super) fn create(
        places: &HolonFolders,
        runs: &Path,
        record: &RunRecord,
        redactor: Redactor,
    ) -> Result<Self, FlowError> {
        Ok(Self { flow: FlowFolder::create(places, runs, record, redactor)? })
    }

    pub(super) fn reopen(
        places: &HolonFolders,
        run: RunFolder,
        redactor: Redactor,
    ) -> Result<Self, FlowError> {
        Ok(Self { flow: FlowFolder::reopen(places, run, redactor)? })
    }

    pub(super) fn run(&self) -> &RunFolder {
        self.flow.run()
    }

    pub(super) fn path(&self) -> &Path {
        self.flow.run().path()
    }

    pub(super) fn own(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The state folder of the children's hosts.
    pub(super) fn children(&self) -> PathBuf {
        steps_state(self.path())
    }

    /// Where the runs of a child are that works on this folder.
    pub(super) fn runs_of(&self, places: &HolonFolders, workspace: &Path) -> RunStore {
        // Hosts know folders by their real paths.
        let workspace = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
        RunStore::of(&HolonFolders { state: self.children(), ..places.clone() }, &workspace)
    }

    /// Replaces the state in one step.
    pub(super) fn save(&self, state: &OrchestrationState) -> Result<(), FlowError> {
        self.flow.save_as(STATE, state)
    }

    /// Lets go of it; its record says that it is over.
    pub(super) fn finish(&mut self) -> Result<(), FlowError> {
        self.flow.finish()
    }
}

/// The state of an orchestration; `None` when the run is none.
pub fn load(folder: &RunFolder) -> Result<Option<OrchestrationState>, FlowError> {
    let path = folder.path().join(STATE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(HostError::io("read", &path)(e).into()),
    };
    let state = serde_json::from_slice(&bytes);
    state.map(Some).map_err(|e| FlowError::State { path, message: e.to_string() })
}

/// The run of a child, found by a rule over its task's name and its own id; the newest that fits.
pub(crate) fn find_child(folder: &RunFolder, wanted: &dyn Fn(&str, &RunId) -> bool) -> Option<RunFolder> {
    let state = load(folder).ok()??;
    let planning = state.planning.iter().map(|attempt| ("orchestrate", attempt));
    let tasks = state.every_node().flat_map(|n| n.attempts.iter().map(|a| (n.task.id.as_str(), a)));
    let all: Vec<_> = planning.chain(tasks).collect();
    all.into_iter().rev().find_map(|(task, attempt)| {
        let (run, at) = (attempt.run.as_ref()?, attempt.folder.as_ref()?);
        wanted(task, run).then(|| RunFolder::open(folder.path().join(at)))
    })
}
