//! What a check of unknown form printed, kept so that two runs can be held against each other: lines that said that
//! something is well must be said again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::runner::plain;

/// Most lines kept.
const LINES: usize = 400;
/// Words that say that something is well.
const WELL: [&str; 7] = ["ok", "pass", "passed", "passes", "success", "succeeded", "✓"];
/// Words that say the contrary.
const NOT: [&str; 8] = ["not", "no", "fail", "failed", "fails", "failure", "error", "errors"];

/// The lines of one run, by what they come to when numbers do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrintedLines {
    lines: BTreeSet<u64>,
    /// Those that said that something is well.
    well: BTreeSet<u64>,
    /// The last one.
    closing: Option<u64>,
}

impl PrintedLines {
    /// What a check printed.
    pub fn of(output: &str) -> Self {
        let mut told = Self::default();
        for line in output.lines() {
            let line = plain(line).to_lowercase();
            if line.trim().is_empty() || told.lines.len() >= LINES {
                continue;
            }
            let mark = mark(line.trim());
            told.lines.insert(mark);
            told.closing = Some(mark);
            let words = || line.split(|c: char| !c.is_alphanumeric() && c != '✓');
            if words().any(|word| WELL.contains(&word)) && !words().any(|word| NOT.contains(&word)) {
                told.well.insert(mark);
            }
        }
        told
    }

    /// Whether nothing was printed.
    pub fn is_silent(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether everything that was well before is still said to be.
    pub(crate) fn says_all_of(&self, before: &Self) -> bool {
        before.well.is_subset(&self.lines)
    }

    /// Whether it comes to the same end.
    pub(crate) fn closes_as(&self, before: &Self) -> bool {
        before.closing.is_none_or(|line| self.lines.contains(&line))
    }
}

/// A number for a line in which numbers do not count.
fn mark(line: &str) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut in_number = false;
    for c in line.chars() {
        let digit = c.is_ascii_digit();
        if digit && in_number {
            continue;
        }
        in_number = digit;
        hash = (hash ^ u64::from(if digit { u32::from('0') } else { u32::from(c) }))
            .wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_say_that_something_is_well_are_held_to() {
        let before = PrintedLines::of("ok one\nFAILED two\nok three (12 ms)\n");
        assert!(PrintedLines::of("ok one\nok two\nok three (7 ms)\n").says_all_of(&before));
        assert!(!PrintedLines::of("ok one\n").says_all_of(&before));
        assert!(!PrintedLines::of("").says_all_of(&before) && PrintedLines::of("\n").is_silent());
        assert!(PrintedLines::of("x\n").says_all_of(&PrintedLines::of("not ok\n1 failed, 2 passed\n")));
        assert!(
            PrintedLines::of("a\nend 2\n").closes_as(&PrintedLines::of("b\nend 1\n"))
                && !PrintedLines::of("a\n").closes_as(&before)
        );
    }
}
