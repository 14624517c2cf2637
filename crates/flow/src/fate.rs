//! What became of a review's findings, told from the result alone: is the text each one points to still there?
//!
//! The judgement is deliberately narrow. Text that is gone is `fixed`, text that stands with nothing changed around it is
//! `open`, and everything in between is `unclear`: a program cannot know whether a line added nearby mends the matter.

use holon_core::artifact::findings::{FindingFate, FindingsReport, TrackedFinding};
use holon_core::artifact::review::{LocationCheck, ReviewFinding, ReviewReport};
use holon_core::patch::{LineAfter, PatchedFile, patched_files};

/// Changes this close to a finding's text may be what mends it.
const NEAR: usize = 5;

/// A judgement with its reason, and where the text stands now.
type JudgedFate = (FindingFate, String, Option<u64>);

/// Looks every finding up in the result. `base` gives a workspace file as it was before the patch.
pub fn track(
    review: &ReviewReport,
    review_sha256: &str,
    patch: &[u8],
    base: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> FindingsReport {
    let changes = patched_files(patch);
    let tracked = review.findings.iter().map(|finding| {
        let (state, reason, line_after) = judge(finding, &changes, base);
        TrackedFinding {
            fingerprint: finding.fingerprint.clone(),
            path: finding.path.clone(),
            line: finding.line,
            severity: finding.severity,
            title: finding.title.clone(),
            state,
            reason,
            line_after,
        }
    });
    FindingsReport::new(review_sha256.to_owned(), tracked.collect())
}

fn judge(
    finding: &ReviewFinding,
    changes: &[PatchedFile<'_>],
    base: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> JudgedFate {
    let open = |why: &str| (FindingFate::Open, why.to_owned(), finding.line);
    let unclear = |why: &str| (FindingFate::Unclear, why.to_owned(), None);
    let path = Some(finding.path.as_str());
    let Some(change) = changes.iter().find(|c| c.old.as_deref() == path) else {
        return match changes.iter().any(|c| c.new.as_deref() == path) {
            true => unclear("the file was made by the change"),
            false => open("the file was not changed"),
        };
    };
    if change.new.is_none() {
        return (FindingFate::Fixed, "the file was removed".into(), None);
    }
    if !matches!(finding.location, LocationCheck::Verified | LocationCheck::Line) {
        return unclear("the file changed, and the finding names no line that could be looked up");
    }
    let Some(bytes) = base(&finding.path) else {
        return unclear("the file is not as it was before the change, so its lines cannot be followed");
    };
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    let Some(after) = change.after(&bytes) else {
        return unclear("the change of this file cannot be followed line by line");
    };
    follow(finding, &lines, &after)
}

/// Follows the finding's lines into the new file.
fn follow(finding: &ReviewFinding, lines: &[&[u8]], after: &[LineAfter<'_>]) -> JudgedFate {
    let wanted = snippet(&finding.snippet);
    let folded: Vec<String> = lines.iter().map(|line| fold(line)).collect();
    let claimed =
        finding.line.and_then(|line| usize::try_from(line).ok()).and_then(|line| line.checked_sub(1));
    let starts = places(&folded, &wanted);
    let Some(start) = claimed.and_then(|at| starts.into_iter().min_by_key(|s| s.abs_diff(at))) else {
        return (FindingFate::Unclear, "its text was gone before anything was changed".into(), None);
    };
    let range = start..start + wanted.len();
    let now: Vec<usize> = after
        .iter()
        .enumerate()
        .filter(|(_, line)| line.from.is_some_and(|from| range.contains(&from)))
        .map(|(at, _)| at)
        .collect();
    let whole = now.len() == wanted.len() && now.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let number = |at: usize| Some(at as u64 + 1);
    if whole && changed_near(lines.len(), after, &now, &range) {
        return (
            FindingFate::Unclear,
            "its text stands, but lines next to it changed".into(),
            number(now[0]),
        );
    }
    if whole {
        return (FindingFate::Open, "its text stands, and nothing near it changed".into(), number(now[0]));
    }
    // The same words written anew are no repair.
    let words: Vec<String> = after.iter().map(|line| fold(line.text)).collect();
    let again = places(&words, &wanted)
        .into_iter()
        .find(|at| after[*at..at + wanted.len()].iter().any(|line| line.from.is_none()));
    match again {
        Some(at) => (FindingFate::Open, "its text was moved or written anew".into(), number(at)),
        None => (FindingFate::Fixed, "its text is gone".into(), None),
    }
}

/// Whether something came or went within reach of lines that stayed.
fn changed_near(old: usize, after: &[LineAfter<'_>], now: &[usize], range: &std::ops::Range<usize>) -> bool {
    let (first, last) = (now[0], now[now.len() - 1]);
    let reach = first.saturating_sub(NEAR)..(last + 1 + NEAR).min(after.len());
    if after[reach].iter().any(|line| line.from.is_none()) {
        return true;
    }
    let kept: std::collections::BTreeSet<usize> = after.iter().filter_map(|line| line.from).collect();
    (range.start.saturating_sub(NEAR)..(range.end + NEAR).min(old)).any(|at| !kept.contains(&at))
}

/// Where the wanted lines stand, one after the other.
fn places(lines: &[String], wanted: &[String]) -> Vec<usize> {
    if wanted.is_empty() {
        return Vec::new();
    }
    lines.windows(wanted.len()).enumerate().filter(|(_, part)| *part == wanted).map(|(at, _)| at).collect()
}

/// The snippet's lines without empty ones around them, spaces folded, as the review's lines were checked.
fn snippet(text: &str) -> Vec<String> {
    let lines: Vec<String> = text.lines().map(|line| fold(line.as_bytes())).collect();
    let first = lines.iter().position(|line| !line.is_empty());
    let last = lines.iter().rposition(|line| !line.is_empty());
    match (first, last) {
        (Some(first), Some(last)) => lines[first..=last].to_vec(),
        _ => Vec::new(),
    }
}

fn fold(line: &[u8]) -> String {
    String::from_utf8_lossy(line).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
