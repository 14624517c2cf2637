//! Pull requests, computed from the real repositories behind them.

use std::path::Path;

use serde_json::{Value, json};

use super::world::{GitHubWorld, HostedPull, HostedRepoState, HostedThread, TIME, user};
use crate::git::{finish, git_command};

/// The commit of a branch.
pub(super) fn tip(dir: &Path, branch: &str) -> Option<String> {
    let name = format!("refs/heads/{branch}^{{commit}}");
    let out = finish(git_command(dir).args(["rev-parse", "--verify", "--quiet", &name])).ok()?;
    Some(out.trim().to_owned())
}

/// The commit at the head of a pull request, brought into the base's repository.
pub(super) fn head(
    world: &GitHubWorld,
    repo: &HostedRepoState,
    number: u64,
    pull: &HostedPull,
) -> Option<String> {
    let from = world.repos.get(&pull.head_repo)?;
    let id = tip(&from.dir, &pull.head_ref)?;
    let known = format!("refs/pull/{number}/head");
    if from.name != repo.name {
        let spec = format!("+refs/heads/{}:{known}", pull.head_ref);
        finish(git_command(&repo.dir).args(["fetch", "--quiet"]).arg(&from.dir).arg(spec)).ok()?;
    } else {
        finish(git_command(&repo.dir).args(["update-ref", &known, &id])).ok()?;
    }
    Some(id)
}

/// One file of a diff.
#[derive(Debug, Clone)]
pub(super) struct PullDiffFile {
    pub path: String,
    pub previous: Option<String>,
    pub status: &'static str,
    pub patch: Option<String>,
}

/// The diff of a pull request at a commit, from where it left its base.
pub(super) fn diff(repo: &HostedRepoState, base: &str, head: &str) -> String {
    let from = finish(git_command(&repo.dir).args(["merge-base", base, head]));
    let from = from.map_or_else(|_| base.to_owned(), |id| id.trim().to_owned());
    let args = [
        "-c",
        "core.quotePath=false",
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--find-renames",
        "--full-index",
    ];
    finish(git_command(&repo.dir).args(args).args([&from, head])).expect("a diff of two commits")
}

/// The files of a diff.
pub(super) fn files(diff: &str) -> Vec<PullDiffFile> {
    let mut sections: Vec<Vec<&str>> = Vec::new();
    for line in diff.lines() {
        if line.starts_with("diff --git ") {
            sections.push(Vec::new());
        }
        if let Some(section) = sections.last_mut() {
            section.push(line);
        }
    }
    sections.iter().map(|section| file(section)).collect()
}

fn file(section: &[&str]) -> PullDiffFile {
    let after = |prefix: &str| section.iter().find_map(|line| line.strip_prefix(prefix)).map(str::to_owned);
    let name = section[0].strip_prefix("diff --git a/").unwrap_or_default();
    // Both names are the same where no other line tells them.
    let same = name.get(..(name.len().saturating_sub(3)) / 2).unwrap_or_default().to_owned();
    let path = after("rename to ").or_else(|| after("+++ b/")).or_else(|| after("--- a/")).unwrap_or(same);
    let previous = after("rename from ");
    let status = if after("new file mode").is_some() {
        "added"
    } else if after("deleted file mode").is_some() {
        "removed"
    } else if previous.is_some() {
        "renamed"
    } else {
        "modified"
    };
    let hunk = section.iter().position(|line| line.starts_with("@@ "));
    let patch = hunk.map(|at| section[at..].join("\n"));
    PullDiffFile { path: path.trim_end_matches('\t').to_owned(), previous, status, patch }
}

/// The lines of a file's diff that can take a comment: side, line, and the number of its hunk.
pub(super) fn places(patch: &str) -> Vec<(&'static str, u64, usize)> {
    let mut found = Vec::new();
    let (mut old, mut new, mut hunk) = (0, 0, 0);
    for line in patch.lines() {
        match line.chars().next() {
            Some('@') => {
                let number = |sign: char| {
                    let text = line.split(' ').find(|word| word.starts_with(sign)).unwrap_or_default();
                    text[1..].split(',').next().and_then(|n| n.parse().ok()).unwrap_or(0)
                };
                (old, new) = (number('-'), number('+'));
                hunk += 1;
            }
            Some('+') => {
                found.push(("RIGHT", new, hunk));
                new += 1;
            }
            Some('-') => {
                found.push(("LEFT", old, hunk));
                old += 1;
            }
            Some('\\') => {}
            _ => {
                found.push(("RIGHT", new, hunk));
                old += 1;
                new += 1;
            }
        }
    }
    found
}

/// A repository as the API tells it.
pub(super) fn repo_value(repo: &HostedRepoState, base: &str, may_push: Option<bool>) -> Value {
    let (owner, name) = repo.name.split_once('/').unwrap_or_default();
    let clone = match repo.file_address {
        true => format!("file://{}", repo.dir.display()),
        false => format!("{base}/{}.git", repo.name),
    };
    let mut value = json!({
        "id": 1, "name": name, "full_name": repo.name, "owner": user(owner, false, base), "private": repo.private,
        "default_branch": repo.default_branch, "clone_url": clone, "html_url": format!("{base}/{}", repo.name),
        "archived": false,
    });
    if let Some(push) = may_push {
        value["permissions"] = json!({"admin": false, "push": push, "pull": true});
    }
    value
}

/// A pull request as the API tells it.
pub(super) fn pull_value(
    world: &GitHubWorld,
    repo: &HostedRepoState,
    thread: &HostedThread,
    base: &str,
) -> Option<Value> {
    let pull = thread.pull.as_ref()?;
    let head = head(world, repo, thread.number, pull).unwrap_or_else(|| "0".repeat(40));
    let side = |of: Option<&HostedRepoState>, name: &str, sha: &str| {
        let owner = of.map_or("gone", |repo| repo.name.split('/').next().unwrap_or_default());
        json!({
            "label": format!("{owner}:{name}"), "ref": name, "sha": sha,
            "repo": of.map(|repo| repo_value(repo, base, None)), "user": user(owner, false, base),
        })
    };
    let base_sha = tip(&repo.dir, &pull.base_ref).unwrap_or_default();
    Some(json!({
        "id": thread.number, "number": thread.number, "state": if thread.open { "open" } else { "closed" },
        "title": thread.title, "body": thread.body, "draft": pull.draft, "user": user(&thread.author, false, base),
        "html_url": format!("{base}/{}/pull/{}", repo.name, thread.number), "created_at": TIME,
        "author_association": "CONTRIBUTOR",
        "head": side(world.repos.get(&pull.head_repo), &pull.head_ref, &head),
        "base": side(Some(repo), &pull.base_ref, &base_sha),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_taken_apart() {
        let diff = "diff --git a/old b b/new b\nsimilarity index 90%\nrename from old b\nrename to new b\n--- a/old b\t\n+++ b/new b\t\n@@ -1,2 +1,2 @@\n a\n-b\n+c\ndiff --git a/x y b/x y\ndeleted file mode 100644\nBinary files differ\n";
        let files = files(diff);
        assert_eq!(
            (files[0].path.as_str(), files[0].previous.as_deref(), files[0].status),
            ("new b", Some("old b"), "renamed")
        );
        assert_eq!(
            places(files[0].patch.as_ref().unwrap()),
            [("RIGHT", 1, 1), ("LEFT", 2, 1), ("RIGHT", 2, 1)]
        );
        assert_eq!(
            (files[1].path.as_str(), files[1].status, files[1].patch.is_none()),
            ("x y", "removed", true)
        );
    }
}
