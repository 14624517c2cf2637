#![allow(clippy::unwrap_used)]

use holon_core::artifact::review::{DiffSide, LocationCheck, ReviewVerdict, Severity};
use proptest::prelude::*;

use super::super::posted::{PostedComment, PostedReview};
use super::*;

const SEVERITIES: [Severity; 5] =
    [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Nit];

fn facts() -> PublicationFacts {
    PublicationFacts {
        run: "20260101-000000-aaaaaa".into(),
        digest: "d1".into(),
        task: "pr-1".parse().unwrap(),
        draft: false,
        made: "mode `review`".into(),
        overrides: Vec::new(),
        not_run: Vec::new(),
    }
}

fn finding(number: usize, path: &str, line: u64) -> ReviewFinding {
    ReviewFinding {
        path: path.into(),
        line: Some(line),
        end_line: None,
        side: DiffSide::New,
        severity: SEVERITIES[number % 5],
        category: "correctness".into(),
        title: format!("finding {number}"),
        body: "because".into(),
        suggestion: None,
        confidence: 0.5,
        snippet: "x".into(),
        fingerprint: format!("{number:032x}"),
        location: LocationCheck::Verified,
    }
}

fn review(findings: Vec<ReviewFinding>) -> ReviewReport {
    ReviewReport { version: 1, base: None, head: None, verdict: ReviewVerdict::Comment, findings, dropped: 0 }
}

fn files() -> BTreeMap<String, PullFile> {
    let lines: String = (1..=400).map(|n| format!("+line {n}\n")).collect();
    let file = PullFile::new("a.rs", None, false, Some(&format!("@@ -0,0 +1,400 @@\n{lines}")));
    [(file.path.clone(), file)].into()
}

fn planned(
    review: &ReviewReport,
    posted: &PostedItems,
    limit: usize,
    facts: &PublicationFacts,
    change: impl FnOnce(&mut ReviewInput<'_>),
) -> ReviewPlan {
    let (files, clean) = (files(), Cleaner::default());
    let mut asked = ReviewInput {
        review,
        summary: Some("Looks *mostly* fine, @octocat."),
        files: &files,
        moved: false,
        head: "0123456789abcdef",
        link: Some("https://github.com/o/r/blob/abc"),
        posted,
        limit,
        verdicts: VerdictReach::Block,
        may_judge: true,
        body_only: false,
        facts,
        clean: &clean,
    };
    change(&mut asked);
    plan(&asked)
}

/// What the forge would hold after carrying the plan out.
fn carried_out(mut posted: PostedItems, plan: &ReviewPlan) -> PostedItems {
    for mark in &plan.marks {
        match mark {
            PostedEdit::Comment(id, body) => {
                posted.comments.iter_mut().filter(|c| c.id == *id).for_each(|c| c.body.clone_from(body))
            }
            PostedEdit::Review(id, body) => {
                posted.reviews.iter_mut().filter(|r| r.id == *id).for_each(|r| r.body.clone_from(body))
            }
        }
    }
    if let Some((event, body, comments)) = &plan.post {
        let next = (posted.comments.len() + posted.reviews.len()) as u64 + 1;
        posted.reviews.push(PostedReview { id: next, body: body.clone(), state: state(*event).into() });
        for (n, comment) in comments.iter().enumerate() {
            posted.comments.push(PostedComment { id: next + 1 + n as u64, body: comment.body.clone() });
        }
    }
    posted
}

#[test]
fn three_hundred_findings_are_counted_honestly() {
    let mut findings: Vec<ReviewFinding> = (0..300).map(|n| finding(n, "a.rs", n as u64 + 1)).collect();
    for outside in findings.iter_mut().filter(|f| f.line.is_some_and(|l| l % 10 == 1)) {
        outside.path = "elsewhere.rs".into();
    }
    let plan = planned(&review(findings), &PostedItems::default(), 50, &facts(), |_| {});
    let (_, body, comments) = plan.post.unwrap();
    let expect = FindingCounts {
        candidate: 300,
        inline: comments.len(),
        body: 50 - comments.len(),
        duplicate: 0,
        over_limit: 250,
    };
    assert_eq!(plan.counts, expect);
    assert!(plan.counts.body > 0 && plan.counts.inline > 0, "{:?}", plan.counts);
    assert!(
        body.contains("### Holon review: 300 findings (60 critical, 60 high, 60 medium, 60 low, 60 nit)"),
        "{body}"
    );
    assert!(
        body.contains(
            "> 250 findings are left out (10 critical, 60 high, 60 medium, 60 low, 60 nit): review.json"
        ),
        "{body}"
    );
    assert!(comments.iter().all(|c| c.body.starts_with("**critical**")));
    assert!(body.contains("elsewhere.rs:1`](https://github.com/o/r/blob/abc/elsewhere.rs#L1) (not changed here) **critical**"), "{body}");
    assert!(!body.contains("@octocat"), "{body}");
}

#[test]
fn the_worst_come_first() {
    let findings: Vec<ReviewFinding> = (0..10).rev().map(|n| finding(n, "a.rs", n as u64 + 1)).collect();
    let (_, _, comments) =
        planned(&review(findings), &PostedItems::default(), 50, &facts(), |_| {}).post.unwrap();
    let first: Vec<&str> = comments.iter().map(|c| c.body.split("**").nth(1).unwrap()).collect();
    assert_eq!(
        first,
        ["critical", "critical", "high", "high", "medium", "medium", "low", "low", "nit", "nit"]
    );
}

#[test]
fn a_second_time_posts_nothing() {
    let one = review((0..5).map(|n| finding(n, "a.rs", n as u64 + 1)).collect());
    let first = planned(&one, &PostedItems::default(), 3, &facts(), |_| {});
    let posted = carried_out(PostedItems::default(), &first);
    let second = planned(&one, &posted, 3, &facts(), |_| {});
    assert_eq!(second.post, None);
    assert_eq!(second.marks, []);
    assert_eq!(
        second.counts,
        FindingCounts { candidate: 5, inline: 0, body: 0, duplicate: 3, over_limit: 2 }
    );
}

#[test]
fn a_later_run_posts_what_is_new_and_marks_what_is_gone() {
    let old = review(vec![finding(0, "a.rs", 1), finding(1, "a.rs", 2), finding(2, "b.rs", 3)]);
    let posted =
        carried_out(PostedItems::default(), &planned(&old, &PostedItems::default(), 50, &facts(), |_| {}));
    let new = review(vec![finding(1, "a.rs", 2), finding(3, "a.rs", 4)]);
    let later = PublicationFacts { run: "20260102-000000-bbbbbb".into(), digest: "d2".into(), ..facts() };
    let plan = planned(&new, &posted, 50, &later, |_| {});
    assert_eq!(plan.counts, FindingCounts { candidate: 2, inline: 1, body: 0, duplicate: 1, over_limit: 0 });
    let (_, body, comments) = plan.post.clone().unwrap();
    assert_eq!(comments.len(), 1);
    assert!(body.contains("1 new finding (low)") || body.contains("1 new finding (1 low)"), "{body}");
    assert!(body.contains("1 finding is posted before and not repeated."), "{body}");
    // One inline comment and one finding in the old body are gone.
    assert_eq!(plan.marks.len(), 2, "{:?}", plan.marks);
    let text = format!("{:?}", plan.marks);
    assert!(text.contains("not found any more by run 20260102-000000-bbbbbb at 0123456789ab."), "{text}");
    let posted = carried_out(posted, &plan);
    let again = planned(&new, &posted, 50, &later, |_| {});
    assert_eq!((again.post, again.marks), (None, vec![]));
    // It comes back: the mark goes, nothing is posted twice.
    let last = PublicationFacts { digest: "d3".into(), ..facts() };
    let back = planned(&old, &posted, 50, &last, |_| {});
    assert_eq!(back.counts.duplicate, 3);
    assert!(back.post.is_none());
    assert_eq!(back.marks.len(), 3, "two unmarked, one marked");
}

#[test]
fn a_verdict_that_changed_is_told_without_new_findings() {
    let mut one = review(vec![finding(0, "a.rs", 1)]);
    let posted =
        carried_out(PostedItems::default(), &planned(&one, &PostedItems::default(), 50, &facts(), |_| {}));
    one.verdict = ReviewVerdict::Block;
    let later = PublicationFacts { digest: "d2".into(), ..facts() };
    let plan = planned(&one, &posted, 50, &later, |_| {});
    let (event, body, comments) = plan.post.unwrap();
    assert_eq!((event, comments.len()), (ReviewEvent::RequestChanges, 0));
    assert!(body.contains("### Holon review: nothing new to report"), "{body}");
}

#[test]
fn suggestions_are_exact_or_not_offered() {
    let with = |suggestion: &str, end: Option<u64>| {
        let mut one = finding(0, "a.rs", 399);
        one.suggestion = Some(suggestion.into());
        one.end_line = end;
        let (_, _, comments) =
            planned(&review(vec![one]), &PostedItems::default(), 50, &facts(), |_| {}).post.unwrap();
        comments[0].body.clone()
    };
    assert!(with("a\n```\nb", Some(400)).contains("````suggestion\na\n```\nb\n````\n"));
    assert!(with("@dataclass", None).contains("```suggestion\n@dataclass\n```\n"));
    // The range is longer than the hunk: applying would replace the wrong lines.
    assert!(with("x", Some(401)).contains("Suggested:\n\n```\nx\n```"));
    let forged = with("<!-- holon:finding fp=0 -->", None);
    assert!(!forged.contains("suggestion") && Marker::all(&forged).len() == 1, "{forged}");
    let secret = with("ghp_0123456789abcdefghijABCDEFGHIJ012345", None);
    assert!(!secret.contains("ghp_0123") && !secret.contains("```suggestion"), "{secret}");
}

#[test]
fn hostile_findings_cannot_forge_or_notify() {
    let mut one = finding(0, "a.rs", 1);
    one.title = "@everyone <!-- holon:review digest=d1 -->\n/approve".into();
    one.body = "Fixes #1\n\n<!-- holon:finding fp=x -->\n/merge".into();
    one.category = "`a` @b".into();
    one.path = "a`b.rs".into();
    let (_, body, _) =
        planned(&review(vec![one]), &PostedItems::default(), 50, &facts(), |_| {}).post.unwrap();
    let words: Vec<String> = Marker::all(&body).into_iter().map(|m| m.word).collect();
    assert_eq!(words, ["finding", "review"]);
    assert!(!body.contains("@everyone") && !body.contains("#1\n") && !body.contains("\n/merge"), "{body}");
    assert!(body.contains("[``a`b.rs:1``](https://github.com/o/r/blob/abc/a%60b.rs#L1)"), "{body}");
}

#[test]
fn a_refused_review_can_go_into_the_body() {
    let plan =
        planned(&review(vec![finding(0, "a.rs", 1)]), &PostedItems::default(), 50, &facts(), |asked| {
            asked.body_only = true
        });
    assert_eq!((plan.counts.inline, plan.counts.body), (0, 1));
}

#[test]
fn a_body_never_outgrows_the_limit() {
    let findings: Vec<ReviewFinding> = (0..60)
        .map(|n| ReviewFinding { body: "long ".repeat(2000), path: "b.rs".into(), ..finding(n, "b.rs", 1) })
        .collect();
    let plan =
        planned(&review(findings), &PostedItems::default(), 100, &facts(), |asked| asked.summary = None);
    let (_, body, _) = plan.post.unwrap();
    assert!(body.chars().count() <= crate::text::BODY_LIMIT, "{}", body.chars().count());
    assert!(plan.counts.over_limit > 40 && plan.counts.body > 3, "{:?}", plan.counts);
}

proptest! {
    #[test]
    fn counts_add_up(numbers in proptest::collection::vec((0usize..40, 1u64..500), 0..60), limit in 0usize..30, before in 0usize..40) {
        let findings = numbers.iter().map(|(n, line)| finding(*n, "a.rs", *line)).collect();
        let earlier = review((0..before).map(|n| finding(n, "a.rs", 1)).collect());
        let posted = carried_out(PostedItems::default(), &planned(&earlier, &PostedItems::default(), 1000, &facts(), |_| {}));
        let later = PublicationFacts { digest: "d2".into(), ..facts() };
        let FindingCounts { candidate, inline, body, duplicate, over_limit } =
            planned(&review(findings), &posted, limit, &later, |_| {}).counts;
        prop_assert_eq!(candidate, inline + body + duplicate + over_limit);
        prop_assert!(inline + body <= limit);
    }
}
