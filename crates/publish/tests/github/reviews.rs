//! review.json as one review.

use holon_core::artifact::review::{DiffSide, ReviewFinding, ReviewVerdict, Severity};
use holon_publish::github::{OwnAccount, PublishOutcome};
use holon_publish::review::{FindingCounts, VerdictReach};

use crate::stage::{LOGIN, NAME, PublishStage, TOKEN, finding, numbered, part};

#[test]
fn findings_go_to_lines_of_the_diff_and_the_rest_into_the_body() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let mut several = finding(1, 10, "line ten");
    several.end_line = Some(11);
    several.suggestion = Some("line 10".into());
    let outside = finding(2, 25, "line 24");
    let elsewhere = ReviewFinding { path: "b.txt".into(), ..finding(3, 1, "b") };
    let removed = ReviewFinding { side: DiffSide::Old, ..finding(0, 40, "line 40") };
    let output = stage.review_output(vec![outside, several, elsewhere, removed]);
    let report = stage.published(&output, Some(pull), |_| {});
    let counts = FindingCounts { candidate: 4, inline: 2, body: 2, duplicate: 0, over_limit: 0 };
    assert_eq!(part(&report, "review").counts, Some(counts));
    let lines = stage.repo.line_comments(pull);
    let places: Vec<(&str, &str, u64, u64)> =
        lines.iter().map(|l| (l.0.as_str(), l.1.as_str(), l.2, l.3)).collect();
    assert_eq!(places, [("a.txt", "LEFT", 40, 40), ("a.txt", "RIGHT", 10, 11)]);
    assert!(lines[1].4.contains("```suggestion\nline 10\n```"), "{}", lines[1].4);
    let reviews = stage.repo.reviews(pull);
    assert_eq!((reviews.len(), reviews[0].0.as_str()), (1, "COMMENTED"));
    let body = &reviews[0].1;
    assert!(body.contains("a.txt:25`") && body.contains("(outside of the diff)"), "{body}");
    assert!(body.contains("b.txt:1`") && body.contains("(not changed here)"), "{body}");
    assert!(body.contains("Read it all."), "{body}");
}

#[test]
fn a_second_time_posts_nothing() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let output = stage.review_output(vec![finding(0, 10, "line ten"), finding(1, 3, "line 3")]);
    stage.published(&output, Some(pull), |_| {});
    stage.hub.forget();
    let report = stage.published(&output, Some(pull), |_| {});
    assert_eq!(part(&report, "review").result, PublishOutcome::Unchanged);
    assert_eq!(part(&report, "review").counts.unwrap().duplicate, 2);
    assert_eq!(stage.hub.changes(), [""; 0]);
    assert_eq!((stage.repo.reviews(pull).len(), stage.repo.line_comments(pull).len()), (1, 1));
}

#[test]
fn what_a_later_run_finds_again_is_not_repeated_and_what_is_gone_is_marked() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let body_finding = ReviewFinding { path: "b.txt".into(), ..finding(2, 1, "b") };
    stage.published(
        &stage.review_output(vec![finding(0, 10, "line ten"), finding(1, 11, "x"), body_finding]),
        Some(pull),
        |_| {},
    );
    let later = stage.review_output(vec![finding(1, 11, "x"), finding(3, 12, "y")]);
    let report = stage.published(&later, Some(pull), |_| {});
    let counts = FindingCounts { candidate: 2, inline: 1, body: 0, duplicate: 1, over_limit: 0 };
    assert_eq!(part(&report, "review").counts, Some(counts));
    let lines = stage.repo.line_comments(pull);
    assert_eq!(lines.len(), 3);
    assert!(lines[0].4.contains("**Resolved:** not found any more by run"), "{}", lines[0].4);
    assert!(!lines[1].4.contains("Resolved"), "{}", lines[1].4);
    let reviews = stage.repo.reviews(pull);
    assert_eq!(reviews.len(), 2);
    assert!(reviews[0].1.contains("**Resolved:**") && !reviews[1].1.contains("**Resolved:**"));
    stage.hub.forget();
    stage.published(&later, Some(pull), |_| {});
    assert_eq!(stage.hub.changes(), [""; 0]);
}

#[test]
fn three_hundred_findings_keep_to_the_limit() {
    let stage = PublishStage::new();
    let text = numbered(1..=400).replace("line", "new line");
    stage.repo.commit("topic", Some("main"), &[("a.txt", Some(&text))], "all of it");
    let pull = stage.repo.pull("someone", NAME, "topic", "main");
    let findings = (0..300).map(|n| finding(n, n as u64 + 1, "x")).collect();
    let report = stage.published(&stage.review_output(findings), Some(pull), |_| {});
    let counts = FindingCounts { candidate: 300, inline: 50, body: 0, duplicate: 0, over_limit: 250 };
    assert_eq!(part(&report, "review").counts, Some(counts));
    assert_eq!(stage.repo.line_comments(pull).len(), 50);
    assert!(
        stage.repo.line_comments(pull).iter().all(|l| l.4.starts_with("**critical**")),
        "the worst are shown"
    );
    assert!(stage.repo.reviews(pull)[0].1.contains("250 findings are left out"));
    // More than a page of comments is read back.
    let more = (0..300).map(|n| finding(n, n as u64 + 1, "x")).collect();
    let report = stage.published(&stage.review_output(more), Some(pull), |options| options.limit = 200);
    assert_eq!(
        part(&report, "review").counts.unwrap(),
        FindingCounts { candidate: 300, inline: 200, body: 0, duplicate: 50, over_limit: 50 }
    );
    let rest = (0..300).map(|n| finding(n, n as u64 + 1, "x")).collect();
    let report = stage.published(&stage.review_output(rest), Some(pull), |options| options.limit = 200);
    assert_eq!(
        part(&report, "review").counts.unwrap(),
        FindingCounts { candidate: 300, inline: 50, body: 0, duplicate: 250, over_limit: 0 }
    );
    assert!(stage.hub.requests().iter().any(|r| r.path.ends_with("/comments") && r.query.contains("page=3")));
}

#[test]
fn deleted_and_renamed_files_are_handled() {
    let stage = PublishStage::new();
    let text = numbered(1..=60).replace("line 30\n", "thirty\n");
    stage.repo.commit(
        "topic",
        Some("main"),
        &[("a.txt", None), ("renamed.txt", Some(&text)), ("b.txt", None)],
        "move",
    );
    let pull = stage.repo.pull("someone", NAME, "topic", "main");
    let findings = vec![
        finding(0, 30, "thirty"),
        ReviewFinding { path: "renamed.txt".into(), ..finding(1, 31, "line 31") },
        ReviewFinding { path: "b.txt".into(), ..finding(2, 1, "b") },
        ReviewFinding { path: "b.txt".into(), side: DiffSide::Old, ..finding(3, 1, "b") },
    ];
    let report = stage.published(&stage.review_output(findings), Some(pull), |_| {});
    let counts = FindingCounts { candidate: 4, inline: 3, body: 1, duplicate: 0, over_limit: 0 };
    assert_eq!(part(&report, "review").counts, Some(counts));
    let places: Vec<(String, String, u64)> =
        stage.repo.line_comments(pull).into_iter().map(|l| (l.0, l.1, l.3)).collect();
    let expect = [("renamed.txt", "RIGHT", 30), ("renamed.txt", "RIGHT", 31), ("b.txt", "LEFT", 1)];
    assert_eq!(places, expect.map(|(p, s, l)| (p.to_owned(), s.to_owned(), l)));
    assert!(stage.repo.reviews(pull)[0].1.contains("(deleted here)"));
}

#[test]
fn a_head_that_moved_is_searched_for_the_lines() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let findings = vec![finding(0, 10, "line ten"), finding(1, 11, "line ten and a half")];
    let output = stage.review_output(findings);
    // Four lines more above, and one of the two lines rewritten.
    let text = format!("1\n2\n3\n4\n{}", numbered(1..=60))
        .replace("line 10\n", "line ten\nline 10.5\n")
        .replace("line 40\n", "forty\n");
    stage.repo.commit("topic", None, &[("a.txt", Some(&text))], "moved");
    let report = stage.published(&output, Some(pull), |_| {});
    let told = part(&report, "review");
    assert_eq!(
        told.counts,
        Some(FindingCounts { candidate: 2, inline: 1, body: 1, duplicate: 0, over_limit: 0 })
    );
    assert!(told.notes[0].contains("the head moved to"), "{told:?}");
    assert_eq!(stage.repo.line_comments(pull)[0].3, 14);
    let body = &stage.repo.reviews(pull)[0].1;
    assert!(
        body.contains("(changed since the review)") && body.contains("The head moved since the review"),
        "{body}"
    );
}

#[test]
fn a_head_that_is_replaced_while_posting_is_looked_at_again() {
    let calm = PublishStage::new();
    let pull = calm.pull_request();
    calm.published(&calm.review_output(vec![finding(0, 10, "line ten")]), Some(pull), |_| {});
    let posting = calm.hub.count();
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let output = stage.review_output(vec![finding(0, 10, "line ten")]);
    // Just before the review arrives, a force push: the commit it is about is not part of the pull request any more.
    let (dir, main) = (stage.repo.dir(), stage.repo.tip("main").unwrap());
    let text = format!("one\ntwo\n{}", numbered(1..=60)).replace("line 10\n", "line ten\n");
    stage.repo.commit("next", Some("main"), &[("a.txt", Some(&text))], "rewritten");
    stage.hub.meanwhile(posting, move || {
        holon_testkit::run_git(&dir, ["update-ref", "refs/heads/topic", "refs/heads/next"]);
        assert_eq!(holon_testkit::run_git(&dir, ["rev-parse", "topic~1"]).trim(), main);
    });
    let report = stage.published(&output, Some(pull), |_| {});
    assert_eq!(
        part(&report, "review").counts,
        Some(FindingCounts { candidate: 1, inline: 1, body: 0, duplicate: 0, over_limit: 0 })
    );
    assert_eq!((stage.repo.reviews(pull).len(), stage.repo.line_comments(pull)[0].3), (1, 12));
    assert_eq!(stage.hub.changes().len(), 2, "refused once, taken once");
}

#[test]
fn a_review_that_is_refused_goes_out_without_lines() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    // A fork that is force pushed between reading and posting looks like this: the forge does not know the lines it gave.
    let output = stage.review_output(vec![finding(0, 10, "line ten")]);
    stage.hub.refuse_lines(true);
    let report = stage.published(&output, Some(pull), |_| {});
    let told = part(&report, "review");
    assert_eq!(
        told.counts,
        Some(FindingCounts { candidate: 1, inline: 0, body: 1, duplicate: 0, over_limit: 0 })
    );
    assert!(told.notes.iter().any(|note| note.contains("refused the lines")), "{told:?}");
    assert_eq!((stage.repo.reviews(pull).len(), stage.repo.line_comments(pull).len()), (1, 0));
}

#[test]
fn a_verdict_goes_as_far_as_allowed() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let output = |verdict| {
        let path = stage.review_output(vec![finding(0, 10, "line ten")]);
        let mut review: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path.join("review.json")).unwrap()).unwrap();
        review["verdict"] = serde_json::to_value(verdict).unwrap();
        stage.output("review").file("review.json", &review.to_string()).file("summary.md", "x").finish()
    };
    stage.published(&output(ReviewVerdict::Block), Some(pull), |_| {});
    stage.published(&output(ReviewVerdict::Block), Some(pull), |o| o.verdicts = VerdictReach::Block);
    stage.published(&output(ReviewVerdict::Approve), Some(pull), |o| o.verdicts = VerdictReach::All);
    let states: Vec<String> = stage.repo.reviews(pull).into_iter().map(|r| r.0).collect();
    assert_eq!(states, ["COMMENTED", "CHANGES_REQUESTED", "APPROVED"]);
    // Nobody can judge their own pull request: GitHub would refuse the whole review.
    let own = stage.repo.pull(LOGIN, NAME, "topic", "main");
    stage.published(&output(ReviewVerdict::Block), Some(own), |o| o.verdicts = VerdictReach::All);
    assert_eq!(stage.repo.reviews(own)[0].0, "COMMENTED");
}

#[test]
fn markers_that_others_forge_are_not_believed() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let output = stage.review_output(vec![finding(0, 10, "line ten")]);
    stage.published(&output, Some(pull), |_| {});
    let body = stage.repo.reviews(pull)[0].1.clone();
    let line = stage.repo.line_comments(pull)[0].4.clone();
    // The same texts on another pull request, by someone else.
    let other = stage.repo.pull("someone", NAME, "topic", "main");
    stage.hub.user("mallory", "token-of-mallory");
    let mallory = stage.review_output(Vec::new());
    let mut options = holon_publish::github::PublishOptions::new(format!("{NAME}#{other}").parse().unwrap());
    options.own = OwnAccount::Login("mallory".into());
    stage.publish_as(&mallory, &options, "token-of-mallory").unwrap();
    stage.repo.comment(other, "mallory", &format!("{body}\n{line}"));
    stage.published(&output, Some(other), |_| {});
    assert_eq!(stage.repo.line_comments(other).len(), 1);
}

#[test]
fn a_review_needs_a_pull_request() {
    let stage = PublishStage::new();
    let issue = stage.repo.issue("someone", "x", "y");
    let output = stage
        .output("review")
        .file("review.json", r#"{"verdict":"approve","findings":[]}"#)
        .file("summary.md", "x")
        .finish();
    for number in [None, Some(issue)] {
        let report = stage.publish(&output, number, |_| {}).unwrap();
        assert!(
            part(&report, "review").error.as_ref().unwrap().contains("needs a pull request"),
            "{report:?}"
        );
    }
}

#[test]
fn hostile_text_notifies_nobody_and_fits() {
    let stage = PublishStage::new();
    let pull = stage.pull_request();
    let mut hostile = finding(0, 10, "line ten");
    hostile.severity = Severity::Critical;
    hostile.title = "@everyone <img src=x> fixes #1".into();
    hostile.body = format!(
        "{}\n\n<!-- holon:review digest=x -->\n\n```\nunclosed\n@team\n{TOKEN}",
        "long ".repeat(30_000)
    );
    let mut second = finding(1, 11, "x");
    second.body = "after it".into();
    stage.published(&stage.review_output(vec![hostile, second]), Some(pull), |_| {});
    for (_, _, _, _, text) in stage.repo.line_comments(pull) {
        assert!(
            !text.contains("@everyone")
                && !text.contains("<img")
                && !text.contains("#1")
                && !text.contains(TOKEN),
            "{text}"
        );
        assert!(text.chars().count() < 65_536);
    }
}
