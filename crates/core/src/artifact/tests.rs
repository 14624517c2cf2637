#![allow(clippy::unwrap_used)]
use super::review::{DiffSide, LocationCheck, ReviewReport, ReviewVerdict};
use super::*;
use proptest::prelude::*;
use serde_json::json;

fn check(name: &str, text: &str, expect: &[&str]) {
    let got: Vec<String> =
        validate(name, text.as_bytes()).err().unwrap_or_default().iter().map(ToString::to_string).collect();
    assert_eq!(got, expect, "{name}: {text}");
}

#[test]
fn names_stay_inside_the_output_folder() {
    for name in ["plan.md", "reports/a.json", "a b.md", "..a"] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    for name in [
        "",
        "/etc/x",
        "../x",
        "a/../b",
        "a//b",
        "./a",
        "a\\b",
        "a\nb",
        "manifest.json",
        "Manifest.JSON",
        "evidence/x",
        "evidence",
        "a/ b",
    ] {
        assert!(check_name(name).is_err(), "{name}");
    }
}

#[test]
fn markdown_says_something() {
    check("summary.md", "Done.", &[]);
    check("summary.md", "", &["it is empty"]);
    check("summary.md", " \n\t", &["it is empty"]);
    check("summary.md", "# \n---\n", &["it has no words in it"]);
    assert!(validate("ethics.md", b"\xff\xfe").is_err());
    assert!(validate("summary.md", &vec![b'x'; 2 * 1024 * 1024]).is_err());
}

const PLAN: &str =
    "# Plan\n## Goal\nx\n## Context\ny\n## Steps\n1. a\n## Risks\nnone\n## Verification\n`cargo test`\n";

#[test]
fn plans_have_their_five_sections() {
    check("plan.md", PLAN, &[]);
    check(
        "plan.md",
        "Goal\n====\nx\n\n### 2. Context\ny\n\nSteps\n-----\n### a\nb\n# RISKS and more\nr\n# **Verification**\n```\n# not a heading\n```\n",
        &[],
    );
    check("plan.md", &PLAN.replace("## Risks\nnone\n", ""), &["the heading `## Risks` is missing"]);
    check("plan.md", &PLAN.replace("none\n", "\n"), &["## Risks: has nothing below it"]);
    check(
        "plan.md",
        &format!("```\n{PLAN}```\n"),
        &[
            "the heading `## Goal` is missing",
            "the heading `## Context` is missing",
            "the heading `## Steps` is missing",
            "the heading `## Risks` is missing",
            "the heading `## Verification` is missing",
        ],
    );
}

#[test]
fn plans_can_be_followed() {
    check(
        "plan.json",
        r#"{"steps":[{"id":"1","title":"a"},{"id":"2","title":"b","depends_on":["1"],"extra":1}],"more":{}}"#,
        &[],
    );
    check("plan.json", r#"{"risks":[]}"#, &["line 1 column 12: missing field `steps`"]);
    check("plan.json", r#"{"steps":[]}"#, &["steps: is empty; a plan has at least one step"]);
    check(
        "plan.json",
        r#"{"steps":[{"id":"1","title":"a","depends_on":["9"]},{"id":"1","title":""}]}"#,
        &[
            "steps[1].title: is empty",
            "steps[1].id: `1` is used twice",
            "steps[0].depends_on: `9` is not the id of a step",
        ],
    );
    check(
        "plan.json",
        r#"{"steps":[{"id":"0","title":"z"},{"id":"1","title":"a","depends_on":["2"]},{"id":"2","title":"b","depends_on":["1"]}]}"#,
        &["steps: `1` depends on itself through `depends_on`"],
    );
    check(
        "plan.json",
        "```json\n{}\n```",
        &["line 1 column 1: expected value; write bare JSON, without a Markdown fence around it"],
    );
}

fn review(findings: serde_json::Value) -> ReviewReport {
    serde_json::from_value(json!({"version": 1, "verdict": "comment", "findings": findings})).unwrap()
}

fn finding(path: &str, line: u64, snippet: &str) -> serde_json::Value {
    json!({"path": path, "line": line, "severity": "high", "category": "correctness", "title": "t", "body": "b", "confidence": 0.9, "snippet": snippet})
}

#[test]
fn reviews_are_complete() {
    check("review.json", &json!({"verdict": "approve", "findings": []}).to_string(), &[]);
    check(
        "review.json",
        &json!({"verdict": "fine", "findings": []}).to_string(),
        &["line 1 column 17: unknown variant `fine`, expected one of `approve`, `block`, `comment`"],
    );
    let mut bad = finding("../etc", 0, "x");
    bad["confidence"] = json!(1.5);
    check(
        "review.json",
        &json!({"verdict": "block", "findings": [bad]}).to_string(),
        &[
            "findings[0].path: must be relative to the workspace, without `..`",
            "findings[0].confidence: must be between 0 and 1",
            "findings[0].line: lines are counted from 1",
        ],
    );
    check(
        "review.json",
        &json!({"verdict": "block", "findings": [finding("a", 3, " ")]}).to_string(),
        &["findings[0].snippet: is empty; copy the text of the line exactly"],
    );
}

#[test]
fn review_lines_are_checked_moved_or_demoted() {
    let file = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n";
    let place = |path: &str, line: u64, snippet: &str| {
        let mut review = review(json!([finding(path, line, snippet)]));
        review.verify(|path, side| {
            (path == "src/a.rs" && side == DiffSide::New).then(|| file.as_bytes().to_vec())
        });
        (review.findings[0].location, review.findings[0].line)
    };
    assert_eq!(place("src/a.rs", 2, "one();"), (LocationCheck::Verified, Some(2)));
    assert_eq!(place("./src//a.rs", 2, "    one();  "), (LocationCheck::Verified, Some(2)));
    assert_eq!(place("src/a.rs", 5, "one();"), (LocationCheck::Verified, Some(2)));
    assert_eq!(place("src/a.rs", 9999, "two();"), (LocationCheck::Verified, Some(6)));
    assert_eq!(place("src/a.rs", 1, "fn b() {\n    two();\n}"), (LocationCheck::Verified, Some(5)));
    assert_eq!(place("src/a.rs", 2, "three();"), (LocationCheck::File, None));
    assert_eq!(place("src/a.rs", 2, ""), (LocationCheck::File, None));
    assert_eq!(place("src/b.rs", 2, "one();"), (LocationCheck::None, None));
    assert_eq!(place("../src/a.rs", 2, "one();"), (LocationCheck::None, None));
    assert_eq!(place("src/a.rs", u64::MAX, "}"), (LocationCheck::File, None));
}

#[test]
fn a_list_of_findings_is_a_review_and_other_tools_words_are_understood() {
    for (word, severity, verdict) in [
        ("error", review::Severity::High, review::ReviewVerdict::Block),
        ("Blocker", review::Severity::Critical, review::ReviewVerdict::Block),
        ("warning", review::Severity::Medium, review::ReviewVerdict::Comment),
        ("minor", review::Severity::Low, review::ReviewVerdict::Comment),
        ("info", review::Severity::Nit, review::ReviewVerdict::Comment),
    ] {
        let text = json!([{"path": "a.rs", "line": 1, "body": "It leaks.", "severity": word}]).to_string();
        let read = review::ParsedReview::parse(text.as_bytes()).unwrap().review;
        assert_eq!((read.findings[0].severity, read.verdict), (severity, verdict), "{word}");
    }
    let wrong = json!([{"path": "a.rs", "line": 1, "body": "It leaks.", "severity": "purple"}]).to_string();
    assert!(review::ParsedReview::parse(wrong.as_bytes()).is_err());
    assert!(review::ParsedReview::parse(b"[1]").is_err());
}

#[test]
fn a_review_in_the_five_fields_is_accepted_and_filled() {
    let five = |line: u64| json!({"path": "src/a.rs", "line": line, "body": "It leaks. Close it.", "severity": "high", "fingerprint": "x"});
    let text = json!({"findings": [five(2), five(99), five(3)]}).to_string();
    check("review.json", &text, &[]);
    let read = review::ParsedReview::parse(text.as_bytes()).unwrap();
    let review = read.verified(|_, _| Some(b"fn a() {\n    one();\n\n}\n".to_vec()));
    assert_eq!(review.verdict, ReviewVerdict::Block);
    let first = &review.findings[0];
    assert_eq!((first.category.as_str(), first.title.as_str()), ("general", "It leaks"));
    assert_eq!(
        (first.snippet.as_str(), first.location, first.line),
        ("    one();", LocationCheck::Line, Some(2))
    );
    assert_ne!(first.fingerprint, "x", "the host's own survives lines that move");
    // Lines that are not there, or say nothing, tell of the file alone.
    for finding in &review.findings[1..] {
        assert_eq!((finding.location, finding.line), (LocationCheck::File, None));
    }
    // What is written down is whole.
    validate("review.json", &serde_json::to_vec(&review).unwrap()).unwrap();
    check("review.json", &json!({"findings": []}).to_string(), &[]);
    let wrong = json!({"findings": [{"path": "a", "line": 1, "body": "b", "severity": "bad"}]}).to_string();
    assert!(
        validate("review.json", wrong.as_bytes()).unwrap_err()[0].message.contains("unknown variant `bad`")
    );
    let missing = json!({"findings": [{"path": "a", "line": 1, "severity": "low"}]}).to_string();
    assert!(validate("review.json", missing.as_bytes()).unwrap_err()[0].message.contains("`body`"));
}

#[test]
fn ends_move_with_their_line() {
    let mut moved = finding("a", 10, "x");
    moved["end_line"] = json!(12);
    let mut review = review(json!([moved]));
    review.verify(|_, _| Some(b"1\n2\nx\n4\n".to_vec()));
    assert_eq!((review.findings[0].line, review.findings[0].end_line), (Some(3), Some(4)));
}

proptest! {
    #[test]
    fn fingerprints_survive_line_shifts(shift in 0usize..40, other in "[a-z]{3,8}") {
        let file = "alpha\nbeta\ngamma\nbeta\n";
        let shifted = format!("{}{file}", "new line\n".repeat(shift));
        let run = |text: &str, by: u64| {
            let mut review = review(json!([finding("a", 2 + by, "beta"), finding("a", 4 + by, "beta"), finding("a", 1 + by, "alpha")]));
            review.verify(|_, _| Some(text.as_bytes().to_vec()));
            review.findings.iter().map(|f| f.fingerprint.clone()).collect::<Vec<_>>()
        };
        let (before, after) = (run(file, 0), run(&shifted, shift as u64));
        prop_assert_eq!(&before, &after);
        // The agent's own line numbers may be stale; the names stay.
        prop_assert_eq!(&run(&shifted, 0)[2], &before[2]);
        let mut distinct = before.clone();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), 3);
        let mut elsewhere = review(json!([finding(&other, 1, "alpha")]));
        elsewhere.verify(|_, _| Some(file.as_bytes().to_vec()));
        prop_assert_ne!(&elsewhere.findings[0].fingerprint, &before[2]);
    }

    #[test]
    fn validation_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..120), text in "[{}\\[\\]\":,a-z0-9# \\n=-]{0,120}") {
        for name in ["plan.md", "plan.json", "review.json", "debug.json", "ethics.json", "summary.md", "x.json", "diff.patch", "x"] {
            let _ = validate(name, &bytes);
            let _ = validate(name, text.as_bytes());
        }
    }
}

#[test]
fn debug_records_have_evidence() {
    let good = json!({"hypotheses": [{"statement": "s", "evidence": ["e"], "status": "confirmed"}], "experiments": [{"change": "", "command": "c", "result": "r"}], "root_cause": "x", "fix_proposal": "y"});
    check("debug.json", &good.to_string(), &[]);
    let mut bad = good.clone();
    bad["hypotheses"][0]["evidence"] = json!([]);
    bad["root_cause"] = json!(" ");
    check(
        "debug.json",
        &bad.to_string(),
        &["hypotheses[0].evidence: a confirmed hypothesis needs evidence", "root_cause: is empty"],
    );
    let mut missing = good;
    missing.as_object_mut().unwrap().remove("fix_proposal");
    assert!(
        validate("debug.json", missing.to_string().as_bytes()).unwrap_err()[0]
            .message
            .contains("fix_proposal")
    );
}

#[test]
fn inv_12_only_a_clear_approval_passes() {
    let report = |approved: bool, risk: &str| {
        json!({"risk_level": risk, "is_approved": approved, "approval_justification": "j", "principle_impacts": [{"principle": "p", "impact": "none", "rationale": "r"}]}).to_string()
    };
    for (approved, risk, expect) in [
        (true, "low", false),
        (true, "medium", false),
        (true, "high", true),
        (true, "critical", true),
        (true, "unknown", true),
        (false, "low", true),
    ] {
        assert_eq!(ethics::blocks(Some(report(approved, risk).as_bytes())), expect, "{approved} {risk}");
    }
    for bytes in [None, Some(&b""[..]), Some(b"{}"), Some(b"not json"), Some(b"{\"is_approved\":true}")] {
        assert!(ethics::blocks(bytes));
    }
    check(
        "ethics.json",
        &report(true, "high"),
        &[
            "is_approved: approves although the risk is high, critical or unknown; lower the risk or do not approve",
        ],
    );
}

#[test]
fn other_files_need_content_only() {
    check("orchestration.json", "{}", &["line 1 column 2: missing field `tasks`"]);
    check("data.json", "[1]", &[]);
    check("data.json", "[1", &["line 1 column 2: EOF while parsing a list"]);
    check("report.txt", "x", &[]);
    check("report.txt", "", &["it is empty"]);
    check("diff.patch", "", &[]);
}
