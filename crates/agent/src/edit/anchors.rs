//! The last resort: first and last line are known, and what is between them is nearly right.

use std::borrow::Cow;

use super::indent::IndentShift;
use super::lines::TerminatedLine;
use super::seek::{MatchedBlock, SeekMatches, pairs, plain_content};
use super::similarity::alike;
use super::tolerance::Tolerance;
use super::typography::TypographicSpelling;

/// How alike the lines between must be on average.
const ALIKE_ON_AVERAGE: f32 = 0.85;

/// How alike each of them must be.
const ALIKE_EACH: f32 = 0.5;

/// More places than these with the same first and last line say that these lines say nothing.
const MOST_PLACES: usize = 64;

/// Longer passages are not guessed at.
const MOST_LINES: usize = 500;

/// Places where first and last line are the wanted ones and the same number of similar lines is between them.
pub(super) fn seek_anchored(file: &[TerminatedLine<'_>], wanted: &[&str]) -> Option<SeekMatches> {
    let [first, .., last] = wanted else { return None };
    if wanted.len() < 3 || wanted.len() > MOST_LINES || wanted.len() > file.len() {
        return None;
    }
    let (first, last) = (plain_content(first), plain_content(last));
    if first.is_empty() || last.is_empty() {
        return None;
    }
    let ends = |start: usize| {
        let key = |index: usize| file.get(index).map(|line| plain_content(&line.text));
        key(start) == Some(Cow::Borrowed(&*first))
            && key(start + wanted.len() - 1) == Some(Cow::Borrowed(&*last))
    };
    let places: Vec<usize> =
        (0..=file.len() - wanted.len()).filter(|start| ends(*start)).take(MOST_PLACES + 1).collect();
    if places.len() > MOST_PLACES {
        return None;
    }
    let blocks: Vec<MatchedBlock> =
        places.into_iter().filter_map(|start| block_at(file, wanted, start)).collect();
    (!blocks.is_empty()).then_some(SeekMatches { tolerance: Some(Tolerance::Anchors), blocks })
}

fn block_at(file: &[TerminatedLine<'_>], wanted: &[&str], start: usize) -> Option<MatchedBlock> {
    let mut sum = 0.0;
    let mut same = Vec::new();
    for (there, here) in pairs(file, wanted, start) {
        let alike = alike(&plain_content(there), &plain_content(here));
        if alike < ALIKE_EACH {
            return None;
        }
        if alike == 1.0 {
            same.push((there, here));
        }
        sum += alike;
    }
    // Both anchors are the same and prove nothing about what is between them.
    let between = (wanted.len() - 2) as f32;
    if (sum - 2.0) / between < ALIKE_ON_AVERAGE {
        return None;
    }
    let shift = IndentShift::between(same.iter().copied())?;
    let mut spelling = TypographicSpelling::default();
    same.iter().for_each(|(there, here)| spelling.learn(there, here));
    Some(MatchedBlock { start, shift, spelling })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::edit::lines::{contents, split};

    fn check(file: &str, wanted: &str, expect: &[usize]) {
        let found = seek_anchored(&split(file), &contents(wanted));
        let starts = found.map(|found| found.blocks.iter().map(|block| block.start).collect::<Vec<_>>());
        assert_eq!(starts.unwrap_or_default(), expect, "{file:?} {wanted:?}");
    }

    #[test]
    fn similar_lines_between_the_same_ends_are_found() {
        let file = "x\nfn a() {\n    let total = price * count;\n}\ny\n";
        check(file, "fn a() {\n    let total = price * counts;\n}\n", &[1]);
        check(file, "fn a() {\n    something_else();\n}\n", &[]);
        check(file, "fn b() {\n    let total = price * count;\n}\n", &[]);
        check(file, "fn a() {\n}\n", &[]);
        check(&file.repeat(2), "fn a() {\n    let total = price * counts;\n}\n", &[1, 6]);
    }
}
