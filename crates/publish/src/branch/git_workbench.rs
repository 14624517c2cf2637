//! The workbench: a bare repository of our own, where a patch becomes a commit.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use holon_core::patch::patched_files;
use holon_git::{Git, ObjectFormat, ScratchRepository};

use super::conflict::{PatchConflict, against};
use super::remote::GitRemote;
use super::stamp::ExistingCommit;
use crate::error::PublishError;

/// How long a transfer may take.
const TRANSFER: Duration = Duration::from_secs(600);
/// The most conflicts that are told.
const MOST: usize = 200;

/// A throw-away repository; nobody's working tree or index is ever touched.
#[derive(Debug)]
pub struct GitWorkbench {
    git: Git,
    scratch: ScratchRepository,
}

/// A commit to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDraft<'a> {
    /// What it holds.
    pub tree: &'a str,
    /// What it follows.
    pub parent: &'a str,
    /// Its message.
    pub message: &'a str,
    /// `Name` of its author.
    pub name: &'a str,
    /// The author's address.
    pub email: &'a str,
    /// When, RFC 3339: the same run gives the same commit.
    pub date: &'a str,
}

impl GitWorkbench {
    /// An empty one. It borrows no objects from the user's clone: git would touch their times there.
    pub fn new(git: Git, temp: &Path) -> Result<Self, PublishError> {
        Ok(Self { git, scratch: ScratchRepository::new(temp, ObjectFormat::Sha1)? })
    }

    fn call<I, S>(&self, args: I) -> holon_git::command::GitCall<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<std::ffi::OsStr>,
    {
        self.git.call(args).git_dir(self.scratch.path()).dir(self.scratch.path())
    }

    /// The commits that branches of the remote are at.
    pub fn branches(
        &self,
        remote: &GitRemote,
        names: &[&str],
    ) -> Result<BTreeMap<String, String>, PublishError> {
        let mut args = remote.door().to_vec();
        args.extend(["ls-remote".into(), "--".into(), remote.url.clone()]);
        args.extend(names.iter().map(|name| format!("refs/heads/{name}")));
        let out = self.transfer(remote, args)?;
        let text = String::from_utf8_lossy(&out);
        let entry = |line: &str| {
            let (id, name) = line.split_once('\t')?;
            let name = name.strip_prefix("refs/heads/")?;
            ObjectFormat::Sha1.is_id(id).then(|| (name.to_owned(), id.to_owned()))
        };
        Ok(text.lines().filter_map(entry).filter(|(name, _)| names.contains(&name.as_str())).collect())
    }

    /// Fetches commits with their trees and no history.
    pub fn fetch(&self, remote: &GitRemote, commits: &[&str]) -> Result<(), PublishError> {
        let mut args = remote.door().to_vec();
        let fixed =
            ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--"];
        args.extend(fixed.map(String::from));
        args.push(remote.url.clone());
        args.extend(commits.iter().map(|id| format!("+{id}:refs/holon/{id}")));
        self.transfer(remote, args).map(drop)
    }

    fn transfer(&self, remote: &GitRemote, args: Vec<String>) -> Result<Vec<u8>, PublishError> {
        let call = remote.reach(self.call(args)).within(TRANSFER);
        call.output().map_err(|error| match error {
            holon_git::GitError::Failed { command, exit, stderr } => {
                PublishError::Git(holon_git::GitError::Failed {
                    command,
                    exit,
                    stderr: remote.clean(&stderr),
                })
            }
            other => PublishError::Git(other),
        })
    }

    /// Whether an object is there.
    pub fn has(&self, id: &str) -> bool {
        self.call(["cat-file", "-e", &format!("{id}^{{commit}}")])
            .run(|_| Ok(()))
            .is_ok_and(|done| done.exit == Some(0))
    }

    /// A commit that was fetched.
    pub fn look(&self, id: &str) -> Result<ExistingCommit, PublishError> {
        let raw = self.call(["cat-file", "commit", id]).output()?;
        let text = String::from_utf8_lossy(&raw);
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let all = |name: &str| {
            head.lines().filter_map(|l| l.strip_prefix(name)).map(|v| v.trim().to_owned()).collect::<Vec<_>>()
        };
        Ok(ExistingCommit {
            id: id.to_owned(),
            tree: all("tree ").into_iter().next().unwrap_or_default(),
            parents: all("parent "),
            message: message.to_owned(),
        })
    }

    /// Applies a patch to a commit's tree, merging three ways, and gives the tree that comes out.
    pub fn apply(
        &self,
        patch: &[u8],
        onto: &str,
        directory: Option<&str>,
    ) -> Result<Result<String, Vec<PatchConflict>>, PublishError> {
        self.call(["read-tree", onto]).output()?;
        let mut args: Vec<String> =
            ["apply", "--3way", "--cached", "--whitespace=nowarn", "-p1"].map(String::from).to_vec();
        args.extend(directory.map(|dir| format!("--directory={dir}")));
        args.push("-".into());
        let done = self.call(args).run(|stdin| stdin.write_all(patch))?;
        let unmerged = self.call(["ls-files", "--unmerged", "-z"]).output()?;
        if done.exit == Some(0) && unmerged.is_empty() {
            let tree = self.call(["write-tree"]).output()?;
            return Ok(Ok(String::from_utf8_lossy(&tree).trim().to_owned()));
        }
        Ok(Err(self.conflicts(patch, onto, directory, &unmerged, &done.stderr)?))
    }

    /// What stands against a patch: hunks where they can be named, else what git said.
    fn conflicts(
        &self,
        patch: &[u8],
        onto: &str,
        directory: Option<&str>,
        unmerged: &[u8],
        said: &[u8],
    ) -> Result<Vec<PatchConflict>, PublishError> {
        let said = String::from_utf8_lossy(said);
        let mut found = Vec::new();
        for part in patched_files(patch) {
            let before = part.old.as_deref().or(part.new.as_deref()).unwrap_or_default();
            let path = directory
                .map_or_else(|| before.to_owned(), |dir| format!("{}/{before}", dir.trim_end_matches('/')));
            // Asking for every file of a large patch would take long; git has named those that matter.
            let is_unmerged =
                || unmerged.split(|b| *b == 0).any(|r| r.ends_with(format!("\t{path}").as_bytes()));
            if !said.contains(&path) && !is_unmerged() {
                continue;
            }
            let now = self.call(["cat-file", "blob", &format!("{onto}:{path}")]).run(|_| Ok(()))?;
            let content = (now.exit == Some(0)).then_some(now.stdout);
            found.extend(against(&part, content.as_deref()));
            if found.len() >= MOST {
                break;
            }
        }
        if found.is_empty() {
            let why =
                said.lines().filter(|l| l.contains("error") || l.contains("conflict")).collect::<Vec<_>>();
            let why = if why.is_empty() { said.trim().to_owned() } else { why.join("; ") };
            found.push(PatchConflict { path: "the patch".into(), hunk: None, why });
        }
        Ok(found)
    }

    /// Makes a commit and gives its id.
    pub fn commit(&self, commit: &CommitDraft<'_>) -> Result<String, PublishError> {
        let mut call = self.call(["commit-tree", commit.tree, "-p", commit.parent, "-F", "-"]);
        for (name, value) in [
            ("GIT_AUTHOR_NAME", commit.name),
            ("GIT_AUTHOR_EMAIL", commit.email),
            ("GIT_AUTHOR_DATE", commit.date),
            ("GIT_COMMITTER_NAME", commit.name),
            ("GIT_COMMITTER_EMAIL", commit.email),
            ("GIT_COMMITTER_DATE", commit.date),
        ] {
            call = call.env(name, value);
        }
        let out = call.feed(|stdin| stdin.write_all(commit.message.as_bytes()))?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    /// Pushes a commit to a branch that is still where it was seen: `lease` is that commit, none for a new branch.
    pub fn push(
        &self,
        remote: &GitRemote,
        commit: &str,
        branch: &str,
        lease: Option<&str>,
    ) -> Result<(), PublishError> {
        let name = format!("refs/heads/{branch}");
        let mut args = remote.door().to_vec();
        args.extend(["push", "--porcelain", "--no-verify", "--no-signed"].map(String::from));
        args.push(format!("--force-with-lease={name}:{}", lease.unwrap_or_default()));
        args.extend(["--".into(), remote.url.clone(), format!("{commit}:{name}")]);
        let done = remote.reach(self.call(args)).within(TRANSFER).run(|_| Ok(()))?;
        if done.exit == Some(0) {
            return Ok(());
        }
        Err(PublishError::Push {
            branch: branch.to_owned(),
            said: remote.clean(&push_reason(&done.stdout, &done.stderr)),
        })
    }
}

/// What a refused push was refused for, on one line.
fn push_reason(stdout: &[u8], stderr: &[u8]) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(stdout), String::from_utf8_lossy(stderr));
    let refused =
        stdout.lines().filter(|line| line.starts_with('!')).filter_map(|line| line.rsplit('\t').next());
    let remote = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("remote:"))
        .map(str::trim)
        .filter(|l| !l.is_empty());
    let mut told: Vec<&str> = refused.chain(remote).collect();
    if told.is_empty() {
        told = stderr.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    }
    told.join("; ").chars().take(800).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_on_one_line() {
        let stdout = b"To http://x\n!\tabc:refs/heads/holon/x\t[remote rejected] (protected branch hook declined)\nDone\n";
        let stderr = b"remote: error: GH006: Protected branch update failed.        \nremote: \nerror: failed to push\n";
        assert_eq!(
            push_reason(stdout, stderr),
            "[remote rejected] (protected branch hook declined); error: GH006: Protected branch update failed."
        );
        assert_eq!(push_reason(b"", b"fatal: no\n"), "fatal: no");
    }
}
