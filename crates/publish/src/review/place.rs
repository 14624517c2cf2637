//! Where a finding can stand in a pull request: on lines its diff shows, or in the body.

use std::collections::BTreeMap;

use holon_core::artifact::review::{DiffSide, LocationCheck, ReviewFinding};
use holon_core::patch::{HunkLine, PatchHunk, hunks};

/// How far a line may have moved and still be taken for the same place.
const NEARBY: u64 = 50;

/// One file of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullFile {
    /// Its path at the head.
    pub path: String,
    /// Its path at the base, when it was renamed.
    pub previous: Option<String>,
    /// Whether the head lacks it.
    pub removed: bool,
    /// Its hunks as text; none when the forge shows none, as for binary and very large files.
    pub diff: Option<String>,
}

impl PullFile {
    /// A file with the text of its diff.
    pub fn new(path: &str, previous: Option<&str>, removed: bool, diff: Option<&str>) -> Self {
        Self { path: path.into(), previous: previous.map(Into::into), removed, diff: diff.map(Into::into) }
    }
}

/// Where a finding goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingPlace {
    /// On lines of the diff.
    Inline(DiffSpot),
    /// In the review's body, for this reason.
    Body(NotInlineReason),
}

/// Lines of a diff that can take a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffSpot {
    /// The file, as it is called at the head.
    pub path: String,
    /// Whether the lines are the removed ones.
    pub old: bool,
    /// The last line.
    pub line: u64,
    /// The first line, when there are several.
    pub start: Option<u64>,
    /// Whether these are all lines of the finding: only then can a change be suggested.
    pub whole: bool,
}

/// Why a finding is not on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotInlineReason {
    /// It concerns a file as a whole, or its line could not be confirmed.
    NoLine,
    /// The pull request does not change the file.
    FileNotInDiff,
    /// The pull request deletes the file.
    FileDeleted,
    /// The forge shows no diff of the file.
    NoDiff,
    /// The pull request does not touch these lines.
    OutsideHunks,
    /// The text is not at the head any more.
    TextGone,
}

impl NotInlineReason {
    /// In words, for the body.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoLine => "",
            Self::FileNotInDiff => "not changed here",
            Self::FileDeleted => "deleted here",
            Self::NoDiff => "its diff is not shown",
            Self::OutsideHunks => "outside of the diff",
            Self::TextGone => "changed since the review",
        }
    }
}

/// Finds the place of a finding in the files of a pull request.
///
/// `moved` says that the head is not the commit that was reviewed: lines then count only where their text is found again.
pub fn place(finding: &ReviewFinding, files: &BTreeMap<String, PullFile>, moved: bool) -> FindingPlace {
    let (Some(first), LocationCheck::Verified | LocationCheck::Line) = (finding.line, finding.location)
    else {
        return FindingPlace::Body(NotInlineReason::NoLine);
    };
    let old_side = finding.side == DiffSide::Old;
    let renamed = || files.values().find(|file| file.previous.as_deref() == Some(&finding.path));
    let Some(file) = files.get(&finding.path).or_else(renamed) else {
        return FindingPlace::Body(NotInlineReason::FileNotInDiff);
    };
    if file.removed && !old_side {
        return FindingPlace::Body(NotInlineReason::FileDeleted);
    }
    let Some(diff) = &file.diff else { return FindingPlace::Body(NotInlineReason::NoDiff) };
    let hunks = hunks(diff.as_bytes());
    let first = if moved {
        match find_again(finding, &hunks, first, old_side) {
            Some(line) => line,
            None => return FindingPlace::Body(NotInlineReason::TextGone),
        }
    } else {
        first
    };
    let length = finding.end_line.zip(finding.line).map_or(0, |(end, line)| end.saturating_sub(line));
    let wanted = (first, first.saturating_add(length));
    match hunks.iter().find_map(|hunk| clip(hunk, wanted, old_side)) {
        Some((old, lines)) => FindingPlace::Inline(spot(file, old, &lines, wanted)),
        None => FindingPlace::Body(NotInlineReason::OutsideHunks),
    }
}

fn spot(file: &PullFile, old: bool, lines: &[u64], wanted: (u64, u64)) -> DiffSpot {
    let (first, last) = (lines.first().copied().unwrap_or(1), lines.last().copied().unwrap_or(1));
    let whole = lines.len() as u64 == wanted.1 - wanted.0 + 1;
    DiffSpot { path: file.path.clone(), old, line: last, start: (first < last).then_some(first), whole }
}

/// The wanted lines that one hunk can take comments on, and whether they are removed ones.
///
/// Comments stand on removed lines of the old side, or on lines of the new side. So an unchanged line that was named by
/// its old number is told by its new one.
fn clip(hunk: &PatchHunk<'_>, (first, last): (u64, u64), old_side: bool) -> Option<(bool, Vec<u64>)> {
    let within = |n: Option<u64>| n.is_some_and(|n| (first..=last).contains(&n));
    if !old_side {
        let lines: Vec<u64> = hunk.lines.iter().filter(|l| within(l.new)).filter_map(|l| l.new).collect();
        return (!lines.is_empty()).then_some((false, lines));
    }
    let asked: Vec<_> = hunk.lines.iter().filter(|l| within(l.old)).collect();
    let removed: Vec<u64> = asked
        .iter()
        .skip_while(|l| l.new.is_some())
        .take_while(|l| l.new.is_none())
        .filter_map(|l| l.old)
        .collect();
    if !removed.is_empty() {
        return Some((true, removed));
    }
    // Lines that were added between them belong to the range on the new side.
    let new: Vec<u64> = asked.iter().filter_map(|l| l.new).collect();
    let (first, last) = (*new.first()?, *new.last()?);
    Some((false, (first..=last).collect()))
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line where the finding's text stands now: where it was, else nearest, else the only place.
fn find_again(finding: &ReviewFinding, hunks: &[PatchHunk<'_>], claimed: u64, old_side: bool) -> Option<u64> {
    let wanted: Vec<String> = finding.snippet.lines().map(folded).collect();
    let first = wanted.iter().position(|l| !l.is_empty())?;
    let last = wanted.iter().rposition(|l| !l.is_empty())?;
    let wanted = &wanted[first..=last];
    let mut places: Vec<u64> = Vec::new();
    for hunk in hunks {
        let number = |l: &HunkLine<'_>| if old_side { l.old } else { l.new };
        let lines: Vec<(u64, String)> = hunk
            .lines
            .iter()
            .filter_map(|l| Some((number(l)?, folded(&String::from_utf8_lossy(l.text)))))
            .collect();
        let fits = |part: &&[(u64, String)]| part.iter().zip(wanted).all(|((_, text), want)| text == want);
        places.extend(lines.windows(wanted.len()).filter(fits).filter_map(|part| Some(part.first()?.0)));
    }
    let nearest = places.iter().copied().min_by_key(|line| (line.abs_diff(claimed), *line))?;
    (nearest.abs_diff(claimed) <= NEARBY || places.len() == 1).then_some(nearest)
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
