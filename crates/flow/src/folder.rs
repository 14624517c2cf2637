//! A flow's folder: a run folder like any other, with the state and the folders of its steps besides.
//!
//! ```text
//! <state>/<workspace>/runs/<flow>/
//!     run.json output/ evidence/   as of every run, so that it is listed, shown, applied and removed like one
//!     flow.json                    where the flow is
//!     steps/                       a store of its own for the runs of its steps: what belongs together goes together
//!     made/                        what the host itself made of them
//!     notes/ specs/                what people said, and the specs of the steps
//! ```

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;
use holon_core::ids::RunId;
use holon_core::manifest::Manifest;
use holon_core::redact::Redactor;
use holon_host::store::{RunFolder, RunRecord, RunStore, write_durable};
use holon_host::{HolonFolders, HostError};
use rustix::fs::FlockOperation;
use serde::Serialize;

use crate::audit::AuditTrail;
use crate::error::FlowError;
use crate::orchestrate::find_child;
use crate::sealed;
use crate::state::FlowState;

/// A flow's folder, held by this process.
#[derive(Debug)]
pub(crate) struct FlowFolder {
    run: RunFolder,
    /// Held here when the folder was opened again; a new one's lock is in `run`.
    lock: Option<File>,
    steps: RunStore,
    /// Takes out of the state what must not be written.
    redactor: Redactor,
}

impl FlowFolder {
    /// Makes the folder of a new flow.
    pub(crate) fn create(
        places: &HolonFolders,
        runs: &Path,
        record: &RunRecord,
        redactor: Redactor,
    ) -> Result<Self, FlowError> {
        let run = RunFolder::create(runs, record)?;
        // A flow has no snapshot of its own.
        run.remove_layers();
        let steps = steps_of(places, run.path(), &record.workspace);
        Ok(Self { run, lock: None, steps, redactor })
    }

    /// Takes hold of a flow that is not going on, and says so to everybody who looks.
    pub(crate) fn reopen(
        places: &HolonFolders,
        run: RunFolder,
        redactor: Redactor,
    ) -> Result<Self, FlowError> {
        let path = run.path().join("lock");
        let lock =
            File::options().create(true).append(true).open(&path).map_err(HostError::io("create", &path))?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(FlowError::resume(
                "the flow is going on in another process",
                "wait for it, or stop it first",
            ));
        }
        let mut record = run.record()?;
        sealed::open_again(&AuditTrail::of(&places.state), &run, record.id.as_str())?;
        // Without a mark nobody would find this one after a kill.
        run.mark_unfinished()?;
        record.finished = false;
        run.save(&record)?;
        let steps = steps_of(places, run.path(), &record.workspace);
        Ok(Self { run, lock: Some(lock), steps, redactor })
    }

    /// The run folder it is.
    pub(crate) fn run(&self) -> &RunFolder {
        &self.run
    }

    /// The store of its steps' runs.
    pub(crate) fn steps(&self) -> &RunStore {
        &self.steps
    }

    /// A file of its own.
    pub(crate) fn own(&self, name: &str) -> PathBuf {
        self.run.path().join(name)
    }

    /// Replaces the state in one step.
    pub(crate) fn save(&self, state: &FlowState) -> Result<(), FlowError> {
        self.save_as(STATE, state)
    }

    /// Replaces a file of its own in one step; the command line in it may hold what nothing else is told.
    pub(crate) fn save_as(&self, name: &str, state: &impl Serialize) -> Result<(), FlowError> {
        let mut text = serde_json::to_vec_pretty(state).unwrap_or_default();
        text.push(b'\n');
        Ok(write_durable(&self.own(name), &self.redactor.redact(&text))?)
    }

    /// Lets go of it; its record says that it is over.
    pub(crate) fn finish(&mut self) -> Result<(), FlowError> {
        let mut record = self.run.record()?;
        record.finished = true;
        self.run.save(&record)?;
        self.run.release();
        self.lock = None;
        Ok(())
    }

    /// The manifest of a step's run, after checking that it is the one that was seen when the step finished.
    pub(crate) fn manifest(
        &self,
        step: &str,
        run: &RunId,
        seen: Option<&str>,
    ) -> Result<Manifest, FlowError> {
        let changed = || FlowError::Changed { path: format!("{step}/manifest.json") };
        let path = self.steps.open(run).output().join("manifest.json");
        let bytes = fs::read(&path).map_err(|_| changed())?;
        if seen.is_some_and(|seen| seen != sha256(&bytes)) {
            return Err(changed());
        }
        serde_json::from_slice(&bytes).map_err(|_| changed())
    }

    /// A file of a finished step, after checking that it is the one that was seen when the step finished; `None` when
    /// the step left no such file.
    pub(crate) fn artifact(
        &self,
        state: &FlowState,
        step: &str,
        name: &str,
    ) -> Result<Option<StepArtifact>, FlowError> {
        let Some(done) = state.done(step) else { return Ok(None) };
        let path = match &done.run {
            Some(run) => {
                self.manifest(step, run, done.manifest_sha256.as_deref())?;
                self.steps.open(run).output().join(name)
            }
            None => self.own("made").join(name),
        };
        let Some(expected) = done.artifacts.get(name) else { return Ok(None) };
        let changed = || FlowError::Changed { path: format!("{step}/{name}") };
        let bytes = fs::read(&path).map_err(|_| changed())?;
        if sha256(&bytes) != *expected {
            return Err(changed());
        }
        Ok(Some(StepArtifact { path, bytes, sha256: expected.clone() }))
    }
}

/// A file of a finished step, checked.
pub(crate) struct StepArtifact {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) sha256: String,
}

const STATE: &str = "flow.json";

/// Where the steps' runs are: the same layout one level deeper, so that a step is a run like any other.
pub(crate) fn steps_state(flow: &Path) -> PathBuf {
    flow.join("steps")
}

/// The store of the steps of a flow in this folder.
pub(crate) fn steps_of(places: &HolonFolders, flow: &Path, workspace: &Path) -> RunStore {
    RunStore::of(&HolonFolders { state: steps_state(flow), ..places.clone() }, workspace)
}

/// The state of a flow; `None` when the run is no flow.
pub fn load(folder: &RunFolder) -> Result<Option<FlowState>, FlowError> {
    let path = folder.path().join(STATE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(HostError::io("read", &path)(e).into()),
    };
    let state = serde_json::from_slice(&bytes);
    state.map(Some).map_err(|e| FlowError::State { path, message: e.to_string() })
}

/// The run of a flow's step, named as `FLOW/STEP` (the beginning or end of the flow's id is enough) or by its own id.
pub fn find_step(places: &HolonFolders, store: &RunStore, name: &str) -> Option<RunFolder> {
    if name.trim().is_empty() {
        return None;
    }
    let step_of = |flow: &RunFolder, wanted: &dyn Fn(&str, &RunId) -> bool| -> Option<RunFolder> {
        if let Some(child) = find_child(flow, wanted) {
            return Some(child);
        }
        let state = load(flow).ok()??;
        let record = flow.record().ok()?;
        let steps = steps_of(places, flow.path(), &record.workspace);
        let runs = state.steps.iter().flat_map(|s| s.runs.iter().rev().map(|run| (s.name.as_str(), run)));
        runs.into_iter().find(|(step, run)| wanted(step, run)).map(|(_, run)| steps.open(run))
    };
    if let Some((flow, step)) = name.rsplit_once('/') {
        return step_of(&store.find(flow).ok()?, &|of, _| of == step);
    }
    let ids = store.ids().ok()?;
    let named = |run: &RunId| run.as_str().starts_with(name) || run.as_str().ends_with(name);
    // A part of an id must mean one step and no other; what it means is found in the flows it could be in.
    let mut found = ids.iter().rev().filter_map(|id| step_of(&store.open(id), &|_, run| named(run)));
    let one = found.next()?;
    let own = one.path().file_name()?.to_str()?.to_owned();
    let flow = ids.iter().rev().map(|id| store.open(id)).find(|flow| one.path().starts_with(flow.path()))?;
    let other = |run: &RunId| named(run) && run.as_str() != own;
    (found.next().is_none() && step_of(&flow, &|_, run| other(run)).is_none()).then_some(one)
}

/// The command that goes on with a flow, from whatever folder.
pub fn resume_command(id: &RunId, workspace: &Path) -> String {
    let path = workspace.display().to_string();
    let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+,@%".contains(c));
    let path = if plain { path } else { format!("'{}'", path.replace('\'', r"'\''")) };
    format!("holon run --resume {id} --workspace {path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resume_command_survives_a_shell() {
        let id = RunId::from_parts(0, [0; 4]);
        let check = |path: &str, expected: &str| {
            let command = resume_command(&id, Path::new(path));
            assert_eq!(command, format!("holon run --resume {id} --workspace {expected}"));
        };
        check("/a/b-c.d", "/a/b-c.d");
        check("/a b", "'/a b'");
        check("/it's $HOME", r"'/it'\''s $HOME'");
    }
}
