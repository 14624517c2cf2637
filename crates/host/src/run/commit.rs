//! A delivered patch as one commit on a branch of its own, for people who would rather merge than apply.

use std::ffi::OsString;
use std::path::PathBuf;

use holon_core::release::ReleaseTarget;
use holon_git::commit::{self, CommitError, CommitRequest, CommittedChange};
use holon_git::{Git, Repository};

use super::HostEnvironment;
use super::apply::{DeliveredRun, delivered};
use crate::error::HostError;
use crate::store::{RunFolder, RunRecord};

/// Variables by which git finds out who a person is.
const WHO: [&str; 10] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "EMAIL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];

/// The longest first line of a message.
const SUBJECT: usize = 72;

/// A change on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchCommit {
    /// The workspace whose repository it is in.
    pub workspace: PathBuf,
    /// The branch.
    pub branch: String,
    /// The commit; nothing when the patch is empty.
    pub commit: Option<CommittedChange>,
}

/// Commits the patch of a finished run on the branch `holon/<run>`. Nothing else of the repository changes: not the branch
/// that is checked out, not the index, not a file; and no hook runs.
pub fn commit(folder: &RunFolder, env: &HostEnvironment) -> Result<BranchCommit, HostError> {
    let DeliveredRun { record, manifest, patch, touched } = delivered(folder, ReleaseTarget::Commit)?;
    let branch = format!("holon/{}", record.id);
    let workspace = record.workspace.clone();
    if patch.is_empty() {
        return Ok(BranchCommit { workspace, branch, commit: None });
    }
    let found = Repository::look(&workspace)?.repository.ok_or_else(|| {
        let message = format!("{} belongs to no repository that could be committed to", workspace.display());
        HostError::run(message, "apply the patch without --commit")
    })?;
    let user: Vec<(&'static str, OsString)> =
        WHO.into_iter().filter_map(|name| Some((name, env(name)?))).collect();
    let temp = tempfile::tempdir().map_err(HostError::io("create", &std::env::temp_dir()))?;
    let wanted = CommitRequest {
        patch: &patch,
        touched: &touched,
        repository: &found,
        base: manifest.metadata.snapshot.as_ref().and_then(|snapshot| snapshot.base_commit.as_deref()),
        branch: &branch,
        message: &message(&record),
        user: &user,
        temp: temp.path(),
    };
    let made = commit::commit(&Git::find()?, wanted).map_err(|error| explained(error, &branch))?;
    Ok(BranchCommit { workspace, branch, commit: Some(made) })
}

fn explained(error: CommitError, branch: &str) -> HostError {
    let hint = match &error {
        CommitError::Git(_) => String::new(),
        CommitError::NoIdentity => {
            "say who you are: git config --global user.name \"…\" and user.email \"…\"".into()
        }
        CommitError::Taken { .. } => {
            format!("look at it with `git log {branch}`, rename it with `git branch -m`, then try again")
        }
        CommitError::DoesNotFit { .. } => {
            "it was made on top of changes that are not committed; commit those first, or apply it without --commit"
                .into()
        }
        CommitError::InSubmodule { module, .. } => format!(
            "apply it without --commit, then commit in {} first, and after that here",
            module.display()
        ),
        CommitError::Filtered { .. } => {
            "apply it without --commit, then `git add` and `git commit`, which run the filter".into()
        }
        CommitError::NeverEnds { .. } => "remove it, or put the file there that belongs there".into(),
        CommitError::Foreign { .. } => "run this command as its owner".into(),
        CommitError::Closed { .. } => {
            "check whose repository it is and whether its file system can be written; or apply without --commit".into()
        }
    };
    match error {
        CommitError::Git(error) => error.into(),
        other => HostError::run(other.to_string(), hint),
    }
}

/// The goal, its beginning as the first line, and which run it was.
fn message(record: &RunRecord) -> String {
    let clean: String = record.goal.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    let goal = clean.trim();
    let first = goal.lines().next().unwrap_or_default().trim();
    let mut subject: String = first.chars().take(SUBJECT).collect();
    if subject.len() < first.len() {
        subject = format!("{}…", subject.chars().take(SUBJECT - 1).collect::<String>().trim_end());
    }
    if subject.is_empty() {
        subject = format!("Changes of {}", record.id);
    }
    let body = if subject == goal || goal.is_empty() { String::new() } else { format!("{goal}\n\n") };
    format!("{subject}\n\n{body}Holon-Run: {}\nHolon-Mode: {}\n", record.id, record.mode)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn messages_are_made_of_the_goal() {
        let check = |goal: &str, expect: &str| {
            let record = RunRecord {
                id: "20260102-030405-abcdef".parse().unwrap(),
                workspace: "/w".into(),
                mode: "execute".into(),
                goal: goal.into(),
                agent: "a".into(),
                started_at: String::new(),
                out: None,
                finished: true,
                applied_at: None,
            };
            let tail = "Holon-Run: 20260102-030405-abcdef\nHolon-Mode: execute\n";
            assert_eq!(message(&record), format!("{expect}{tail}"), "{goal:?}");
        };
        check("Mend it", "Mend it\n\n");
        check("Mend it\u{0}\u{1b}[1m\n\nand more", "Mend it[1m\n\nMend it[1m\n\nand more\n\n");
        let long = "ä".repeat(80);
        check(&long, &format!("{}…\n\n{long}\n\n", "ä".repeat(71)));
        check(" \n ", "Changes of 20260102-030405-abcdef\n\n");
    }
}
