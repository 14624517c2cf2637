//! Lines of a change that no test ran, as far as reports of the checks' runners know.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::patch::{self, PatchItem};

/// The file among a run's evidence that holds what reports say about the files of its change.
pub const EVIDENCE: &str = "coverage.json";
/// Most files told.
const FILES: usize = 200;
/// Most ranges told of one file.
const RANGES: usize = 200;

/// Lines of one file, from the first to the last.
pub type LineRange = (u64, u64);

/// What reports know about the lines of files, by path in the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutedLines(pub BTreeMap<String, FileLines>);

/// What reports know about the lines of one file; lines they do not speak of hold no code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileLines {
    /// Lines that some test ran.
    pub ran: Vec<LineRange>,
    /// Lines that none did.
    pub missed: Vec<LineRange>,
}

/// How much of a change tests ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChangeCoverage {
    /// Added or changed lines that the reports speak of.
    pub lines: u64,
    /// Those of them that a test ran.
    pub ran: u64,
    /// Those that none did, by file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<UncoveredLines>,
}

/// Changed lines of one file that no test ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UncoveredLines {
    /// The file.
    pub path: String,
    /// The lines, from the first to the last of each stretch.
    pub lines: Vec<LineRange>,
}

impl std::fmt::Display for UncoveredLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.path)?;
        for (number, (first, last)) in self.lines.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

/// Sorted lines as ranges.
pub fn ranges(lines: impl IntoIterator<Item = u64>) -> Vec<LineRange> {
    let mut found: Vec<LineRange> = Vec::new();
    for line in lines {
        match found.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(line) => *last = line,
            _ => found.push((line, line)),
        }
    }
    found
}

/// How much of a patch tests ran; nothing where no report speaks of any line of it.
pub fn of_change(patch: &[u8], known: &ExecutedLines) -> Option<ChangeCoverage> {
    let mut changed: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    patch::walk(patch, &mut |step| {
        if let PatchItem::Added { path, line, .. } = step {
            changed.entry(path.to_owned()).or_default().insert(line);
        }
    });
    let mut found = ChangeCoverage::default();
    for (path, lines) in changed {
        let Some(file) = known.0.get(&path) else { continue };
        let within = |ranges: &[LineRange], line: u64| ranges.iter().any(|(a, b)| (*a..=*b).contains(&line));
        let ran = lines.iter().filter(|line| within(&file.ran, **line)).count() as u64;
        let missed: Vec<u64> = lines
            .into_iter()
            .filter(|line| within(&file.missed, *line) && !within(&file.ran, *line))
            .collect();
        found.lines += ran + missed.len() as u64;
        found.ran += ran;
        if !missed.is_empty() && found.not_run.len() < FILES {
            let mut lines = ranges(missed);
            lines.truncate(RANGES);
            found.not_run.push(UncoveredLines { path, lines });
        }
    }
    (found.lines > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &[u8] = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,6 @@\n one\n+two\n+three\n+# four\n+five\n six\ndiff --git a/b.py b/b.py\n--- a/b.py\n+++ b/b.py\n@@ -0,0 +1 @@\n+x\n";

    #[test]
    fn changed_lines_that_no_test_ran_are_told_and_no_others() {
        let file = FileLines { ran: vec![(1, 2)], missed: vec![(3, 3), (5, 9)] };
        let known = ExecutedLines(BTreeMap::from([("a.py".to_owned(), file)]));
        let found = of_change(PATCH, &known).unwrap_or_default();
        assert_eq!((found.lines, found.ran), (3, 1));
        assert_eq!(found.not_run.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a.py 3, 5"]);
        assert_eq!(of_change(PATCH, &ExecutedLines::default()), None);
        assert_eq!(of_change(b"", &known), None);
    }

    #[test]
    fn ranges_are_short() {
        assert_eq!(ranges([1, 2, 3, 7, 9, 10]), [(1, 3), (7, 7), (9, 10)]);
        let told = UncoveredLines { path: "a".into(), lines: vec![(1, 3), (7, 7)] };
        assert_eq!(told.to_string(), "a 1-3, 7");
        assert_eq!(ranges([u64::MAX]), [(u64::MAX, u64::MAX)]);
    }
}
