//! What a thread changed so far, and bringing it into the workspace: only on request, all of it or nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holon_apply::{
    ApplyConflict, ApplyOutcome, ApplyPurpose, ApplyStore, ChangeSet, ConflictReason, ContentFile,
    ContentWriter,
};
use holon_core::redact::Redactor;
use holon_core::release::{
    PatchState, ReleaseDecision, ReleaseOverride, ReleaseReason, ReleaseRecord, ReleaseTarget, decide_release,
};
use holon_core::{Access, secrets};
use holon_git::{Git, PathDigest, TouchedPath};
use holon_sandbox::diff::{CollectOptions, CollectedChanges, DeliveredPatch, PatchLimits};
use holon_sandbox::snapshot::{FileTimestamp, LayerLikeness, SkipReason, WorkspaceSnapshot, of_layer};

use super::folder::ThreadFolder;
use super::ledger::LayerLedger;
use crate::error::HostError;
use crate::run::{WorkspaceApply, bring_in};
use crate::steering::sensitive_paths;

/// Everything a thread changed and did not deliver yet.
#[derive(Debug, Clone, Default)]
pub struct ThreadDelta {
    /// What `git apply` takes.
    pub patch: Vec<u8>,
    /// The paths in it.
    pub files: Vec<ThreadFileChange>,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Ignored paths with changes, which are left out.
    pub ignored: u64,
    /// Paths whose original somebody else changed since the thread touched them, or made unreadable.
    pub moved: Vec<PathBuf>,
    /// Paths that steer tools or people's machines, and so need a second word.
    pub sensitive: Vec<PathBuf>,
    touched: Vec<TouchedPath>,
}

/// One path of a [`ThreadDelta`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadFileChange {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Whether it was there before.
    pub was: bool,
    /// Whether it is there now.
    pub is: bool,
}

/// What became of an apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadApplyOutcome {
    /// There was nothing to do.
    Nothing,
    /// The workspace has it now.
    Applied(Vec<PathBuf>),
    /// Nothing was changed: somebody else changed these originals.
    Moved(Vec<PathBuf>),
    /// Nothing was changed: these paths need a second word.
    Sensitive(Vec<PathBuf>),
    /// Nothing was changed: these places would put a credential into the workspace.
    Secrets(Vec<String>),
}

impl ThreadFolder {
    /// What the thread changed so far.
    pub fn delta(&self, hide: &[PathBuf]) -> Result<ThreadDelta, HostError> {
        self.look(hide, None)
    }

    /// What the thread changed so far; the contents of what it changed are kept in a file, if one is named.
    fn look(&self, hide: &[PathBuf], contents: Option<&Path>) -> Result<ThreadDelta, HostError> {
        let ledger = self.ledger()?;
        let Some(layer) = ledger.current.map(|number| self.layer(number)) else {
            return Ok(ThreadDelta::default());
        };
        let git = Git::find()?;
        let options = CollectOptions { git: &git, limits: PatchLimits::default() };
        self.with_changes(&layer, hide, Self::never(), &options, |changes, snapshot| {
            let patch = changes.patch(&git, snapshot.dir())?;
            if let Some(path) = contents {
                keep_contents(&changes, &patch, path).map_err(HostError::io("write", path))?;
            }
            Ok(delta(&ledger, &changes, patch, self.workspace()))
        })
    }

    /// What the release gate says of everything so far.
    pub fn release(&self, hide: &[PathBuf], redactor: &Redactor) -> Result<ReleaseDecision, HostError> {
        Ok(decide(&self.delta(hide)?, redactor, &[]))
    }

    /// Brings everything so far into the workspace, as far as the release gate lets it; `words` are those of people who
    /// say otherwise, and are in the audit log.
    pub fn apply(
        &self,
        hide: &[PathBuf],
        redactor: &Redactor,
        words: &[ReleaseOverride],
    ) -> Result<ThreadApplyOutcome, HostError> {
        let temp = tempfile::Builder::new().prefix("apply-").tempdir_in(self.path());
        let temp = temp.map_err(HostError::io("create", self.path()))?;
        let contents = temp.path().join("contents");
        let delta = self.look(hide, Some(&contents))?;
        if delta.patch.is_empty() && delta.moved.is_empty() {
            return Ok(ThreadApplyOutcome::Nothing);
        }
        if let Some(held) = held(&delta, &decide(&delta, redactor, words)) {
            return Ok(held);
        }
        self.deliver(&delta, &contents)
    }

    fn deliver(&self, delta: &ThreadDelta, contents: &Path) -> Result<ThreadApplyOutcome, HostError> {
        let contents = ContentFile::open(contents).map_err(HostError::io("read", contents))?;
        let label = self.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let outcome = bring_in(&WorkspaceApply {
            changes: &ChangeSet::of_patch(&delta.touched),
            contents: &|sha256| contents.read(sha256),
            workspace: self.workspace(),
            store: &self.applies(),
            purpose: ApplyPurpose::Apply,
            label: &label,
            conflicts: None,
        })?;
        let paths = match outcome {
            ApplyOutcome::NothingToDo => return Ok(ThreadApplyOutcome::Nothing),
            ApplyOutcome::Refused { conflicts } => return refused(conflicts),
            ApplyOutcome::Applied { paths, .. } | ApplyOutcome::Merged { paths, .. } => paths,
            ApplyOutcome::AlreadyThere => delta.touched.iter().map(|t| t.path.clone()).collect(),
        };
        let mut ledger = self.ledger()?;
        if let Some(layer) = ledger.current {
            self.prune(&self.layer(layer), LayerLikeness::ForPatches);
        }
        ledger.applied();
        self.save(&ledger)?;
        Ok(ThreadApplyOutcome::Applied(paths))
    }

    /// The records of applies: threads lie in the folder of a workspace, those beside all of these.
    fn applies(&self) -> ApplyStore {
        let state = self.path().ancestors().nth(3).unwrap_or(self.path());
        ApplyStore::new(state.join("applies"))
    }

    /// Notes what the originals of newly changed paths were, as far as nobody changed them meanwhile.
    pub(super) fn note_originals(
        &self,
        ledger: &mut LayerLedger,
        turn: u64,
        since: FileTimestamp,
    ) -> Result<(), HostError> {
        let Some(layer) = ledger.current.map(|number| self.layer(number)) else { return Ok(()) };
        let git = Git::find()?;
        // Also what fits no patch is kept, and can be taken back or made less.
        let options =
            CollectOptions { git: &git, limits: PatchLimits { entries: u64::MAX, bytes: u64::MAX } };
        self.with_changes(&layer, &[], since, &options, |changes, _| {
            let moved: BTreeSet<&PathBuf> = changes.moved.iter().collect();
            let now = changes.entries.iter().map(|change| {
                let base = original(self.workspace(), &change.path);
                (change.path.as_path(), base, moved.contains(&change.path))
            });
            ledger.note(turn, now);
            Ok(())
        })
    }

    fn with_changes<T>(
        &self,
        layer: &Path,
        hide: &[PathBuf],
        since: FileTimestamp,
        options: &CollectOptions<'_>,
        work: impl FnOnce(CollectedChanges, &WorkspaceSnapshot) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let dir = tempfile::Builder::new()
            .prefix("look-")
            .tempdir_in(self.path())
            .map_err(HostError::io("create", self.path()))?;
        let snapshot = of_layer(&self.request(dir.path(), &Access::ReadWrite, hide), layer, since)?;
        let changes = snapshot.changes(options)?;
        let result = work(changes, &snapshot);
        let _ = snapshot.discard();
        result
    }
}

/// What the release gate says of a chat's changes; credentials are told with their places.
fn decide(delta: &ThreadDelta, redactor: &Redactor, words: &[ReleaseOverride]) -> ReleaseDecision {
    let told = |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let hits = secrets::scan_added_lines_with(redactor, &delta.patch);
    let record = ReleaseRecord {
        patch: PatchState::Delivered,
        sensitive: told(&delta.sensitive),
        credentials: hits.iter().map(|hit| format!("{}:{} ({})", hit.path, hit.line, hit.rule)).collect(),
        base_moved: told(&delta.moved),
        overrides: words.to_vec(),
        ..ReleaseRecord::default()
    };
    decide_release(&record, ReleaseTarget::ChatApply)
}

/// What the person is told of what is held. Whoever has to put their own changes aside need not read the rest first.
fn held(delta: &ThreadDelta, decision: &ReleaseDecision) -> Option<ThreadApplyOutcome> {
    let reasons = &decision.held;
    if reasons.iter().any(|reason| matches!(reason, ReleaseReason::BaseMoved(_))) {
        return Some(ThreadApplyOutcome::Moved(delta.moved.clone()));
    }
    reasons.first().map(|reason| match reason {
        ReleaseReason::Credential(places) => ThreadApplyOutcome::Secrets(places.clone()),
        _ => ThreadApplyOutcome::Sensitive(delta.sensitive.clone()),
    })
}

/// Files in the way are for the person to look at; a folder that cannot be written is an error.
fn refused(conflicts: Vec<ApplyConflict>) -> Result<ThreadApplyOutcome, HostError> {
    let Some(unwritten) = conflicts.iter().find(|conflict| conflict.why == ConflictReason::Unwritten) else {
        return Ok(ThreadApplyOutcome::Moved(conflicts.into_iter().map(|conflict| conflict.path).collect()));
    };
    let what = match unwritten.path.display().to_string() {
        path if path.is_empty() => "the changes".to_owned(),
        path => path,
    };
    Err(HostError::run(
        format!("{what} could not be written ({}); the folder is as it was", unwritten.detail),
        "check the permissions and the space left, then apply again",
    ))
}

fn keep_contents(changes: &CollectedChanges, patch: &DeliveredPatch, path: &Path) -> std::io::Result<()> {
    let mut writer = ContentWriter::create(path)?;
    changes.each_content(patch, &mut |content| writer.keep(content.sha256, content.len, content.bytes))?;
    writer.finish(false)
}

fn original(workspace: &Path, path: &Path) -> Option<PathDigest> {
    // What cannot be read now cannot be compared either, and differs from whatever is there later.
    PathDigest::of_path(&workspace.join(path)).ok().flatten()
}

fn delta(
    ledger: &LayerLedger,
    changes: &CollectedChanges,
    patch: DeliveredPatch,
    workspace: &Path,
) -> ThreadDelta {
    let now = patch.touched.iter().map(|t| (t.path.as_path(), t.base.as_ref()));
    let mut moved = ledger.moved(now);
    // The rest without these would not be all of it.
    let unreadable = changes.skipped.iter().filter(|skipped| skipped.why == SkipReason::Unreadable);
    moved.extend(unreadable.map(|skipped| skipped.path.clone()));
    let touched = patch.touched.iter();
    let paths: Vec<&Path> = touched.clone().map(|t| t.path.as_path()).collect();
    let sensitive = sensitive_paths(workspace, &paths).into_iter().map(Path::to_owned).collect();
    ThreadDelta {
        files: touched
            .clone()
            .map(|t| ThreadFileChange { path: t.path.clone(), was: t.base.is_some(), is: t.result.is_some() })
            .collect(),
        insertions: patch.insertions,
        deletions: patch.deletions,
        ignored: changes.ignored,
        moved: moved.into_iter().collect(),
        sensitive,
        patch: patch.bytes,
        touched: patch.touched,
    }
}
