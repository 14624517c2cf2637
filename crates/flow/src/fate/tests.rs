#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use holon_core::artifact::review::DiffSide;

use super::*;

const OLD: &str =
    "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\nthirteen\nfourteen\n";

fn review(line: Option<u64>, snippet: &str, path: &str) -> ReviewReport {
    let finding = serde_json::json!({
        "path": path, "line": line, "severity": "high", "category": "c", "title": "t", "body": "b",
        "confidence": 1.0, "snippet": snippet,
    });
    let mut review: ReviewReport =
        serde_json::from_value(serde_json::json!({ "verdict": "comment", "findings": [finding] })).unwrap();
    review.verify(|path, _: DiffSide| (path == "f").then(|| OLD.as_bytes().to_vec()));
    review
}

/// A patch of `f` as git writes it, from hunks.
fn patch(hunks: &str) -> String {
    format!("diff --git a/f b/f\n--- a/f\n+++ b/f\n{hunks}")
}

#[track_caller]
fn check(review: &ReviewReport, patch: &str, expected: (FindingFate, Option<u64>)) {
    let base = |path: &str| (path == "f").then(|| OLD.as_bytes().to_vec());
    let found = track(review, "sha", patch.as_bytes(), &base);
    let tracked = &found.findings[0];
    assert_eq!((tracked.state, tracked.line_after), expected, "{}", tracked.reason);
    assert_eq!(tracked.fingerprint, review.findings[0].fingerprint);
    assert_eq!(found.fixed + found.open + found.unclear, 1);
}

#[test]
fn the_text_decides() {
    let three = review(Some(3), "three", "f");
    check(&three, "", (FindingFate::Open, Some(3)));
    check(
        &three,
        "diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
        (FindingFate::Open, Some(3)),
    );
    check(&three, &patch("@@ -2,3 +2,3 @@\n two\n-three\n+drei\n four\n"), (FindingFate::Fixed, None));
    check(&three, &patch("@@ -2,3 +2,2 @@\n two\n-three\n four\n"), (FindingFate::Fixed, None));
    // Far away, with lines moving.
    let far = "@@ -1 +1,2 @@\n+zero\n one\n@@ -14 +15 @@\n-fourteen\n+14\n";
    check(&review(Some(8), "eight", "f"), &patch(far), (FindingFate::Open, Some(9)));
    // Next to it: nobody can tell.
    check(&three, &patch("@@ -2,2 +2,3 @@\n two\n+if ready\n three\n"), (FindingFate::Unclear, Some(4)));
    check(&three, &patch("@@ -4,2 +4 @@\n-four\n five\n"), (FindingFate::Unclear, Some(3)));
    // Only spaces changed, or moved elsewhere: the same words are still there.
    check(&three, &patch("@@ -2,3 +2,3 @@\n two\n-three\n+  three\n four\n"), (FindingFate::Open, Some(3)));
    check(&three, &patch("@@ -3 +2,0 @@\n-three\n@@ -14,0 +14 @@\n+three\n"), (FindingFate::Open, Some(14)));
    // The file is gone, or has another name.
    let gone = "diff --git a/f b/f\ndeleted file mode 100644\n";
    check(&three, gone, (FindingFate::Fixed, None));
    let moved = "diff --git a/f b/h\nsimilarity index 100%\nrename from f\nrename to h\n";
    check(&three, moved, (FindingFate::Open, Some(3)));
}

#[test]
fn several_lines_are_one_place() {
    let both = review(Some(3), "three\nfour", "f");
    check(&both, &patch("@@ -3,2 +3,2 @@\n three\n-four\n+vier\n"), (FindingFate::Fixed, None));
    check(&both, &patch("@@ -3,2 +3,3 @@\n three\n+between\n four\n"), (FindingFate::Fixed, None));
    check(&both, &patch("@@ -14 +14 @@\n-fourteen\n+14\n"), (FindingFate::Open, Some(3)));
}

#[test]
fn what_cannot_be_looked_up_is_unclear() {
    let no_line = review(None, "", "f");
    check(&no_line, &patch("@@ -1 +1 @@\n-one\n+eins\n"), (FindingFate::Unclear, None));
    check(&no_line, "", (FindingFate::Open, None));
    let no_file = review(Some(1), "x", "absent");
    check(&no_file, "", (FindingFate::Open, None));
    let made = "diff --git a/absent b/absent\nnew file mode 100644\n--- /dev/null\n+++ b/absent\n@@ -0,0 +1 @@\n+x\n";
    check(&no_file, made, (FindingFate::Unclear, None));
    let binary = "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 0\n";
    check(&review(Some(3), "three", "f"), binary, (FindingFate::Unclear, None));
    // The workspace is not what the patch was made for.
    let moved = track(
        &review(Some(3), "three", "f"),
        "sha",
        patch("@@ -3 +3 @@\n-three\n+drei\n").as_bytes(),
        &|_| None,
    );
    assert_eq!(moved.findings[0].state, FindingFate::Unclear);
}
