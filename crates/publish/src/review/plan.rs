//! The decision about a review: pure, from what was found and what is there.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::artifact::review::{ReviewFinding, ReviewReport};
use holon_core::digest::sha256_parts;
use serde::Serialize;

use super::event::{ReviewEvent, VerdictReach};
use super::place::{DiffSpot, FindingPlace, NotInlineReason, PullFile, place};
use super::posted::{PostedEdit, PostedItems};
use super::render;
use crate::facts::PublicationFacts;
use crate::marker::Marker;
use crate::text::{Cleaner, cut};

/// The most characters of a review's body; what is left of GitHub's limit is for marks made later.
const BODY: usize = 60_000;
/// The most characters of the summary in it.
const SUMMARY: usize = 20_000;

/// What became of the findings; the last four always add up to the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FindingCounts {
    /// All findings of the review.
    pub candidate: usize,
    /// On lines.
    pub inline: usize,
    /// In the body.
    pub body: usize,
    /// Posted before, or twice in the review.
    pub duplicate: usize,
    /// Left out because of the limit.
    pub over_limit: usize,
}

/// What a review is planned from.
#[derive(Debug)]
pub struct ReviewInput<'a> {
    /// The review.
    pub review: &'a ReviewReport,
    /// The text of summary.md.
    pub summary: Option<&'a str>,
    /// The files of the pull request at its head.
    pub files: &'a BTreeMap<String, PullFile>,
    /// Whether the head is not what was reviewed.
    pub moved: bool,
    /// The head's commit.
    pub head: &'a str,
    /// Where files of the reviewed commit can be seen.
    pub link: Option<&'a str>,
    /// What is already there.
    pub posted: &'a PostedItems,
    /// The most findings that are posted at once.
    pub limit: usize,
    /// How far the verdict goes.
    pub verdicts: VerdictReach,
    /// False for the publisher's own pull request, and for drafts.
    pub may_judge: bool,
    /// True when the forge refused every line: then all go to the body.
    pub body_only: bool,
    /// The run.
    pub facts: &'a PublicationFacts,
    /// Makes text harmless.
    pub clean: &'a Cleaner,
}

/// One inline comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineComment {
    /// Where.
    pub spot: DiffSpot,
    /// What.
    pub body: String,
}

/// What is to be done about a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewPlan {
    /// What became of the findings.
    pub counts: FindingCounts,
    /// The review to post: event, body, comments. Nothing when it is already there or says nothing new.
    pub post: Option<(ReviewEvent, String, Vec<InlineComment>)>,
    /// Changes to what was posted before.
    pub marks: Vec<PostedEdit>,
}

/// Decides what to post.
pub fn plan(asked: &ReviewInput<'_>) -> ReviewPlan {
    let findings = named(asked.review);
    let present: BTreeSet<&str> = findings.iter().map(|f| f.fingerprint.as_str()).collect();
    let note = format!("not found any more by run {} at {}.", asked.facts.run, short(asked.head));
    let marks = asked.posted.marks(&|fp| present.contains(fp), &note);

    let mut counts = FindingCounts { candidate: findings.len(), ..FindingCounts::default() };
    let mut seen = asked.posted.fingerprints();
    let mut fresh: Vec<&ReviewFinding> =
        findings.iter().filter(|f| seen.insert(f.fingerprint.clone())).collect();
    counts.duplicate = counts.candidate - fresh.len();
    fresh.sort_by(|a, b| {
        let order = |f: &ReviewFinding| (f.severity, f.path.clone(), f.line);
        order(a).cmp(&order(b)).then(b.confidence.total_cmp(&a.confidence))
    });
    if asked.posted.has_review(&asked.facts.digest) {
        // Everything of this run is there; what its limit left out stays out.
        counts.over_limit = fresh.len();
        return ReviewPlan { counts, post: None, marks };
    }
    let event = ReviewEvent::of(asked.review.verdict, asked.verdicts, asked.may_judge);
    let says_nothing_new =
        fresh.is_empty() && asked.posted.last_review().is_some_and(|last| last.state == state(event));
    if says_nothing_new {
        return ReviewPlan { counts, post: None, marks };
    }
    let (body, comments) = compose(asked, &fresh, &mut counts);
    ReviewPlan { counts, post: Some((event, body, comments)), marks }
}

/// The findings, each with a fingerprint: one that the host did not see gets one from its own text.
fn named(review: &ReviewReport) -> Vec<ReviewFinding> {
    let name = |mut finding: ReviewFinding| {
        if finding.fingerprint.is_empty() {
            let parts = [&finding.path, &finding.category, &finding.title].map(|part| part.as_bytes());
            finding.fingerprint = sha256_parts(parts).chars().take(32).collect();
        }
        finding
    };
    review.findings.iter().cloned().map(name).collect()
}

/// How GitHub calls a review of this kind afterwards.
fn state(event: ReviewEvent) -> &'static str {
    match event {
        ReviewEvent::Comment => "COMMENTED",
        ReviewEvent::RequestChanges => "CHANGES_REQUESTED",
        ReviewEvent::Approve => "APPROVED",
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// Body and inline comments for the findings that are new, and their counts.
fn compose(
    asked: &ReviewInput<'_>,
    fresh: &[&ReviewFinding],
    counts: &mut FindingCounts,
) -> (String, Vec<InlineComment>) {
    let mut comments = Vec::new();
    let mut told = Vec::new();
    let mut left_out: Vec<&ReviewFinding> = fresh.iter().skip(asked.limit).copied().collect();
    let summary = asked.summary.map(|text| cut(&asked.clean.markdown(text.trim()), SUMMARY, "summary.md"));
    let opening = summary.map_or(0, |text| text.chars().count()) + 2_000;
    let mut room = BODY.saturating_sub(opening);
    for finding in fresh.iter().take(asked.limit).copied() {
        let place = match place(finding, asked.files, asked.moved) {
            FindingPlace::Inline(_) if asked.body_only => FindingPlace::Body(NotInlineReason::OutsideHunks),
            place => place,
        };
        match place {
            FindingPlace::Inline(spot) => {
                let body = render::inline(finding, &spot, asked.clean);
                comments.push(InlineComment { spot, body });
            }
            FindingPlace::Body(why) => {
                let text = render::in_body(finding, why, asked.link, asked.clean);
                match room.checked_sub(text.chars().count() + 10) {
                    Some(left) => {
                        room = left;
                        told.push(text);
                    }
                    None => left_out.push(finding),
                }
            }
        }
    }
    (counts.inline, counts.body, counts.over_limit) = (comments.len(), told.len(), left_out.len());
    (body(asked, *counts, fresh, &told, &left_out), comments)
}

fn body(
    asked: &ReviewInput<'_>,
    counts: FindingCounts,
    fresh: &[&ReviewFinding],
    told: &[String],
    left_out: &[&ReviewFinding],
) -> String {
    let mut out = String::new();
    let tally = match render::tally(fresh.iter().copied()) {
        tally if tally.is_empty() => String::new(),
        tally => format!(" ({tally})"),
    };
    let new = if counts.duplicate > 0 { "new " } else { "" };
    match fresh.len() {
        0 => out.push_str(&format!(
            "### Holon review: nothing {}to report\n",
            if new.is_empty() { "" } else { "new " }
        )),
        n => out.push_str(&format!(
            "### Holon review: {}{tally}\n",
            render::count(n).replace("finding", &format!("{new}finding"))
        )),
    }
    if asked.facts.draft {
        out.push_str("\n> A person has to look at this: the run did not end as a success.\n");
    }
    if let Some(summary) = asked.summary {
        out.push_str(&format!("\n{}\n", cut(&asked.clean.markdown(summary.trim()), SUMMARY, "summary.md")));
    }
    if !told.is_empty() {
        out.push_str("\n#### Not on lines of the diff\n");
        told.iter().for_each(|text| out.push_str(&format!("\n{text}")));
    }
    if !left_out.is_empty() {
        let tally = render::tally(left_out.iter().copied());
        out.push_str(&format!(
            "\n> {} left out ({tally}): review.json has all of them.\n",
            said(left_out.len())
        ));
    }
    if counts.duplicate > 0 {
        out.push_str(&format!("\n{} posted before and not repeated.\n", said(counts.duplicate)));
    }
    if asked.moved {
        let head = short(asked.head);
        out.push_str(&format!("\nThe head moved since the review; lines are those of {head}.\n"));
    }
    out.push_str(&asked.facts.footer());
    let marker = asked.facts.mark(Marker::new("review"));
    out.push_str(&format!("{marker}\n"));
    out
}

fn said(n: usize) -> String {
    format!("{} {}", render::count(n), if n == 1 { "is" } else { "are" })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
