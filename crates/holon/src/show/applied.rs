//! What applying a patch did, in words.

use std::path::Path;

use holon_apply::{ApplyConflict, ApplyOutcome, ConflictReason};
use holon_host::run::{AppliedRun, BranchCommit};

use super::amount;
use crate::terminal::visible;

/// What became of a patch that was to be committed, in one or two lines.
pub(crate) fn on_branch(done: &BranchCommit) -> String {
    let branch = visible(&done.branch);
    match &done.commit {
        None => "the patch is empty: nothing to commit".to_owned(),
        Some(made) => {
            let id = made.id.get(..12).unwrap_or(&made.id);
            let head = match made.before {
                true => format!("already there: branch {branch} holds these changes ({id})"),
                false => {
                    format!("committed as {id} on branch {branch}; your files and index are as they were")
                }
            };
            format!("{head}\nnext: git merge {branch}")
        }
    }
}

/// One or more lines without the last newline.
pub(crate) fn text(applied: &AppliedRun) -> String {
    let workspace = visible(&applied.workspace.display().to_string());
    let files = amount::count(applied.files, "file");
    match &applied.outcome {
        ApplyOutcome::NothingToDo => "the patch is empty: nothing to apply".to_owned(),
        ApplyOutcome::AlreadyThere => format!("already there: {workspace} has these changes"),
        ApplyOutcome::Applied { unwatched, .. } => {
            format!("applied to {workspace}: {files} changed{}", replaced(unwatched.as_deref()))
        }
        ApplyOutcome::Merged { merged, unwatched, .. } => {
            let both: Vec<String> = merged.iter().map(|p| visible(&p.display().to_string())).collect();
            format!(
                "applied to {workspace}: {files} changed, merged with newer changes in {}{}",
                both.join(", "),
                replaced(unwatched.as_deref())
            )
        }
        ApplyOutcome::Refused { conflicts } => {
            let moved = |conflict: &ApplyConflict| {
                matches!(conflict.why, ConflictReason::NotPutBack | ConflictReason::MovedAway)
            };
            let but = if conflicts.iter().any(moved) { ", but for what somebody did meanwhile" } else { "" };
            let mut text = format!("not applied, {workspace} is as it was{but}:");
            for conflict in conflicts {
                text.push_str(&format!("\n  {}", reason(conflict)));
            }
            text
        }
    }
}

/// What became of an undo, in one or more lines without the last newline.
pub(crate) fn undone(done: &AppliedRun) -> String {
    let workspace = visible(&done.workspace.display().to_string());
    let files = amount::count(done.files, "file");
    match &done.outcome {
        ApplyOutcome::NothingToDo | ApplyOutcome::AlreadyThere => {
            format!("already undone: {workspace} has none of these changes")
        }
        ApplyOutcome::Applied { unwatched, .. } => {
            format!("undone in {workspace}: {files} changed back{}", replaced(unwatched.as_deref()))
        }
        ApplyOutcome::Merged { merged, unwatched, .. } => {
            let both: Vec<String> = merged.iter().map(|p| visible(&p.display().to_string())).collect();
            format!(
                "undone in {workspace}: {files} changed back, your later changes kept in {}{}",
                both.join(", "),
                replaced(unwatched.as_deref())
            )
        }
        ApplyOutcome::Refused { .. } => text(done).replacen("not applied", "not undone", 1),
    }
}

/// Where the replaced files are, if another program may still write to one of them.
fn replaced(unwatched: Option<&Path>) -> String {
    let Some(folder) = unwatched else { return String::new() };
    let folder = visible(&folder.display().to_string());
    format!(
        "\nnote: the system does not tell whether another program still writes to one of these files; as they were, they are kept for 30 days in {folder}"
    )
}

/// A path that was left as somebody has it, and where what it replaced is.
pub(crate) fn left(conflict: &ApplyConflict) -> String {
    let path = visible(&conflict.path.display().to_string());
    match (&conflict.kept, conflict.why) {
        (Some(kept), _) => format!("{path}; what it was before is {}", visible(&kept.display().to_string())),
        (None, ConflictReason::MovedAway) => format!("{path} {}", moved_away(&conflict.detail)),
        (None, _) => path,
    }
}

/// What became of a path that somebody moved, and where what it was before is.
fn moved_away(beside: &str) -> String {
    match beside {
        "" => {
            "was moved or removed meanwhile; what it was before the patch stands there again, what was moved away may have the patch in it".to_owned()
        }
        name => format!(
            "is in a folder that was moved or removed meanwhile; what is in that folder may have the patch in it, and what it was before is there as {}",
            visible(name)
        ),
    }
}

/// Why one path stands in the way, and where the other version is.
fn reason(conflict: &ApplyConflict) -> String {
    let why = match conflict.why {
        ConflictReason::MovedAway => return left(conflict),
        ConflictReason::NoBase => "changed since the run, and what it was before is not known",
        ConflictReason::Overlap => "was changed in the same lines",
        ConflictReason::NotText => "changed since the run, and cannot be merged line by line",
        ConflictReason::BothAdded => "was made by somebody else since the run",
        ConflictReason::ChangedHere => "changed since the run, and the patch removes it",
        ConflictReason::RemovedHere => "was removed since the run, and the patch changes it",
        ConflictReason::InTheWay => "is a folder where the patch has a file, or the other way round",
        ConflictReason::InUse => "is being written by another program",
        ConflictReason::NotPutBack => "changed while it was put back, and stays as it is now",
        ConflictReason::Sparse => "is outside what this sparse checkout shows",
        ConflictReason::Unwritten => "could not be written",
    };
    let path = match conflict.path.display().to_string() {
        path if path.is_empty() => "a file".to_owned(),
        path => visible(&path),
    };
    let detail = match conflict.detail.is_empty() {
        true => String::new(),
        false => format!(" ({})", visible(&conflict.detail).replace('\n', " ")),
    };
    let kept = conflict.kept.as_ref().map(|kept| visible(&kept.display().to_string()));
    let kept = kept.map_or(String::new(), |kept| format!("; the other version is {kept}"));
    format!("{path} {why}{detail}{kept}")
}
