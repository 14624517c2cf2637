//! What earlier runs left on a pull request, read from the markers in it.

use std::collections::BTreeSet;

use crate::marker::Marker;
use crate::text::{BODY_LIMIT, fits};

/// An inline comment of the publisher's own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedComment {
    /// Its id.
    pub id: u64,
    /// Its text.
    pub body: String,
}

/// A review of the publisher's own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedReview {
    /// Its id.
    pub id: u64,
    /// Its text.
    pub body: String,
    /// Its state, such as `COMMENTED`.
    pub state: String,
}

/// Everything of the publisher's own on a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostedItems {
    /// Comments on lines.
    pub comments: Vec<PostedComment>,
    /// Reviews, oldest first.
    pub reviews: Vec<PostedReview>,
}

/// A change to something posted earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostedEdit {
    /// A comment gets this text.
    Comment(u64, String),
    /// A review gets this text.
    Review(u64, String),
}

/// The line that says a finding is gone, with its marker.
const GONE: &str = "resolved";

impl PostedItems {
    /// Whether the output with this digest was posted as a review.
    pub fn has_review(&self, digest: &str) -> bool {
        self.reviews.iter().any(|review| {
            Marker::find(&review.body, "review").is_some_and(|marker| marker.has("digest", digest))
        })
    }

    /// The last review that came from here.
    pub fn last_review(&self) -> Option<&PostedReview> {
        self.reviews.iter().rfind(|review| Marker::find(&review.body, "review").is_some())
    }

    /// The fingerprints of every finding that was posted.
    pub fn fingerprints(&self) -> BTreeSet<String> {
        let bodies = self.comments.iter().map(|c| &c.body).chain(self.reviews.iter().map(|r| &r.body));
        bodies.flat_map(|body| Marker::all(body)).filter_map(|m| fingerprint(&m)).collect()
    }

    /// The changes that mark what is gone and take the mark off what came back.
    pub fn marks(&self, present: &dyn Fn(&str) -> bool, note: &str) -> Vec<PostedEdit> {
        let comments = self.comments.iter().filter_map(|comment| {
            Some(PostedEdit::Comment(comment.id, marked(&comment.body, present, note)?))
        });
        let reviews = self
            .reviews
            .iter()
            .filter_map(|review| Some(PostedEdit::Review(review.id, marked(&review.body, present, note)?)));
        comments.chain(reviews).collect()
    }
}

fn fingerprint(marker: &Marker) -> Option<String> {
    (marker.word == "finding").then(|| marker.get("fp").map(str::to_owned)).flatten()
}

/// The text with its marks brought up to date; nothing when it already is.
fn marked(body: &str, present: &dyn Fn(&str) -> bool, note: &str) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut changed = false;
    // Stored texts may come back with other line ends.
    for line in body.split('\n').map(|line| line.trim_end_matches('\r')) {
        let markers = Marker::all(line);
        if let Some(gone) = markers.iter().find(|m| m.word == GONE) {
            // A mark that no longer holds goes away with its line.
            if gone.get("fp").is_some_and(present) {
                changed = true;
                continue;
            }
        }
        lines.push(line.to_owned());
        for fp in markers.iter().filter_map(fingerprint).filter(|fp| !present(fp)) {
            let mark = Marker::new(GONE).with("fp", &fp);
            if !body.contains(&mark.to_string()) {
                lines.push(format!("**Resolved:** {note} {mark}"));
                changed = true;
            }
        }
    }
    // A mark must not make a text too long to be stored.
    changed.then(|| lines.join("\n")).filter(|text| fits(text, BODY_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(body: &str) -> PostedItems {
        PostedItems { comments: vec![PostedComment { id: 7, body: body.into() }], reviews: Vec::new() }
    }

    #[test]
    fn what_is_gone_is_marked_once_and_unmarked_when_it_returns() {
        let body = format!("Bad.\n{}\n", Marker::new("finding").with("fp", "aa"));
        let gone = comment(&body).marks(&|_| false, "not found any more.");
        let [PostedEdit::Comment(7, text)] = gone.as_slice() else { panic_with(&gone) };
        assert!(text.contains("**Resolved:** not found any more. <!-- holon:resolved fp=aa -->\n"), "{text}");
        assert_eq!(comment(text).marks(&|_| false, "again"), []);
        assert_eq!(comment(text).marks(&|fp| fp == "aa", "again"), [PostedEdit::Comment(7, body.clone())]);
        assert_eq!(comment(&body).marks(&|fp| fp == "aa", "x"), []);
    }

    #[allow(clippy::panic)]
    fn panic_with(marks: &[PostedEdit]) -> ! {
        panic!("{marks:?}")
    }

    #[test]
    fn fingerprints_come_from_comments_and_reviews() {
        let mark = |fp: &str| Marker::new("finding").with("fp", fp).to_string();
        let posted = PostedItems {
            comments: vec![PostedComment { id: 1, body: mark("a") }],
            reviews: vec![PostedReview {
                id: 2,
                body: format!("{} {}", mark("b"), mark("c")),
                state: "COMMENTED".into(),
            }],
        };
        assert_eq!(posted.fingerprints().into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
