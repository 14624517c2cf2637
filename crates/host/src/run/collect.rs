//! Collect: what the agent left, told by the host from bytes.

use std::path::Path;

use holon_git::Git;
use holon_sandbox::diff::{Changes, Options, Patch};

use super::Run;
use super::snapshot::Stage;
use super::verdict::Verdict;
use crate::error::HostError;
use crate::store::{write_atomic, write_durable};

/// What the agent changed, and the patch that says so.
pub(crate) struct Found {
    pub changes: Option<Changes>,
    pub patch: Patch,
}

impl Found {
    /// No change, or none that could be told.
    pub(super) fn nothing() -> Self {
        Self { changes: None, patch: Patch::default() }
    }
}

impl Run<'_> {
    pub(super) fn collect(&mut self, stage: &Stage) -> Result<Found, HostError> {
        if stage.snapshot.written().is_none() {
            return Ok(Found::nothing());
        }
        let found;
        let git = match &stage.git {
            Some(git) => git,
            None => {
                found = Git::find()?;
                &found
            }
        };
        let changes = stage.snapshot.changes(&Options { git, limits: Default::default() })?;
        let patch = changes.patch(git, &self.folder.layers())?;
        self.manifest.metadata.changes = holon_core::manifest::Changes {
            files: patch.files,
            insertions: patch.insertions,
            deletions: patch.deletions,
            ignored: changes.ignored,
        };
        for skipped in &changes.skipped {
            let message = format!("{} cannot be part of a patch ({:?})", skipped.path.display(), skipped.why);
            self.manifest.metadata.warnings.push(message);
        }
        Ok(Found { changes: Some(changes), patch })
    }

    /// Puts the patch where it belongs: the output folder, or the evidence when it must not leave.
    pub(super) fn deliver(&mut self, found: &Found, verdict: &mut Verdict) -> Result<(), HostError> {
        let access = &self.plan.profile.access;
        let patch = &found.patch;
        self.manifest.no_changes = patch.bytes.is_empty();
        if let Some(snapshot) = &mut self.manifest.metadata.snapshot {
            snapshot.touched = patch
                .touched
                .iter()
                .map(|t| (t.path.to_string_lossy().into_owned(), t.base.as_ref().map(|d| d.sha256.clone())))
                .collect();
        }
        let target = self.folder.output().join("diff.patch");
        // What nobody applies needs not be exact, and may hold what must not be written.
        let clean = |name: &str| -> Result<(), HostError> {
            let path = self.folder.evidence().join(name);
            write_durable(&path, &self.events.redactor().redact(&patch.bytes))
        };
        if !access.delivers() {
            return if patch.bytes.is_empty() { Ok(()) } else { clean("experiments.patch") };
        }
        let list = self.folder.path().join("touched.json");
        if verdict.withhold_patch {
            // Nothing is there to be applied, and even a name may be what must not be written.
            remove_if_there(&target)?;
            remove_if_there(&list)?;
            return clean("withheld.patch");
        }
        let touched = serde_json::to_vec_pretty(&patch.touched).unwrap_or_default();
        write_atomic(&list, &touched)?;
        write_durable(&target, &patch.bytes)
    }

    /// The last proof: the original is as it was.
    pub(super) fn prove_untouched(&mut self, stage: &Stage, verdict: &mut Verdict) {
        let Some(before) = &stage.before else { return };
        match self.whole_digest() {
            Ok(after) if after == *before => {}
            Ok(_) => self.breach(
                verdict,
                "workspace_changed",
                "the workspace is not as it was before the run",
                Vec::new(),
            ),
            Err(e) => self.warn(format!("the workspace could not be hashed again: {e}")),
        }
    }
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), HostError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(HostError::io("remove", path)(e)),
        _ => Ok(()),
    }
}
