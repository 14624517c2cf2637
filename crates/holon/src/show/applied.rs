//! What applying a patch did, in words.

use holon_git::apply::{Outcome, Why};
use holon_host::run::{Applied, OnBranch};

use super::amount;
use crate::terminal::visible;

/// What became of a patch that was to be committed, in one or two lines.
pub(crate) fn on_branch(done: &OnBranch) -> String {
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
pub(crate) fn text(applied: &Applied) -> String {
    let workspace = visible(&applied.workspace.display().to_string());
    let files = amount::count(applied.files, "file");
    match &applied.outcome {
        Outcome::NothingToDo => "the patch is empty: nothing to apply".to_owned(),
        Outcome::AlreadyThere => format!("already there: {workspace} has these changes"),
        Outcome::Applied { .. } => format!("applied to {workspace}: {files} changed"),
        Outcome::Merged { merged, .. } => {
            let both: Vec<String> = merged.iter().map(|p| visible(&p.display().to_string())).collect();
            format!(
                "applied to {workspace}: {files} changed, merged with newer changes in {}",
                both.join(", ")
            )
        }
        Outcome::Refused { conflicts } => {
            let mut text = format!("not applied, {workspace} is as it was:");
            for conflict in conflicts {
                let why = match conflict.why {
                    Why::LocalChanges => "has changes since the run that are neither committed nor staged",
                    Why::Changed => "changed since the run",
                    Why::Overlap => "was changed in the same lines",
                    Why::Unwritten => "could not be written",
                };
                let path = match conflict.path.display().to_string() {
                    path if path.is_empty() => "a file".to_owned(),
                    path => visible(&path),
                };
                text.push_str(&format!("\n  {path} {why}"));
                if !conflict.detail.is_empty() {
                    text.push_str(&format!(" ({})", visible(&conflict.detail).replace('\n', " ")));
                }
            }
            text
        }
    }
}
