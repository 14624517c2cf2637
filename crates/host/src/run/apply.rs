//! Applying a delivered patch to the workspace, and taking it back: only on request, all of it or nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use holon_apply::{
    ApplyConflict, ApplyOutcome as Applying, ApplyPurpose, ApplyRequest, ApplyStore, ChangeSet,
    ConflictReason, ContentFile, ContentWriter, RecoveredApply, Recovery, UndoableApply, undo_of,
};
use holon_core::digest::sha256;
use holon_core::manifest::Manifest;
use holon_core::release::ReleaseTarget;
use holon_git::{FileMode, Git, PathDigest, Repository, TouchedPath, tracked};
use holon_sandbox::writers::has_writer;

use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::record::now;
use crate::release::{self, ReleaseRunRead};
use crate::store::{RunFolder, RunRecord};

/// What applying did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedRun {
    /// The workspace.
    pub workspace: PathBuf,
    /// How it went.
    pub outcome: Applying,
    /// How many files the patch changes; one that is renamed is one, although two paths are touched.
    pub files: u64,
}

/// What a finished run delivered.
pub(super) struct DeliveredRun {
    pub(super) record: RunRecord,
    pub(super) manifest: Manifest,
    pub(super) patch: Vec<u8>,
    /// What the patch touches, as recorded when it was made.
    pub(super) touched: Vec<TouchedPath>,
}

/// The patch of a finished run, if it may be used: the release gate lets it go there, and nobody changed it since.
pub(super) fn delivered(folder: &RunFolder, target: ReleaseTarget) -> Result<DeliveredRun, HostError> {
    let read = ReleaseRunRead::of(folder)?;
    release::require(folder, &read, target)?;
    let ReleaseRunRead { record, manifest, touched, .. } = read;
    let manifest =
        manifest.ok_or_else(|| HostError::run("the run has no manifest", "it may still be running"))?;
    let path = folder.output().join("diff.patch");
    let patch = fs::read(&path).map_err(|_| {
        HostError::run(
            format!("run {} delivered no patch", record.id),
            "somebody removed diff.patch; run again",
        )
    })?;
    let listed = manifest.artifacts.iter().find(|a| a.path == "diff.patch").and_then(|a| a.sha256.clone());
    if listed.as_deref() != Some(sha256(&patch).as_str()) {
        return Err(HostError::run(
            "diff.patch is not the one in the manifest",
            "somebody changed it; run again",
        ));
    }
    let missing = || {
        HostError::run(
            format!("run {} has no list of what its patch touches", record.id),
            "somebody removed touched.json; run again",
        )
    };
    let touched = if patch.is_empty() { touched.unwrap_or_default() } else { touched.ok_or_else(missing)? };
    Ok(DeliveredRun { record, manifest, patch, touched })
}

/// Applies the patch of a finished run to the workspace it was made for.
pub fn apply(folder: &RunFolder, places: &HolonFolders) -> Result<AppliedRun, HostError> {
    let (delivered, kept) = thread::scope(|scope| {
        let kept = scope.spawn(|| kept(folder));
        let ended = |_| HostError::run("reading the run ended unexpectedly", "try again");
        (delivered(folder, ReleaseTarget::Apply), kept.join().map_err(ended))
    });
    let DeliveredRun { mut record, manifest, patch, touched } = delivered?;
    let kept = kept?;
    let files = match manifest.metadata.changes.files {
        0 => touched.len() as u64,
        counted => counted,
    };
    let done = |outcome| AppliedRun { workspace: record.workspace.clone(), outcome, files };
    if patch.is_empty() {
        return Ok(done(Applying::NothingToDo));
    }
    if let Some(conflicts) = outside_sparse(&record.workspace, &touched)? {
        return Ok(done(Applying::Refused { conflicts }));
    }
    let temp = tempfile::tempdir().map_err(HostError::io("create", &std::env::temp_dir()))?;
    let contents = match kept? {
        Some(contents) => contents,
        // A run of an earlier version kept nothing beside its patch.
        None => match from_patch(&record.workspace, &patch, &touched, temp.path())? {
            Ok(contents) => contents,
            Err(conflicts) => return Ok(done(Applying::Refused { conflicts })),
        },
    };
    let conflicts = folder.path().join("conflicts");
    let changes = ChangeSet::of_patch(&touched);
    let outcome = bring_in(&WorkspaceApply {
        changes: &changes,
        contents: &|sha256| contents.read(sha256),
        workspace: &record.workspace,
        store: &places.applies(),
        purpose: ApplyPurpose::Apply,
        label: record.id.as_str(),
        conflicts: Some(&conflicts),
    })?;
    let mut applied = done(outcome);
    if let Applying::Applied { paths, .. } | Applying::Merged { paths, .. } = &applied.outcome
        && paths.len() < changes.entries.len()
    {
        // The rest was there already.
        applied.files = paths.len() as u64;
    }
    if matches!(applied.outcome, Applying::Applied { .. } | Applying::Merged { .. }) {
        record.applied_at = Some(now());
        folder.save(&record)?;
    }
    Ok(applied)
}

/// Takes back what applying a run's patch did, keeping what a person did since.
pub fn undo(folder: &RunFolder, places: &HolonFolders) -> Result<AppliedRun, HostError> {
    let mut record = folder.record()?;
    let store = places.applies();
    let Some(undoable) = undo_of(&store, record.id.as_str())? else {
        return Err(HostError::run(
            format!("run {} has nothing to undo", record.id),
            "only what `holon runs apply` or --apply brought in within the last 30 days can be taken back",
        ));
    };
    let conflicts = folder.path().join("conflicts");
    let outcome = take_out(&undoable, kept(folder)?.as_ref(), &store, record.id.as_str(), &conflicts)?;
    let files = undoable.changes.entries.len() as u64;
    if !matches!(outcome, Applying::Refused { .. }) {
        undoable.mark_undone()?;
        if undo_of(&store, record.id.as_str())?.is_none() {
            record.applied_at = None;
            folder.save(&record)?;
        }
    }
    Ok(AppliedRun { workspace: undoable.workspace, outcome, files })
}

/// Notes in a run's record what became of an apply that was cut off.
pub fn note_recovered(places: &HolonFolders, recovered: &RecoveredApply) {
    let Some(label) = recovered.label.as_deref() else { return };
    let folder = RunFolder::open(places.runs_of(&recovered.workspace).join(label));
    // A label that is none of a run's is a thread's, which keeps its own account.
    let Ok(mut record) = folder.record() else { return };
    record.applied_at = match (&recovered.recovery, recovered.purpose) {
        (Recovery::Finished, ApplyPurpose::Apply) => Some(now()),
        (Recovery::Finished, ApplyPurpose::Undo) => None,
        _ => return,
    };
    let _ = folder.save(&record);
}

fn take_out(
    undoable: &UndoableApply,
    contents: Option<&ContentFile>,
    store: &ApplyStore,
    label: &str,
    conflicts: &Path,
) -> Result<Applying, HostError> {
    let read = |sha256: &str| match undoable.read(sha256)? {
        Some(bytes) => Ok(Some(bytes)),
        None => contents.map_or(Ok(None), |contents| contents.read(sha256)),
    };
    bring_in(&WorkspaceApply {
        changes: &undoable.changes,
        contents: &read,
        workspace: &undoable.workspace,
        store,
        purpose: ApplyPurpose::Undo,
        label,
        conflicts: Some(conflicts),
    })
}

/// A change on its way into a workspace.
pub(crate) struct WorkspaceApply<'a> {
    pub(crate) changes: &'a ChangeSet,
    pub(crate) contents: &'a (dyn Fn(&str) -> io::Result<Option<Vec<u8>>> + Sync),
    pub(crate) workspace: &'a Path,
    pub(crate) store: &'a ApplyStore,
    pub(crate) purpose: ApplyPurpose,
    pub(crate) label: &'a str,
    pub(crate) conflicts: Option<&'a Path>,
}

/// The one way in which the host changes a person's files.
pub(crate) fn bring_in(bringing: &WorkspaceApply<'_>) -> Result<Applying, HostError> {
    Ok(holon_apply::apply(&ApplyRequest {
        changes: bringing.changes,
        contents: bringing.contents,
        workspace: bringing.workspace,
        store: bringing.store,
        purpose: bringing.purpose,
        label: Some(bringing.label),
        git: &Git::find,
        conflicts: bringing.conflicts,
        has_writer: &has_writer,
    })?)
}

/// The contents kept with a run's patch; `None` when it is one of an earlier version.
fn kept(folder: &RunFolder) -> Result<Option<ContentFile>, HostError> {
    let path = folder.contents();
    match ContentFile::open(&path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(HostError::io("read", &path)(e)),
    }
}

/// New paths that the index names although a sparse checkout does not show them: a file there would look to git as if
/// the one it holds had been replaced.
fn outside_sparse(
    workspace: &Path,
    touched: &[TouchedPath],
) -> Result<Option<Vec<ApplyConflict>>, HostError> {
    let Some(repository) = Repository::look(workspace)?.repository.filter(|r| r.sparse) else {
        return Ok(None);
    };
    let new: Vec<PathBuf> = touched.iter().filter(|t| t.base.is_none()).map(|t| t.path.clone()).collect();
    if new.is_empty() {
        return Ok(None);
    }
    let known = tracked::below(&Git::find()?, &repository, &new)?;
    let conflict = |path: &PathBuf| ApplyConflict {
        path: path.clone(),
        why: ConflictReason::Sparse,
        detail: String::new(),
        kept: None,
    };
    let there = |path: &&PathBuf| known.contains_key(*path) && !workspace.join(path).exists();
    let conflicts: Vec<ApplyConflict> = new.iter().filter(there).map(conflict).collect();
    Ok((!conflicts.is_empty()).then_some(conflicts))
}

/// Makes the results of a patch from the files as they are, if they are what it was made from.
fn from_patch(
    workspace: &Path,
    patch: &[u8],
    touched: &[TouchedPath],
    temp: &Path,
) -> Result<Result<ContentFile, Vec<ApplyConflict>>, HostError> {
    let (stage, file) = (temp.join("stage"), temp.join("contents"));
    fs::create_dir(&stage).map_err(HostError::io("create", &stage))?;
    let mut conflicts = Vec::new();
    for entry in touched {
        let at = workspace.join(&entry.path);
        let digest = PathDigest::of_path(&at).map_err(HostError::io("read", &at))?;
        if digest != entry.base && digest != entry.result {
            conflicts.push(ApplyConflict {
                path: entry.path.clone(),
                why: ConflictReason::NoBase,
                detail: String::new(),
                kept: None,
            });
        } else if digest == entry.base {
            copy_entry(&at, &stage.join(&entry.path)).map_err(HostError::io("copy", &at))?;
        }
    }
    if !conflicts.is_empty() {
        return Ok(Err(conflicts));
    }
    let format = Repository::look(workspace)?.repository.map(|r| r.format).unwrap_or_default();
    let already = touched.iter().all(|entry| {
        PathDigest::of_path(&workspace.join(&entry.path)).is_ok_and(|digest| digest == entry.result)
    });
    if !already {
        holon_git::apply::plain(&Git::find()?, patch, &stage, format)?;
    }
    let from = if already { workspace } else { stage.as_path() };
    let write = || -> io::Result<()> {
        let mut writer = ContentWriter::create(&file)?;
        for result in touched.iter().filter_map(|entry| Some((&entry.path, entry.result.as_ref()?))) {
            keep_entry(&mut writer, &from.join(result.0), result.1)?;
        }
        writer.finish(false)
    };
    write().map_err(HostError::io("write", &file))?;
    Ok(Ok(ContentFile::open(&file).map_err(HostError::io("read", &file))?))
}

/// Keeps one file or link with the contents of a change.
pub fn keep_entry(writer: &mut ContentWriter, path: &Path, digest: &PathDigest) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    match digest.mode {
        FileMode::Gitlink => Ok(()),
        FileMode::Symlink => {
            let target = fs::read_link(path)?;
            let bytes = target.as_os_str().as_bytes();
            writer.keep(&digest.sha256, bytes.len() as u64, &mut &bytes[..])
        }
        _ => {
            let mut file = fs::File::open(path)?;
            let len = file.metadata()?.len();
            writer.keep(&digest.sha256, len, &mut file)
        }
    }
}

fn copy_entry(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(meta) = fs::symlink_metadata(from) else { return Ok(()) };
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if meta.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)
    } else if meta.is_file() {
        fs::copy(from, to).map(drop)
    } else {
        Ok(())
    }
}
