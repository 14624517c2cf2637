//! Reviews, accepted or refused as a whole.

use serde_json::{Value, json};

use super::pulls::{diff, files, head, places, tip};
use super::world::{GitHubAccount, GitHubWorld, HostedRepoState, HostedReview, LineComment, TIME, user};
use crate::git::{finish, git_command};

/// The most characters of a body.
pub(super) const BODY: usize = 65_536;

/// Why something is refused with 422.
pub(super) fn refused(errors: &[String]) -> Value {
    json!({"message": "Unprocessable Entity", "errors": errors, "documentation_url": "https://docs.github.com/rest"})
}

/// Takes a review or says what is wrong with it.
pub(super) fn create(
    world: &mut GitHubWorld,
    name: &str,
    number: u64,
    account: &GitHubAccount,
    body: &Value,
) -> Result<u64, Vec<String>> {
    let repo = &world.repos[name];
    let thread = &repo.threads[&number];
    let pull = thread.pull.as_ref().ok_or_else(|| vec!["not a pull request".to_owned()])?;
    let head = head(world, repo, number, pull).ok_or_else(|| vec!["the head is gone".to_owned()])?;
    let commit = body["commit_id"].as_str().unwrap_or(&head).to_owned();
    let base = tip(&repo.dir, &pull.base_ref).unwrap_or_default();
    let reachable = |of: &str, from: &str| {
        finish(git_command(&repo.dir).args(["merge-base", "--is-ancestor", of, from])).is_ok()
    };
    let mut errors = Vec::new();
    // A commit that was never part of it, or is not any more after a force push.
    if !reachable(&commit, &head) || reachable(&commit, &base) {
        errors.push(format!("Commit {commit} is not part of the pull request"));
        return Err(errors);
    }
    let text = body["body"].as_str().unwrap_or_default();
    let event = body["event"].as_str().unwrap_or_default();
    let lines = body["comments"].as_array().cloned().unwrap_or_default();
    if event != "COMMENT" && thread.author == account.login {
        errors.push(format!("Can not {} your own pull request", event.to_lowercase().replace('_', " ")));
    }
    if (event == "REQUEST_CHANGES" || (event == "COMMENT" && lines.is_empty())) && text.is_empty() {
        errors.push("body can't be blank".into());
    }
    if text.chars().count() > BODY
        || lines.iter().any(|c| c["body"].as_str().unwrap_or_default().chars().count() > BODY)
    {
        errors.push(format!("body is too long (maximum is {BODY} characters)"));
    }
    errors.extend(misplaced(repo, &base, &commit, &lines));
    if world.refuse_lines && !lines.is_empty() {
        errors.push("Line could not be resolved".into());
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let id = world.id();
    let state = match event {
        "APPROVE" => "APPROVED",
        "REQUEST_CHANGES" => "CHANGES_REQUESTED",
        "COMMENT" => "COMMENTED",
        _ => "PENDING",
    };
    let mut comments = Vec::new();
    for line in &lines {
        comments.push(LineComment {
            id: world.id(),
            review: id,
            author: account.login.clone(),
            bot: account.bot,
            body: line["body"].as_str().unwrap_or_default().into(),
            path: line["path"].as_str().unwrap_or_default().into(),
            line: line["line"].as_u64().unwrap_or_default(),
            start_line: line["start_line"].as_u64(),
            side: line["side"].as_str().unwrap_or("RIGHT").into(),
            commit: commit.clone(),
        });
    }
    let repo = world.repos.get_mut(name).expect("it was there");
    let pull = repo.threads.get_mut(&number).and_then(|t| t.pull.as_mut()).expect("it was there");
    pull.comments.extend(comments);
    pull.reviews.push(HostedReview {
        id,
        author: account.login.clone(),
        bot: account.bot,
        body: text.into(),
        state: state.into(),
        commit,
    });
    Ok(id)
}

/// Comments on lines that the diff does not show.
fn misplaced(repo: &HostedRepoState, base: &str, commit: &str, lines: &[Value]) -> Vec<String> {
    let files = files(&diff(repo, base, commit));
    let wrong = |comment: &Value| {
        let path = comment["path"].as_str().unwrap_or_default();
        let side = comment["side"].as_str().unwrap_or("RIGHT");
        let Some(file) = files.iter().find(|file| file.path == path) else {
            return Some(format!("Path could not be resolved: {path}"));
        };
        let places = file.patch.as_deref().map(places).unwrap_or_default();
        let hunk = |side: &str, line: &Value| {
            places
                .iter()
                .find(|(of, n, _)| *of == side && Some(*n) == line.as_u64())
                .map(|(_, _, hunk)| *hunk)
        };
        let Some(last) = hunk(side, &comment["line"]) else {
            return Some(format!("Line could not be resolved: {path}:{}", comment["line"]));
        };
        if comment["start_line"].is_null() {
            return None;
        }
        let start = hunk(comment["start_side"].as_str().unwrap_or(side), &comment["start_line"]);
        if start != Some(last) || comment["start_line"].as_u64() >= comment["line"].as_u64() {
            return Some(format!(
                "start_line must precede line in the same hunk: {path}:{}",
                comment["start_line"]
            ));
        }
        None
    };
    lines.iter().filter_map(wrong).collect()
}

pub(super) fn review_value(review: &HostedReview, base: &str) -> Value {
    json!({
        "id": review.id, "node_id": "R", "user": user(&review.author, review.bot, base), "body": review.body,
        "state": review.state, "commit_id": review.commit, "submitted_at": TIME,
        "html_url": format!("{base}/review/{}", review.id), "author_association": "NONE",
    })
}

pub(super) fn comment_value(comment: &LineComment, head: &str, base: &str) -> Value {
    let outdated = comment.commit != head;
    json!({
        "id": comment.id, "pull_request_review_id": comment.review, "path": comment.path, "body": comment.body,
        "diff_hunk": "@@ -1 +1 @@\n-a\n+b", "user": user(&comment.author, comment.bot, base),
        "line": comment.line, "original_line": comment.line, "start_line": comment.start_line, "side": comment.side,
        "commit_id": comment.commit, "created_at": TIME, "author_association": "NONE",
        "html_url": format!("{base}/comment/{}", comment.id),
        "subject_type": if outdated { "file" } else { "line" },
    })
}
