//! Applying a delivered patch to the workspace: only on request, all of it or nothing.

use std::fs;
use std::path::PathBuf;

use holon_core::digest::sha256;
use holon_core::manifest::Manifest;
use holon_core::outcome::Outcome;
use holon_git::apply::{self, Delivery};
use holon_git::{Git, Repository, Touched};

use crate::error::HostError;
use crate::record::now;
use crate::store::{RunFolder, RunRecord};

/// What applying did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The workspace.
    pub workspace: PathBuf,
    /// How it went.
    pub outcome: apply::Outcome,
    /// How many files the patch changes; one that is renamed is one, although two paths are touched.
    pub files: u64,
}

/// What a finished run delivered.
pub(super) struct Delivered {
    pub(super) record: RunRecord,
    pub(super) manifest: Manifest,
    pub(super) patch: Vec<u8>,
}

/// The patch of a finished run, if it may be used: the run did not fail, and nobody changed it since.
pub(super) fn delivered(folder: &RunFolder) -> Result<Delivered, HostError> {
    let record = folder.record()?;
    let manifest = folder
        .manifest()
        .ok_or_else(|| HostError::run("the run has no manifest", "it may still be running"))?;
    if manifest.outcome == Outcome::Failure {
        return Err(HostError::run(
            format!("run {} failed, so its patch is not applied", record.id),
            "look at it with `holon runs diff`; apply it by hand with `git apply` if you must",
        ));
    }
    let path = folder.output().join("diff.patch");
    let patch = fs::read(&path).map_err(|_| {
        HostError::run(
            format!("run {} delivered no patch", record.id),
            "modes that only look deliver none; see `holon runs show`",
        )
    })?;
    let listed = manifest.artifacts.iter().find(|a| a.path == "diff.patch").and_then(|a| a.sha256.clone());
    if listed.as_deref() != Some(sha256(&patch).as_str()) {
        return Err(HostError::run(
            "diff.patch is not the one in the manifest",
            "somebody changed it; run again",
        ));
    }
    Ok(Delivered { record, manifest, patch })
}

/// What the patch of a finished run touches, as recorded when it was made.
pub(super) fn touched(folder: &RunFolder) -> Result<Vec<Touched>, HostError> {
    let path = folder.path().join("touched.json");
    let text = fs::read(&path).map_err(HostError::io("read", &path))?;
    serde_json::from_slice(&text).map_err(|e| HostError::io("read", &path)(e.into()))
}

/// Applies the patch of a finished run to the workspace it was made for.
pub fn apply(folder: &RunFolder) -> Result<Applied, HostError> {
    let Delivered { mut record, manifest, patch } = delivered(folder)?;
    let touched = touched(folder)?;
    let git = Git::find()?;
    let found = Repository::look(&record.workspace)?;
    let temp = tempfile::tempdir().map_err(HostError::io("create", &std::env::temp_dir()))?;
    let outcome = apply::deliver(
        &git,
        Delivery {
            patch: &patch,
            touched: &touched,
            dir: &record.workspace,
            repository: found.repository.as_ref(),
            temp: temp.path(),
        },
    )?;
    if matches!(outcome, apply::Outcome::Applied { .. } | apply::Outcome::Merged { .. }) {
        record.applied_at = Some(now());
        folder.save(&record)?;
    }
    let files = match manifest.metadata.changes.files {
        0 => touched.len() as u64,
        counted => counted,
    };
    Ok(Applied { workspace: record.workspace, outcome, files })
}
