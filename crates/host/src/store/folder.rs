//! One run's folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use holon_core::ids::RunId;
use holon_core::manifest::{ErrorInfo, Manifest};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_sandbox::mount;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::files::write_atomic;
use crate::error::HostError;
use crate::plan::RunPlan;
use crate::run::carried_changes;
use crate::run::checkpoints::CHECKPOINT;
use crate::run::supervised::TAKEOVER;

/// `run.json`: what was asked, written before anything else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The run.
    pub id: RunId,
    /// The workspace it works on.
    #[serde(with = "mount::path")]
    pub workspace: PathBuf,
    /// Canonical mode name.
    pub mode: String,
    /// What was asked.
    pub goal: String,
    /// The agent's name.
    pub agent: String,
    /// RFC 3339.
    pub started_at: String,
    /// Where the artifacts were copied to, if anywhere.
    #[serde(with = "mount::optional_path", default)]
    pub out: Option<PathBuf>,
    /// Whether the run is over and its manifest final.
    pub finished: bool,
    /// When its patch was applied to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<String>,
}

/// Where unfinished runs leave a mark, so that a start need not look at all runs to find the dead ones.
pub(super) fn active_folder(runs: &Path) -> PathBuf {
    runs.with_file_name("active")
}

/// Makes a folder that only the user can look into.
fn make_private(path: &Path, recursive: bool) -> Result<(), HostError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().mode(0o700).recursive(recursive).create(path);
    made.map_err(HostError::io("create", path))
}

/// The folder of one run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    lock: Option<File>,
}

impl RunFolder {
    /// Makes the folder of a new run, private to the user, and holds its lock.
    pub fn create(runs: &Path, record: &RunRecord) -> Result<Self, HostError> {
        let mut folder = Self { path: runs.join(record.id.as_str()), lock: None };
        make_private(runs, true)?;
        // Before the run's own folder, so that whatever exists of it can be found after a kill.
        folder.mark_unfinished()?;
        make_private(&folder.path, false)?;
        folder.lock = folder.try_lock()?;
        for name in ["input", "output", "evidence", "layers"] {
            make_private(&folder.path.join(name), false)?;
        }
        folder.save(record)?;
        Ok(folder)
    }

    /// Leaves the mark by which a run that was killed is found.
    pub fn mark_unfinished(&self) -> Result<(), HostError> {
        let (Some(runs), Some(name)) = (self.path.parent(), self.path.file_name()) else { return Ok(()) };
        let active = active_folder(runs);
        make_private(&active, true)?;
        let mark = active.join(name);
        File::create(&mark).map(drop).map_err(HostError::io("create", &mark))
    }

    /// An existing folder, without its lock.
    pub fn open(path: PathBuf) -> Self {
        Self { path, lock: None }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the agent sees as its input.
    pub fn input(&self) -> PathBuf {
        self.path.join("input")
    }

    /// Where the agent leaves its files; nothing in it is trusted.
    pub fn left(&self) -> PathBuf {
        self.layers().join("output")
    }

    /// Checked artifacts and the manifest; the agent never has access to it.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// Events, logs and check outputs, written by the host alone.
    pub fn evidence(&self) -> PathBuf {
        self.path.join("evidence")
    }

    /// What the files of the patch held before and after, by digest.
    pub fn contents(&self) -> PathBuf {
        self.path.join("contents")
    }

    /// Snapshot layers and private home.
    pub fn layers(&self) -> PathBuf {
        self.path.join("layers")
    }

    /// The same of checks on the tree before the change, which run beside the agent and do not count as its writing.
    pub fn beside(&self) -> PathBuf {
        self.path.join("beside")
    }

    /// Lets go of a run that is over.
    pub fn release(&mut self) {
        if let (Some(runs), Some(name)) = (self.path.parent(), self.path.file_name()) {
            let _ = fs::remove_file(active_folder(runs).join(name));
        }
        self.lock = None;
    }

    /// Empties the output folder, for a second look at what the agent left.
    pub fn clear_output(&self) -> Result<(), HostError> {
        let output = self.output();
        holon_sandbox::snapshot::remove_tree(&output).map_err(HostError::io("remove", &output))?;
        fs::create_dir(&output).map_err(HostError::io("create", &output))
    }

    /// Takes the lock if nobody holds it.
    fn try_lock(&self) -> Result<Option<File>, HostError> {
        let path = self.path.join("lock");
        let file =
            File::options().create(true).append(true).open(&path).map_err(HostError::io("create", &path))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(HostError::io("lock", &path)(e.into())),
        }
    }

    /// Whether a living process holds the run.
    pub fn is_alive(&self) -> bool {
        self.lock.is_none() && self.path.join("lock").exists() && matches!(self.try_lock(), Ok(None))
    }

    /// Reads `run.json`.
    pub fn record(&self) -> Result<RunRecord, HostError> {
        let path = self.path.join("run.json");
        let text = fs::read(&path).map_err(HostError::io("read", &path))?;
        serde_json::from_slice(&text).map_err(|e| HostError::io("read", &path)(e.into()))
    }

    /// Writes `run.json`.
    pub fn save(&self, record: &RunRecord) -> Result<(), HostError> {
        let mut text = serde_json::to_string_pretty(record).unwrap_or_default();
        text.push('\n');
        write_atomic(&self.path.join("run.json"), text.as_bytes())
    }

    /// Digest of the manifest as it is on the disk.
    pub fn manifest_sha256(&self) -> Option<String> {
        fs::read(self.output().join("manifest.json")).ok().map(|bytes| holon_core::digest::sha256(&bytes))
    }

    /// The manifest, if the run got that far.
    pub fn manifest(&self) -> Option<Manifest> {
        self.read_manifest().ok().flatten()
    }

    /// The same; a manifest that is there and cannot be read is an error, not one that is not there yet.
    pub fn read_manifest(&self) -> Result<Option<Manifest>, HostError> {
        let path = self.output().join("manifest.json");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(HostError::io("read", &path)(e)),
        };
        let damaged = |e: serde_json::Error| {
            HostError::run(
                format!("the manifest {} is damaged: {e}", path.display()),
                "what the run left is in its folder; `holon runs show --events` shows what happened, `holon runs rm` \
                 removes it",
            )
        };
        serde_json::from_slice(&bytes).map(Some).map_err(damaged)
    }

    /// Marks a run whose process died without a word: gives it a manifest and frees its layers. `false` when it is
    /// alive or over after all.
    pub fn mark_interrupted(&self) -> Result<bool, HostError> {
        let Some(_held) = self.try_lock()? else { return Ok(false) };
        let mut record = self.record()?;
        if record.finished {
            return Ok(false);
        }
        let mut manifest = self.manifest().filter(|m| m.run_id == record.id).unwrap_or_else(|| {
            Manifest::begun(record.id.clone(), record.mode.clone(), record.started_at.clone())
        });
        manifest.conclude(RunStatus::Interrupted, RunOutcome::Failure);
        manifest.metadata.mode = record.mode.clone();
        manifest.metadata.agent.name = record.agent.clone();
        if let Ok(Some(plan)) = RunPlan::as_stored(self) {
            manifest.metadata.interactive = plan.interactive;
        }
        manifest.error = Some(
            ErrorInfo::new("interrupted", "Holon was ended before the run was over")
                .with_hint("start it again; nothing was changed in the workspace"),
        );
        fs::create_dir_all(self.output()).map_err(HostError::io("create", &self.output()))?;
        write_atomic(&self.output().join("manifest.json"), manifest.to_json().as_bytes())?;
        if self.path.join(CHECKPOINT).exists() {
            // What cannot be rescued cannot be gone on with, which resuming will say.
            let _ = carried_changes::rescue(&self.path, &self.layers());
        }
        self.remove_layers();
        record.finished = true;
        self.save(&record)?;
        Ok(true)
    }

    /// Leaves a person's wish for the host of a running run: that its supervisor take over.
    pub fn ask_takeover(&self, by: &str) -> Result<(), HostError> {
        write_atomic(&self.path.join(TAKEOVER), by.as_bytes())
    }

    /// Removes the snapshot and the private home; what an agent made unremovable is made removable first.
    pub fn remove_layers(&self) {
        for folder in [self.layers(), self.beside()] {
            let _ = holon_sandbox::snapshot::remove_tree(&folder);
        }
    }
}
