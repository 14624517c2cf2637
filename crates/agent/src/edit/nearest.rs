//! The part of a file that is most like a passage which is not in it.

use std::borrow::Cow;

use super::lines::TerminatedLine;
use super::mismatch::{NearestPassage, PassageDifference};
use super::seek::{pairs, plain_content};
use super::similarity::{MOST_BYTES, MOST_PROBES, SimilarityProbes, alike};

/// Places that are compared thoroughly: at least, at most, and how many pairs of bytes that may take in between.
const LEAST_PLACES: usize = 12;
const MOST_PLACES: usize = 500;
const MOST_PAIRS: usize = 4_000_000;

/// Lines that are compared thoroughly at each place.
const MOST_COMPARED: usize = 24;

/// Longer files are looked at up to here.
const MOST_LINES: usize = 400_000;

/// A line less alike than this speaks for no place.
const ROUGHLY_ALIKE: f32 = 0.55;

/// Below this, showing the place would mislead.
const WORTH_SHOWING: f32 = 0.4;

/// Most lines shown.
const MOST_SHOWN: usize = 12;

/// Finds that part in one rough pass over all lines and a thorough look at the best places.
pub(super) fn nearest(file: &[TerminatedLine<'_>], wanted: &[&str]) -> Option<NearestPassage> {
    let file = &file[..file.len().min(MOST_LINES)];
    let (start, score) = places(file, wanted)
        .into_iter()
        .map(|start| (start, alike_at(file, wanted, start)))
        .max_by(|(first, a), (second, b)| a.total_cmp(b).then(second.cmp(first)))?;
    if score < WORTH_SHOWING {
        return None;
    }
    let difference = difference(file, wanted, start);
    let about = difference.as_ref().map_or(start, |difference| difference.line - 1);
    // One line around the passage, and the difference in sight when the passage is long.
    let end = (start + wanted.len() + 1).min(file.len());
    let from =
        start.saturating_sub(1).max(about.saturating_sub(MOST_SHOWN / 2).min(end.saturating_sub(MOST_SHOWN)));
    let lines = file[from..end].iter().take(MOST_SHOWN).map(|line| line.text.to_string()).collect();
    Some(NearestPassage { first_line: from + 1, lines, percent: (score * 100.0) as u8, difference })
}

/// The places that most lines of the passage speak for.
fn places(file: &[TerminatedLine<'_>], wanted: &[&str]) -> Vec<usize> {
    let mut telling: Vec<(usize, Cow<'_, str>)> = wanted
        .iter()
        .enumerate()
        .map(|(index, line)| (index, plain_content(line)))
        .filter(|(_, line)| line.len() > 1)
        .collect();
    telling.sort_by_key(|(index, line)| (std::cmp::Reverse(line.len().min(80)), *index));
    telling.truncate(MOST_PROBES);
    let lines: Vec<&str> = telling.iter().map(|(_, line)| line.as_ref()).collect();
    let probes = SimilarityProbes::new(&lines);
    // A place is where the passage would begin, counted from as far before the file as the passage is long.
    let mut votes = vec![0.0_f32; file.len() + wanted.len()];
    for (number, line) in file.iter().enumerate() {
        for ((index, _), alike) in telling.iter().zip(probes.compare(&plain_content(&line.text))) {
            if alike >= ROUGHLY_ALIKE {
                votes[number + wanted.len() - index] += alike;
            }
        }
    }
    let mut best: Vec<usize> = (0..votes.len()).filter(|place| votes[*place] > 0.0).collect();
    let by_votes = |a: &usize, b: &usize| votes[*b].total_cmp(&votes[*a]).then(a.cmp(b));
    let affordable = affordable_places(wanted);
    if best.len() > affordable {
        best.select_nth_unstable_by(affordable, by_votes);
        best.truncate(affordable);
    }
    best.sort_unstable();
    best.into_iter().map(|place| place.saturating_sub(wanted.len())).collect()
}

fn affordable_places(wanted: &[&str]) -> usize {
    let square = |line: &&str| line.len().min(MOST_BYTES).pow(2);
    let pairs: usize = wanted.iter().take(MOST_COMPARED).map(square).sum();
    (MOST_PAIRS / pairs.max(1)).clamp(LEAST_PLACES, MOST_PLACES)
}

/// How alike the passage and the lines from here on are; long lines count more.
fn alike_at(file: &[TerminatedLine<'_>], wanted: &[&str], start: usize) -> f32 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (index, here) in wanted.iter().take(MOST_COMPARED).enumerate() {
        let weight = here.trim().len().min(40) as f32 + 0.1;
        let there = file.get(start + index);
        sum += weight * there.map_or(0.0, |there| alike(&plain_content(&there.text), &plain_content(here)));
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// The first line that is not the same, trailing whitespace included.
fn difference(file: &[TerminatedLine<'_>], wanted: &[&str], start: usize) -> Option<PassageDifference> {
    let same = pairs(file, wanted, start).take_while(|(there, here)| there == here).count();
    let here = wanted.get(same)?;
    let there = file.get(start + same).map(|line| line.text.as_ref());
    let column = here.chars().zip(there.unwrap_or_default().chars()).take_while(|(a, b)| a == b).count() + 1;
    Some(PassageDifference {
        line: start + same + 1,
        column,
        yours: (*here).to_owned(),
        file: there.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::edit::lines::{contents, split};

    #[test]
    fn the_most_similar_place_is_found() {
        let file = "use a;\n\nfn one() {\n    let x = first();\n}\n\nfn two() {\n    let x = second();\n}\n";
        let found = nearest(&split(file), &contents("fn two() {\n    let x = secnod();\n}")).unwrap();
        assert_eq!((found.first_line, found.lines.len()), (6, 4));
        let difference = found.difference.unwrap();
        assert_eq!((difference.line, difference.column), (8, 16));
        assert_eq!(difference.file.as_deref(), Some("    let x = second();"));
    }

    #[test]
    fn nothing_similar_is_nothing() {
        assert_eq!(nearest(&split("alpha\nbeta\n"), &["fn quite_different() {"]), None);
        assert_eq!(nearest(&[], &["a"]), None);
        assert_eq!(nearest(&split("a\n"), &[]), None);
    }

    #[test]
    fn the_difference_of_a_long_passage_is_in_sight() {
        let file: String = (0..100).map(|n| format!("line number {n}\n")).collect();
        let wanted = file.replace("number 60", "nmuber 60");
        let found = nearest(&split(&file), &contents(&wanted)).unwrap();
        assert!((found.first_line..found.first_line + found.lines.len()).contains(&61), "{found:?}");
    }
}
