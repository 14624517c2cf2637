//! One comment per task and kind: made once, brought up to date later.

use serde_json::{Value, json};

use crate::api::{ApiRequest, HttpMethod};
use crate::facts::PublicationFacts;
use crate::github::hub::ForgeIdentity;
use crate::marker::Marker;
use crate::target::RepoName;
use crate::text::{BODY_LIMIT, Cleaner, cut};

/// What a comment says.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommentContent<'a> {
    /// `plan`, `ethics` or `summary`.
    pub kind: &'a str,
    /// Its heading.
    pub heading: &'a str,
    /// The file the text is from.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
}

/// The comment's text, within the forge's limit.
pub(super) fn body(said: &CommentContent<'_>, facts: &PublicationFacts, clean: &Cleaner) -> String {
    let marker = facts.mark(Marker::new("comment").with("kind", said.kind));
    let mut head = format!("### {}\n\n", said.heading);
    if facts.draft {
        head.push_str("> A person has to look at this: the run did not end as a success.\n\n");
    }
    let tail = format!("\n{}{marker}\n", facts.footer());
    let room = BODY_LIMIT - head.chars().count() - tail.chars().count() - 100;
    let whole = format!("{} of run {}", said.file, facts.run);
    format!("{head}{}{tail}", cut(&clean.markdown(said.text.trim()), room, &whole))
}

/// The request that brings the comment to what it should be; nothing when it already is, with its address.
pub(super) fn decide(
    repo: &RepoName,
    number: u64,
    present: &[Value],
    me: &ForgeIdentity,
    said: &CommentContent<'_>,
    facts: &PublicationFacts,
    clean: &Cleaner,
) -> (Option<(String, ApiRequest)>, Option<String>) {
    let ours = present.iter().filter(|comment| me.wrote(&comment["user"])).find_map(|comment| {
        let marker = Marker::find(comment["body"].as_str()?, "comment")?;
        let same = marker.has("task", facts.task.as_str()) && marker.has("kind", said.kind);
        same.then_some((comment, marker))
    });
    let url = ours.as_ref().and_then(|(comment, _)| comment["html_url"].as_str().map(str::to_owned));
    let body = || json!({"body": body(said, facts, clean)});
    let request = match &ours {
        Some((_, marker)) if marker.has("digest", &facts.digest) => None,
        Some((comment, _)) => {
            let id = comment["id"].as_u64().unwrap_or_default();
            let path = repo.path(&format!("/issues/comments/{id}"));
            Some((
                format!("update the {} comment", said.kind),
                ApiRequest::send(HttpMethod::Patch, path, body()),
            ))
        }
        None => {
            let path = repo.path(&format!("/issues/{number}/comments"));
            Some((
                format!("comment the {} on #{number}", said.kind),
                ApiRequest::send(HttpMethod::Post, path, body()),
            ))
        }
    };
    (request, url)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn facts(digest: &str) -> PublicationFacts {
        PublicationFacts {
            run: "r1".into(),
            digest: digest.into(),
            task: "issue-1".parse().unwrap(),
            draft: false,
            made: "mode `plan`".into(),
            overrides: Vec::new(),
            not_run: Vec::new(),
        }
    }

    const PLAN: CommentContent<'static> =
        CommentContent { kind: "plan", heading: "Plan", file: "plan.md", text: "# Goal\n\nAsk @octocat." };

    fn decided(present: &[Value], me: &ForgeIdentity, digest: &str) -> Option<ApiRequest> {
        let repo: RepoName = "o/r".parse().unwrap();
        decide(&repo, 1, present, me, &PLAN, &facts(digest), &Cleaner::default())
            .0
            .map(|(_, request)| request)
    }

    #[test]
    fn one_comment_is_made_kept_and_updated() {
        let me = ForgeIdentity::Login("holon".into());
        let made = decided(&[], &me, "d1").unwrap();
        assert_eq!(made.shown(), "POST /repos/o/r/issues/1/comments");
        let text = made.body.unwrap()["body"].as_str().unwrap().to_owned();
        assert!(text.starts_with("### Plan\n\n# Goal") && !text.contains("@octocat"), "{text}");
        let by =
            |login: &str, kind: &str| json!({"id": 5, "body": text, "user": {"login": login, "type": kind}});
        assert_eq!(decided(&[by("holon", "User")], &me, "d1"), None);
        let update = decided(&[by("HOLON", "User")], &me, "d2").unwrap();
        assert_eq!(update.shown(), "PATCH /repos/o/r/issues/comments/5");
        // Someone who copies the marker is neither believed nor edited.
        assert_eq!(
            decided(&[by("mallory", "User")], &me, "d1").unwrap().shown(),
            "POST /repos/o/r/issues/1/comments"
        );
        assert_eq!(
            decided(&[by("mallory", "User")], &ForgeIdentity::SomeApp, "d1").unwrap().method,
            HttpMethod::Post
        );
        assert_eq!(decided(&[by("some-app[bot]", "Bot")], &ForgeIdentity::SomeApp, "d1"), None);
    }

    #[test]
    fn a_huge_text_is_cut_to_fit() {
        let text = "word ".repeat(100_000);
        let long = body(&CommentContent { text: &text, ..PLAN }, &facts("d"), &Cleaner::default());
        assert!(long.chars().count() <= BODY_LIMIT);
        assert!(long.contains("plan.md of run r1 has all of it"), "{}", &long[long.len() - 400..]);
        assert!(Marker::find(&long, "comment").is_some());
    }
}
