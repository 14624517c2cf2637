//! Finds a run of lines in a file, from exact to tolerant.

use std::borrow::Cow;
use std::collections::HashMap;

use super::indent::IndentShift;
use super::lines::TerminatedLine;
use super::tolerance::Tolerance;
use super::typography::{TypographicSpelling, folded};

/// Where the lines are, and how the model's text differs from the file's there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MatchedBlock {
    /// Index of the first line.
    pub(super) start: usize,
    /// How to indent what is added.
    pub(super) shift: IndentShift,
    /// How to spell what is added.
    pub(super) spelling: TypographicSpelling,
}

/// All places found in the first way that finds any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeekMatches {
    /// What had to be tolerated; `None` when the lines are there exactly.
    pub(super) tolerance: Option<Tolerance>,
    /// The places, in order; they may overlap.
    pub(super) blocks: Vec<MatchedBlock>,
}

/// Comparing lines at places that looked right stops after this many: only a file made to be slow needs more.
const MOST_COMPARED: usize = 2_000_000;

/// The places of these lines in the first way that finds any, up to this tolerance.
pub(super) fn seek(file: &[TerminatedLine<'_>], wanted: &[&str], most: Tolerance) -> Option<SeekMatches> {
    if wanted.is_empty() || wanted.len() > file.len() {
        return None;
    }
    let starts = starts(file, wanted, &|line| Cow::Borrowed(line.trim()));
    let exact = |start: usize| pairs(file, wanted, start).all(|(there, here)| there == here);
    let exact = collect(&starts, wanted.len(), |start| exact(start).then_some(IndentShift::None));
    if let Some(found) = sought(None, exact) {
        return Some(found);
    }
    // Blank lines alone are everywhere.
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let trimmed = |start: usize| {
        pairs(file, wanted, start)
            .all(|(there, here)| there.trim_end() == here.trim_end())
            .then_some(IndentShift::None)
    };
    sought(Some(Tolerance::TrailingWhitespace), collect(&starts, wanted.len(), trimmed))
        .or_else(|| {
            let shifted = |start: usize| IndentShift::between(pairs(file, wanted, start));
            sought(Some(Tolerance::Indentation), collect(&starts, wanted.len(), shifted))
        })
        .or_else(|| if most < Tolerance::Typography { None } else { typographic(file, wanted) })
}

fn typographic(file: &[TerminatedLine<'_>], wanted: &[&str]) -> Option<SeekMatches> {
    if wanted.iter().all(|line| line.is_ascii()) && file.iter().all(|line| line.text.is_ascii()) {
        return None;
    }
    // What is blank in plain form is as little to go by as blank lines are.
    if wanted.iter().all(|line| plain_content(line).is_empty()) {
        return None;
    }
    let starts = starts(file, wanted, &plain_content);
    let shifted = |start: usize| {
        let plain: Vec<_> =
            pairs(file, wanted, start).map(|(there, here)| (folded(there), folded(here))).collect();
        IndentShift::between(plain.iter().map(|(there, here)| (there.as_str(), here.as_str())))
    };
    let mut blocks = collect(&starts, wanted.len(), shifted);
    for block in &mut blocks {
        pairs(file, wanted, block.start).for_each(|(there, here)| block.spelling.learn(there, here));
    }
    sought(Some(Tolerance::Typography), blocks)
}

/// A line as it is compared when typography and the whitespace around it do not count.
pub(super) fn plain_content(line: &str) -> Cow<'_, str> {
    if line.is_ascii() {
        return Cow::Borrowed(line.trim());
    }
    Cow::Owned(folded(line).trim().to_owned())
}

fn sought(tolerance: Option<Tolerance>, blocks: Vec<MatchedBlock>) -> Option<SeekMatches> {
    (!blocks.is_empty()).then_some(SeekMatches { tolerance, blocks })
}

fn collect(
    starts: &[usize],
    length: usize,
    shift_at: impl Fn(usize) -> Option<IndentShift>,
) -> Vec<MatchedBlock> {
    let affordable = MOST_COMPARED / length.max(1);
    if starts.len() > affordable {
        return Vec::new();
    }
    let block = |start: &usize| {
        Some(MatchedBlock {
            start: *start,
            shift: shift_at(*start)?,
            spelling: TypographicSpelling::default(),
        })
    };
    starts.iter().filter_map(block).collect()
}

/// The file's and the model's version of each line, from this start.
pub(super) fn pairs<'a>(
    file: &'a [TerminatedLine<'_>],
    wanted: &'a [&str],
    start: usize,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    file.iter().skip(start).zip(wanted).map(|(there, here)| (there.text.as_ref(), *here))
}

/// Where a run of lines begins whose keys are those wanted (Knuth, Morris and Pratt: linear also in dull files).
fn starts(
    file: &[TerminatedLine<'_>],
    wanted: &[&str],
    key: &dyn for<'a> Fn(&'a str) -> Cow<'a, str>,
) -> Vec<usize> {
    let mut ids: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let pattern: Vec<usize> = wanted
        .iter()
        .map(|line| {
            let next = ids.len();
            *ids.entry(key(line)).or_insert(next)
        })
        .collect();
    let mut fallback = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        while matched > 0 && pattern[at] != pattern[matched] {
            matched = fallback[matched - 1];
        }
        matched += usize::from(pattern[at] == pattern[matched]);
        fallback[at] = matched;
    }
    let mut starts = Vec::new();
    matched = 0;
    for (at, line) in file.iter().enumerate() {
        let id = ids.get(&key(&line.text)).copied();
        while matched > 0 && (matched == pattern.len() || id != Some(pattern[matched])) {
            matched = fallback[matched - 1];
        }
        matched += usize::from(id == Some(pattern[matched]));
        if matched == pattern.len() {
            starts.push(at + 1 - matched);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;
    use crate::edit::lines::{contents, split};

    fn check(file: &str, wanted: &str, expect: Option<(Option<Tolerance>, &[usize])>) {
        let found = seek(&split(file), &contents(wanted), Tolerance::Typography);
        let found =
            found.map(|f| (f.tolerance, f.blocks.iter().map(|block| block.start).collect::<Vec<_>>()));
        assert_eq!(found, expect.map(|(how, starts)| (how, starts.to_vec())), "{file:?} {wanted:?}");
    }

    #[test]
    fn the_strictest_way_that_finds_anything_counts() {
        check("a\nb\nc\n", "b\nc\n", Some((None, &[1])));
        check("b \nb\n", "b", Some((None, &[1])));
        check("b \nb\t\n", "b", Some((Some(Tolerance::TrailingWhitespace), &[0, 1])));
        check("  b\n    c\n", "b\n  c\n", Some((Some(Tolerance::Indentation), &[0])));
        check("  b\n  c\n", "b\n  c\n", None);
        check("say “x”\n", "  say \"x\"\n", Some((Some(Tolerance::Typography), &[0])));
        check("a\n", "b", None);
        check("a\n", "a\na\n", None);
        check("a\na\na\n", "a\na\n", Some((None, &[0, 1])));
        check(" \n", "\n", None);
    }

    proptest! {
        #[test]
        fn runs_are_found_where_they_are(file in prop::collection::vec("[ab]", 0..30), wanted in prop::collection::vec("[ab]", 1..4)) {
            let text = file.iter().map(|line| format!("{line}\n")).collect::<String>();
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            let expect: Vec<usize> = (0..file.len())
                .filter(|at| file[*at..].len() >= wanted.len() && file[*at..at + wanted.len()] == wanted[..])
                .collect();
            let found = starts(&split(&text), &wanted, &|line| Cow::Borrowed(line));
            prop_assert_eq!(found, expect);
        }
    }
}
