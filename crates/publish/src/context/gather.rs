//! Reading an issue or pull request, within bounds.

use serde_json::{Value, json};

use super::untrusted::NOTICE;
use super::{checks, threads};
use crate::api::{ApiRequest, ForgeApi, PageBound, checked, json, pages};
use crate::error::PublishError;
use crate::target::PublishTarget;

/// How much is collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextBounds {
    /// The most entries of each list: comments, reviews, files, checks.
    pub entries: usize,
    /// The most bytes of each file.
    pub file_bytes: usize,
}

impl Default for ContextBounds {
    fn default() -> Self {
        Self { entries: 500, file_bytes: 512 * 1024 }
    }
}

/// One file of context, not yet written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedFile {
    /// Its name.
    pub path: &'static str,
    /// What it holds.
    pub what: &'static str,
    /// Its text.
    pub text: String,
    /// What was left out, in words.
    pub left_out: Vec<String>,
}

/// Reads everything about a target that a run may need.
pub fn collect(
    api: &mut dyn ForgeApi,
    target: &PublishTarget,
    bounds: ContextBounds,
) -> Result<Vec<CollectedFile>, PublishError> {
    let Some(number) = target.number else {
        return Err(PublishError::usage(
            "an issue or pull request is needed",
            "name it as OWNER/REPO#NUMBER",
        ));
    };
    let mut gather = ContextGatherer { api, target, bounds, files: Vec::new() };
    let at = |rest: &str| target.repo.path(rest);
    let issue = json(gather.api, &ApiRequest::get(at(&format!("/issues/{number}"))))?;
    gather.add("issue.md", "the issue or pull request itself", vec![threads::opening(&issue)], Vec::new());
    let (comments, left) =
        gather.list(ApiRequest::get(at(&format!("/issues/{number}/comments"))), None, "comments")?;
    gather.add("comments.md", "the conversation, oldest first", threads::comments(&comments), left);
    let mut data = json!({"issue": slim(&issue), "comments": comments.iter().map(slim).collect::<Vec<_>>()});
    if issue["pull_request"].is_object() {
        gather.pull(number, &mut data)?;
    }
    let text = serde_json::to_string_pretty(&data).unwrap_or_default();
    gather.file("data.json", "numbers, names, times and states, without the texts", text, Vec::new());
    Ok(gather.files)
}

struct ContextGatherer<'a> {
    api: &'a mut dyn ForgeApi,
    target: &'a PublishTarget,
    bounds: ContextBounds,
    files: Vec<CollectedFile>,
}

impl ContextGatherer<'_> {
    fn pull(&mut self, number: u64, data: &mut Value) -> Result<(), PublishError> {
        let repo = &self.target.repo;
        let at = |rest: &str| repo.path(&format!("/pulls/{number}{rest}"));
        let pull = json(self.api, &ApiRequest::get(at("")))?;
        self.add(
            "pull.md",
            "branches, commits and size of the pull request",
            vec![threads::pull(&pull)],
            Vec::new(),
        );
        let (reviews, left) = self.list(ApiRequest::get(at("/reviews")), None, "reviews")?;
        self.add("reviews.md", "reviews, oldest first", threads::reviews(&reviews), left);
        let (lines, left) = self.list(ApiRequest::get(at("/comments")), None, "comments on lines")?;
        self.add("threads.md", "comments on lines, by thread", threads::line_threads(&lines), left);
        let (files, left) = self.list(ApiRequest::get(at("/files")), None, "files")?;
        self.diff(&at(""), &files, left)?;
        let head = pull["head"]["sha"].as_str().unwrap_or_default().to_owned();
        let runs = ApiRequest::get(repo.path(&format!("/commits/{head}/check-runs")));
        let (runs, mut left) = self.allowed(runs, "check_runs", "checks")?;
        let status = ApiRequest::get(repo.path(&format!("/commits/{head}/status")));
        let (statuses, more) = self.allowed(status, "statuses", "statuses")?;
        left.extend(more);
        self.add("checks.md", "the checks of the head", checks::checks(&runs, &statuses), left);
        data["pull"] = slim(&pull);
        data["pull"]["head"] = json!({"ref": pull["head"]["ref"], "sha": head});
        data["pull"]["base"] = json!({"ref": pull["base"]["ref"], "sha": pull["base"]["sha"]});
        data["files"] = files.iter().map(|f| json!({"path": f["filename"], "previous": f["previous_filename"], "status": f["status"], "additions": f["additions"], "deletions": f["deletions"]})).collect();
        data["reviews"] = reviews.iter().map(slim).collect();
        data["line_comments"] = lines.iter().map(slim).collect();
        data["checks"] = runs
            .iter()
            .map(|r| json!({"name": r["name"], "status": r["status"], "conclusion": r["conclusion"]}))
            .collect();
        Ok(())
    }

    /// The diff as one text; where the forge finds it too large, the files' diffs put together.
    fn diff(&mut self, path: &str, files: &[Value], mut left: Vec<String>) -> Result<(), PublishError> {
        let whole = checked(self.api, &ApiRequest::get(path).accept("application/vnd.github.diff"));
        let text = match whole {
            Ok(answer) => String::from_utf8_lossy(&answer.body).into_owned(),
            Err(error) if matches!(error.status(), Some(406 | 422)) => {
                left.push(
                    "the forge gives no diff of this size as a whole; files without a shown diff are missing"
                        .into(),
                );
                let told = |file: &Value| {
                    let (name, patch) = (file["filename"].as_str()?, file["patch"].as_str()?);
                    let old = file["previous_filename"].as_str().unwrap_or(name);
                    Some(format!("diff --git a/{old} b/{name}\n--- a/{old}\n+++ b/{name}\n{patch}\n"))
                };
                files.iter().filter_map(told).collect()
            }
            Err(error) => return Err(error),
        };
        self.file("diff.patch", "what the pull request changes", text, left);
        Ok(())
    }

    /// A list within bounds: when it is longer, the newest entries are kept.
    fn list(
        &mut self,
        request: ApiRequest,
        field: Option<&str>,
        what: &str,
    ) -> Result<(Vec<Value>, Vec<String>), PublishError> {
        // Lists come oldest first, so all have to be read; ten times the bound is where that ends.
        let read = PageBound { entries: self.bounds.entries.saturating_mul(10) };
        let found = pages(self.api, request, field, read)?;
        let mut left = Vec::new();
        let skip = found.entries.len().saturating_sub(self.bounds.entries);
        if skip > 0 {
            left.push(format!("{skip} older {what}"));
        }
        if found.more {
            left.push(format!("{what} after the first {}", read.entries));
        }
        Ok((found.entries.into_iter().skip(skip).collect(), left))
    }

    /// A list that the token may not be allowed to read.
    fn allowed(
        &mut self,
        request: ApiRequest,
        field: &str,
        what: &str,
    ) -> Result<(Vec<Value>, Vec<String>), PublishError> {
        match self.list(request, Some(field), what) {
            Err(error) if matches!(error.status(), Some(403 | 404)) => {
                Ok((Vec::new(), vec![format!("{what}: the token may not read them")]))
            }
            other => other,
        }
    }

    /// A Markdown file of parts; the newest are kept when there is not room for all.
    fn add(&mut self, path: &'static str, what: &'static str, parts: Vec<String>, mut left_out: Vec<String>) {
        let head = format!("# {}: {what}\n\n{NOTICE}\n", self.target);
        let mut room = self.bounds.file_bytes.saturating_sub(head.len());
        let mut kept = Vec::new();
        for part in parts.iter().rev() {
            match room.checked_sub(part.len() + 1) {
                Some(left) => {
                    room = left;
                    kept.push(part.as_str());
                }
                None if kept.is_empty() => {
                    // Not even one fits: its beginning is better than nothing.
                    let end =
                        (0..=room.saturating_sub(1)).rev().find(|at| part.is_char_boundary(*at)).unwrap_or(0);
                    kept.push(&part[..end]);
                    left_out.push(format!("the end of a long text in {path}"));
                    break;
                }
                None => break,
            }
        }
        if kept.len() < parts.len() {
            left_out.push(format!("{} older entries of {path}", parts.len() - kept.len()));
        }
        kept.reverse();
        let mut text = head;
        if parts.is_empty() {
            text.push_str("\nThere are none.\n");
        }
        kept.iter().for_each(|part| text.push_str(&format!("\n{part}")));
        self.files.push(CollectedFile { path, what, text, left_out });
    }

    /// Any other file, cut at the end of a line.
    fn file(&mut self, path: &'static str, what: &'static str, mut text: String, mut left_out: Vec<String>) {
        if text.len() > self.bounds.file_bytes {
            let end = text.as_bytes()[..self.bounds.file_bytes]
                .iter()
                .rposition(|b| *b == b'\n')
                .map_or(0, |at| at + 1);
            left_out.push(format!("{} bytes at the end of {path}", text.len() - end));
            text.truncate(end);
        }
        self.files.push(CollectedFile { path, what, text, left_out });
    }
}

/// The fields of an entry that are no prose.
fn slim(entry: &Value) -> Value {
    let mut out = json!({});
    for name in [
        "id",
        "number",
        "state",
        "draft",
        "merged",
        "created_at",
        "updated_at",
        "submitted_at",
        "path",
        "line",
        "side",
        "in_reply_to_id",
        "author_association",
        "html_url",
    ] {
        if !entry[name].is_null() {
            out[name] = entry[name].clone();
        }
    }
    if let Some(login) = entry["user"]["login"].as_str() {
        out["author"] = login.into();
    }
    out
}
