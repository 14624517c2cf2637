//! review.json as one review of a pull request.

use std::collections::BTreeMap;

use holon_core::artifact::review::ReviewReport;
use serde_json::{Value, json};

use super::PublishTools;
use super::execute::{EarlierTries, PartDecision, PublishAction};
use super::hub::{self, ForgeIdentity, RepoFacts};
use crate::api::{ApiRequest, HttpMethod, PageBound, pages};
use crate::error::PublishError;
use crate::facts::PublicationFacts;
use crate::folder::VerifiedOutput;
use crate::github::options::PublishOptions;
use crate::review::{
    InlineComment, PostedComment, PostedEdit, PostedItems, PostedReview, PullFile, ReviewEvent, ReviewInput,
    plan,
};
use crate::target::RepoName;
use crate::text::Cleaner;

/// The most files of a pull request that GitHub lists.
const FILES: PageBound = PageBound { entries: 3_000 };

/// Everything the decision needs that does not change while it is made.
#[derive(Debug)]
pub(super) struct PullReviewContext<'a> {
    pub output: &'a VerifiedOutput,
    pub review: &'a ReviewReport,
    pub options: &'a PublishOptions,
    pub facts: &'a PublicationFacts,
    pub clean: &'a Cleaner,
    pub repo: &'a RepoFacts,
    pub me: &'a ForgeIdentity,
    pub number: u64,
}

pub(super) fn decide(
    ask: &PullReviewContext<'_>,
    tools: &mut PublishTools<'_>,
    before: EarlierTries,
) -> Result<PartDecision, PublishError> {
    let target = &ask.options.target.repo;
    // Asked anew each time: the head may have moved.
    let pull = hub::pull(tools.api, target, ask.number)?;
    let base = format!("/pulls/{}", ask.number);
    let listed = pages(tools.api, ApiRequest::get(target.path(&format!("{base}/files"))), None, FILES)?;
    let files: BTreeMap<String, PullFile> =
        listed.entries.iter().map(changed).map(|f| (f.path.clone(), f)).collect();
    let posted = posted(ask, tools, &base)?;
    let saw =
        ask.output.manifest().metadata.snapshot.as_ref().and_then(|snapshot| snapshot.base_commit.clone());
    let reviewed = ask.review.head.clone().filter(|head| is_commit(head)).or(saw);
    let moved = reviewed.as_deref() != Some(pull.head_sha.as_str());
    let own_pull = matches!(ask.me, ForgeIdentity::Login(login) if login.eq_ignore_ascii_case(&pull.author));
    let link = reviewed.as_ref().filter(|_| ask.repo.html_url.starts_with("http"));
    let link = link.map(|commit| format!("{}/blob/{commit}", ask.repo.html_url));
    let planned = plan(&ReviewInput {
        review: ask.review,
        summary: ask.output.text("summary.md").as_deref(),
        files: &files,
        moved,
        head: &pull.head_sha,
        link: link.as_deref(),
        posted: &posted,
        limit: ask.options.limit,
        verdicts: ask.options.verdicts,
        may_judge: !ask.facts.draft && !own_pull,
        // Refused twice: the forge and the diff it gave disagree about its lines.
        body_only: before.unprocessable >= 2,
        facts: ask.facts,
        clean: ask.clean,
    });
    let mut decision =
        PartDecision { counts: Some(planned.counts), url: Some(pull.url.clone()), ..PartDecision::default() };
    if listed.more {
        decision
            .notes
            .push(format!("only the first {} files of the pull request can be seen", FILES.entries));
    }
    if moved && reviewed.is_some() {
        decision.notes.push(format!("the head moved to {} since the review", pull.head_sha));
    }
    if before.unprocessable >= 2 {
        decision.notes.push("GitHub refused the lines, so all findings are in the body".into());
    }
    if let Some((event, body, comments)) = &planned.post {
        let request = request(target, ask.number, &pull.head_sha, *event, body, comments);
        let what = format!("review #{} with {} comments on lines", ask.number, comments.len());
        decision.actions.push(PublishAction::Call(what, request));
    }
    decision.actions.extend(planned.marks.iter().map(|mark| marked(target, ask.number, mark)));
    Ok(decision)
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn changed(file: &Value) -> PullFile {
    let text = |name: &str| file[name].as_str();
    PullFile::new(
        text("filename").unwrap_or_default(),
        text("previous_filename"),
        file["status"] == "removed",
        text("patch"),
    )
}

/// What our own account has left on the pull request.
fn posted(
    ask: &PullReviewContext<'_>,
    tools: &mut PublishTools<'_>,
    base: &str,
) -> Result<PostedItems, PublishError> {
    let target = &ask.options.target.repo;
    let mine =
        |list: Vec<Value>| list.into_iter().filter(|entry| ask.me.wrote(&entry["user"])).collect::<Vec<_>>();
    let reviews = mine(hub::list(tools.api, target.path(&format!("{base}/reviews")))?);
    let comments = mine(hub::list(tools.api, target.path(&format!("{base}/comments")))?);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(PostedItems {
        reviews: reviews
            .iter()
            .filter_map(|r| {
                Some(PostedReview { id: r["id"].as_u64()?, body: text(&r["body"]), state: text(&r["state"]) })
            })
            .collect(),
        comments: comments
            .iter()
            .filter_map(|c| Some(PostedComment { id: c["id"].as_u64()?, body: text(&c["body"]) }))
            .collect(),
    })
}

fn request(
    target: &RepoName,
    number: u64,
    head: &str,
    event: ReviewEvent,
    body: &str,
    comments: &[InlineComment],
) -> ApiRequest {
    let comment = |comment: &InlineComment| {
        let side = if comment.spot.old { "LEFT" } else { "RIGHT" };
        let mut value =
            json!({"path": comment.spot.path, "body": comment.body, "line": comment.spot.line, "side": side});
        if let Some(start) = comment.spot.start {
            value["start_line"] = start.into();
            value["start_side"] = side.into();
        }
        value
    };
    let mut value = json!({"commit_id": head, "event": event.name(), "body": body});
    if !comments.is_empty() {
        value["comments"] = comments.iter().map(comment).collect();
    }
    ApiRequest::send(HttpMethod::Post, target.path(&format!("/pulls/{number}/reviews")), value)
}

fn marked(target: &RepoName, number: u64, mark: &PostedEdit) -> PublishAction {
    let (what, method, path, body) = match mark {
        PostedEdit::Comment(id, body) => (
            format!("mark comment {id}"),
            HttpMethod::Patch,
            target.path(&format!("/pulls/comments/{id}")),
            body,
        ),
        PostedEdit::Review(id, body) => (
            format!("mark review {id}"),
            HttpMethod::Put,
            target.path(&format!("/pulls/{number}/reviews/{id}")),
            body,
        ),
    };
    PublishAction::Call(what, ApiRequest::send(method, path, json!({"body": body})))
}
