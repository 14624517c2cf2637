//! Collect: what the agent left, told by the host from bytes.

use std::io::Read;
use std::path::Path;

use holon_apply::ContentWriter;
use holon_git::Git;
use holon_sandbox::diff::{CollectOptions, CollectedChanges, DeliveredPatch, PathVersion};

use super::ActiveRun;
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use crate::error::HostError;
use crate::store::{write_atomic, write_durable};

/// Old contents are kept with a patch up to this many bytes; without them a file a person changed since cannot be merged.
const ROOM_FOR_BASES: u64 = 64 << 20;

/// What the agent changed, and the patch that says so.
pub(crate) struct CollectedResult {
    pub changes: Option<CollectedChanges>,
    pub patch: DeliveredPatch,
}

impl CollectedResult {
    /// No change, or none that could be told.
    pub(super) fn nothing() -> Self {
        Self { changes: None, patch: DeliveredPatch::default() }
    }
}

impl ActiveRun<'_> {
    pub(super) fn collect(&mut self, stage: &RunStage) -> Result<CollectedResult, HostError> {
        if stage.snapshot.written().is_none() {
            return Ok(CollectedResult::nothing());
        }
        let found;
        let git = match &stage.git {
            Some(git) => git,
            None => {
                found = Git::find()?;
                &found
            }
        };
        // What it did not come to is unknown, and is only asked for where somebody changed a file meanwhile.
        stage.originals.borrow_mut().take();
        let delivers = self.plan.profile.access.delivers();
        let options = CollectOptions { git, limits: Default::default() };
        let (changes, patch) = stage.snapshot.settled_changes(&options, |changes| {
            let patch = changes.patch(git, &self.folder.layers())?;
            if delivers {
                self.keep_contents(changes, &patch)?;
            }
            Ok::<_, HostError>(patch)
        })?;
        // What a mode throws away is no change of its run.
        if delivers {
            self.manifest.metadata.changes.ignored = changes.ignored;
        }
        for skipped in &changes.skipped {
            let message = format!("{} cannot be part of a patch ({:?})", skipped.path.display(), skipped.why);
            self.warn(message);
        }
        if !changes.unknown.is_empty() {
            self.keep_unknown(&changes)?;
        }
        Ok(CollectedResult { changes: Some(changes), patch })
    }

    /// Puts the patch where it belongs: the output folder, or the evidence when it must not leave.
    pub(super) fn deliver(
        &mut self,
        found: &CollectedResult,
        verdict: &mut RunVerdict,
    ) -> Result<(), HostError> {
        self.note_uncommitted(&found.patch);
        let access = &self.plan.profile.access;
        let patch = &found.patch;
        let goes_out = access.delivers() && !verdict.withhold_patch;
        self.manifest.no_changes = patch.bytes.is_empty() || !access.delivers();
        let metadata = &mut self.manifest.metadata;
        if goes_out {
            let changes = &mut metadata.changes;
            (changes.files, changes.insertions, changes.deletions) =
                (patch.files, patch.insertions, patch.deletions);
        }
        if let Some(snapshot) = metadata.snapshot.as_mut().filter(|_| goes_out) {
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
            remove_if_there(&self.folder.contents())?;
            return clean("withheld.patch");
        }
        let touched = serde_json::to_vec_pretty(&patch.touched).unwrap_or_default();
        write_atomic(&list, &touched)?;
        write_durable(&target, &patch.bytes)
    }

    /// What an apply needs later: the new contents, and the old ones so that it can merge with what people did since.
    fn keep_contents(&self, changes: &CollectedChanges, patch: &DeliveredPatch) -> Result<(), HostError> {
        let path = self.folder.contents();
        let keep = || -> std::io::Result<()> {
            let mut room = ROOM_FOR_BASES;
            let mut writer = ContentWriter::create(&path)?;
            changes.each_content(patch, &mut |content| {
                if content.is_base {
                    if content.len > room {
                        return Ok(());
                    }
                    room -= content.len;
                }
                writer.keep(content.sha256, content.len, content.bytes)
            })?;
            writer.finish(false)
        };
        keep().map_err(HostError::io("write", &path))
    }

    /// The agent's version of files whose original nobody knows, for a person to compare.
    pub(super) fn keep_unknown(&self, changes: &CollectedChanges) -> Result<(), HostError> {
        for change in &changes.unknown {
            let Some(PathVersion::File { place, .. }) = &change.result else { continue };
            let path = self.folder.evidence().join("conflicts").join(&change.path);
            let mut bytes = Vec::new();
            let read = changes.open(place).and_then(|mut file| file.read_to_end(&mut bytes));
            read.map_err(HostError::io("read", &change.path))?;
            let parent = path.parent().unwrap_or(&path);
            std::fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
            write_atomic(&path, &self.events.redactor().redact(&bytes))?;
        }
        Ok(())
    }

    /// The last proof: the original is as it was.
    pub(super) fn prove_untouched(&mut self, stage: &RunStage, verdict: &mut RunVerdict) {
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
