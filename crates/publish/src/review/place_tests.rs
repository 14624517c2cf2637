#![allow(clippy::unwrap_used)]

use holon_core::artifact::review::Severity;
use proptest::prelude::*;

use super::*;

const PATCH: &str = "@@ -10,4 +10,5 @@ fn a()\n ten\n-eleven\n+elf\n+elf and a half\n twelve\n thirteen\n@@ -40,2 +41,2 @@\n-forty\n+vierzig\n forty-one";

fn finding(path: &str, line: u64, end: Option<u64>, side: DiffSide, snippet: &str) -> ReviewFinding {
    ReviewFinding {
        path: path.into(),
        line: Some(line),
        end_line: end,
        side,
        severity: Severity::High,
        category: "x".into(),
        title: "t".into(),
        body: "b".into(),
        suggestion: None,
        confidence: 1.0,
        snippet: snippet.into(),
        fingerprint: "f".into(),
        location: LocationCheck::Verified,
    }
}

fn files() -> BTreeMap<String, PullFile> {
    [
        PullFile::new("a.rs", None, false, Some(PATCH)),
        PullFile::new("new.rs", Some("old.rs"), false, Some(PATCH)),
        PullFile::new("gone.rs", None, true, Some("@@ -1,2 +0,0 @@\n-one\n-two")),
        PullFile::new("big.bin", None, false, None),
    ]
    .into_iter()
    .map(|file| (file.path.clone(), file))
    .collect()
}

/// The place as text: `R12`, `R10-12`, `L11`, with `*` when lines are missing, or the reason.
fn told(place: &FindingPlace) -> String {
    match place {
        FindingPlace::Body(why) => format!("{why:?}"),
        FindingPlace::Inline(spot) => {
            let side = if spot.old { 'L' } else { 'R' };
            let start = spot.start.map(|s| format!("{s}-")).unwrap_or_default();
            let whole = if spot.whole { "" } else { "*" };
            format!("{} {side}{start}{}{whole}", spot.path, spot.line)
        }
    }
}

#[test]
fn findings_stand_on_lines_the_diff_shows() {
    let check = |path: &str, line, end, side, expect: &str| {
        assert_eq!(told(&place(&finding(path, line, end, side, "x"), &files(), false)), expect);
    };
    use DiffSide::{New, Old};
    check("a.rs", 11, None, New, "a.rs R11");
    check("a.rs", 10, Some(13), New, "a.rs R10-13");
    check("a.rs", 13, Some(20), New, "a.rs R13-14*");
    check("a.rs", 5, Some(11), New, "a.rs R10-11*");
    check("a.rs", 14, Some(41), New, "a.rs R14*");
    check("a.rs", 30, None, New, "OutsideHunks");
    check("a.rs", 11, None, Old, "a.rs L11");
    check("a.rs", 12, None, Old, "a.rs R13");
    check("a.rs", 10, Some(12), Old, "a.rs L11*");
    check("old.rs", 11, None, New, "new.rs R11");
    check("new.rs", 11, None, Old, "new.rs L11");
    check("gone.rs", 1, None, New, "FileDeleted");
    check("gone.rs", 1, Some(2), Old, "gone.rs L1-2");
    check("big.bin", 1, None, New, "NoDiff");
    check("other.rs", 1, None, New, "FileNotInDiff");
}

#[test]
fn a_finding_without_a_line_goes_to_the_body() {
    let mut one = finding("a.rs", 11, None, DiffSide::New, "elf");
    one.location = LocationCheck::File;
    assert_eq!(place(&one, &files(), false), FindingPlace::Body(NotInlineReason::NoLine));
    one.location = LocationCheck::Verified;
    one.line = None;
    assert_eq!(place(&one, &files(), false), FindingPlace::Body(NotInlineReason::NoLine));
}

#[test]
fn a_moved_head_is_searched_for_the_text() {
    let check = |line, end, snippet: &str, expect: &str| {
        assert_eq!(told(&place(&finding("a.rs", line, end, DiffSide::New, snippet), &files(), true)), expect);
    };
    check(11, None, "  elf ", "a.rs R11");
    check(3, None, "elf", "a.rs R11");
    check(2, Some(3), "elf\nelf and a half", "a.rs R11-12");
    check(500, None, "vierzig", "a.rs R41");
    check(11, None, "elven", "TextGone");
    check(11, None, "eleven", "TextGone");
}

proptest! {
    /// Whatever the finding, an inline place is one the forge accepts: every line shown, on its side, in one hunk.
    #[test]
    fn every_spot_is_in_one_hunk(line in 1u64..60, length in 0u64..60, old: bool, moved: bool) {
        let side = if old { DiffSide::Old } else { DiffSide::New };
        let one = finding("a.rs", line, Some(line + length), side, "elf");
        if let FindingPlace::Inline(spot) = place(&one, &files(), moved) {
            let first = spot.start.unwrap_or(spot.line);
            let shown = hunks(PATCH.as_bytes()).iter().any(|hunk| (first..=spot.line).all(|n| hunk.lines.iter().any(|l| {
                if spot.old { l.old == Some(n) && l.new.is_none() } else { l.new == Some(n) }
            })));
            prop_assert!(shown, "{spot:?}");
        }
    }
}
