//! One apply from beginning to end: plan, stage, swap, and once more from the start when a person was quicker.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::ApplyError;
use crate::change::ChangeSet;
use crate::journal::{ApplyPurpose, ApplyStore, SLOTS};
use crate::outcome::{ApplyConflict, ApplyOutcome, ConflictReason};
use crate::plan::{ContentLookup, FindGit, PlannedConflict, SwapPlanner};
use crate::settled::HasWriter;
use crate::transaction::{SwapInterruption, Transaction};
use crate::tree::WorkspaceTree;

/// How long one apply waits for another to the same folder.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often all is planned anew because a path changed meanwhile.
const ATTEMPTS: u32 = 20;
/// A program that is writing a file right now is given this long before the next attempt.
const PAUSE: Duration = Duration::from_millis(5);

/// What shall go where.
#[derive(Clone, Copy)]
pub struct ApplyRequest<'a> {
    /// What to change.
    pub changes: &'a ChangeSet,
    /// Where contents are found, by their digest.
    pub contents: ContentLookup<'a>,
    /// The folder to change.
    pub workspace: &'a Path,
    /// Where the record is kept.
    pub store: &'a ApplyStore,
    /// What it is for.
    pub purpose: ApplyPurpose,
    /// Whose change it is: the id of a run or a thread.
    pub label: Option<&'a str>,
    /// How git is found, asked only when something must be merged.
    pub git: FindGit<'a>,
    /// Where versions that could not be put in place are written, so that a person can look at both.
    pub conflicts: Option<&'a Path>,
    /// Says whether somebody has a file open for writing; `None` when that cannot be told.
    pub has_writer: HasWriter<'a>,
}

/// Brings a change into a folder, or leaves the folder as it is and says why.
pub fn apply(request: &ApplyRequest<'_>) -> Result<ApplyOutcome, ApplyError> {
    if request.changes.entries.is_empty() {
        return Ok(ApplyOutcome::NothingToDo);
    }
    let _turn = wait_for_turn(request.workspace);
    let tree = WorkspaceTree::open(request.workspace)?;
    let temp = std::env::temp_dir();
    let planner = SwapPlanner { tree: &tree, contents: request.contents, git: request.git, temp: &temp };
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let plan = planner.plan(request.changes)?;
        let (changes, conflicts) = (request.changes.entries.len(), plan.conflicts.len());
        tracing::debug!(changes, conflicts, "has a plan for bringing changes home");
        if !plan.conflicts.is_empty() {
            return Ok(ApplyOutcome::Refused { conflicts: keep(plan.conflicts, request.conflicts)? });
        }
        if plan.swaps.is_empty() {
            let nothing = plan.merged.is_empty();
            return Ok(if nothing {
                ApplyOutcome::AlreadyThere
            } else {
                ApplyOutcome::Merged { paths: Vec::new(), merged: plan.merged, unwatched: None }
            });
        }
        match attempt(request, &tree, &plan)? {
            ApplyAttempt::Done(unwatched) => {
                request.store.forget_old();
                let paths = plan.swaps.iter().map(|swap| swap.path.clone()).collect();
                return Ok(match plan.merged.is_empty() {
                    true => ApplyOutcome::Applied { paths, unwatched },
                    false => ApplyOutcome::Merged { paths, merged: plan.merged, unwatched },
                });
            }
            ApplyAttempt::Refused(conflicts) => return Ok(ApplyOutcome::Refused { conflicts }),
            ApplyAttempt::Again(path) => last = Some(path),
        }
        // The other program is writing this very moment; there is nothing to wait on but time.
        thread::sleep(PAUSE);
    }
    let path = last.unwrap_or_default();
    Ok(ApplyOutcome::Refused { conflicts: vec![ApplyConflict::new(path, ConflictReason::InUse)] })
}

enum ApplyAttempt {
    /// With the folder of the replaced files, when nobody can tell whether one of them is still written.
    Done(Option<PathBuf>),
    Again(PathBuf),
    Refused(Vec<ApplyConflict>),
}

fn attempt(
    request: &ApplyRequest<'_>,
    tree: &WorkspaceTree,
    plan: &crate::plan::SwapPlan,
) -> Result<ApplyAttempt, ApplyError> {
    let ApplyRequest { store, contents, purpose, label, has_writer, .. } = *request;
    let transaction = match Transaction::stage(store, tree, plan, contents, purpose, label) {
        Ok(transaction) => transaction,
        Err(stopped) => return Ok(after(stopped, Vec::new())),
    };
    match transaction.swap_and_settle(has_writer) {
        Ok(()) => {
            let unwatched = transaction.is_unwatched();
            let done =
                transaction.finish(store).map_err(|e| ApplyError::Unfinished { why: e.to_string() })?;
            Ok(ApplyAttempt::Done(unwatched.then(|| done.join(SLOTS))))
        }
        Err(stopped) => Ok(after(stopped, transaction.roll_back(store, has_writer)?)),
    }
}

/// What follows from swaps that ended early and were taken back, but for what was left.
fn after(stopped: SwapInterruption, left: Vec<ApplyConflict>) -> ApplyAttempt {
    match stopped {
        SwapInterruption::Unwritten(path, error) => {
            let detail = error.kind().to_string();
            let conflict = ApplyConflict { detail, ..ApplyConflict::new(path, ConflictReason::Unwritten) };
            ApplyAttempt::Refused([conflict].into_iter().chain(left).collect())
        }
        SwapInterruption::Raced(path) | SwapInterruption::InUse(path) if left.is_empty() => {
            ApplyAttempt::Again(path)
        }
        SwapInterruption::Raced(_) => ApplyAttempt::Refused(left),
        SwapInterruption::InUse(path) => {
            let conflict = ApplyConflict::new(path, ConflictReason::InUse);
            ApplyAttempt::Refused([conflict].into_iter().chain(left).collect())
        }
    }
}

/// Writes the versions that could not be put in place where a person can look at them.
fn keep(conflicts: Vec<PlannedConflict>, to: Option<&Path>) -> Result<Vec<ApplyConflict>, ApplyError> {
    let Some(to) = to else { return Ok(conflicts.into_iter().map(|planned| planned.conflict).collect()) };
    let mut kept = Vec::with_capacity(conflicts.len());
    for PlannedConflict { mut conflict, version, marked } in conflicts {
        if let Some(version) = version {
            let path = to.join(&conflict.path);
            write(&path, &version)?;
            if let Some(marked) = marked {
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(".merged");
                write(&path.with_file_name(name), &marked)?;
            }
            conflict.kept = Some(path);
        }
        kept.push(conflict);
    }
    Ok(kept)
}

fn write(path: &Path, content: &[u8]) -> Result<(), ApplyError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(ApplyError::io("create", parent))?;
    }
    fs::write(path, content).map_err(ApplyError::io("write", path))
}

/// Waits until nobody else applies to this folder: two at once could take each other's changes back. A folder that
/// cannot be locked is used as it is.
fn wait_for_turn(dir: &Path) -> Option<File> {
    let folder = File::open(dir).ok()?;
    match folder.try_lock() {
        Ok(()) => return Some(folder),
        Err(TryLockError::Error(_)) => return None,
        Err(TryLockError::WouldBlock) => {}
    }
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let locked = folder.lock().is_ok();
        let _ = tell.send(locked.then_some(folder));
    });
    // A deadline: whoever applies may be a process that hangs.
    told.recv_timeout(PATIENCE).ok().flatten()
}
