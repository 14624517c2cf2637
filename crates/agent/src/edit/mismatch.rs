//! Why a passage could not be replaced, in words a model can act on.

use std::fmt;

use super::lines::{self, TerminatedLine};
use super::nearest::nearest;
use super::seek::{plain_content, seek};
use super::tolerance::Tolerance;

/// A change that was not made; its text is meant for the model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Mismatch {
    /// The passage to replace is empty although the file is not.
    #[error(
        "the text to replace is empty, but the file is not: give the lines to replace, or write the whole file"
    )]
    EmptyOld,
    /// There is nothing to change.
    #[error("the text to replace and its replacement are the same: nothing to change")]
    Same,
    /// The file would be the same afterwards.
    #[error("line {line} and what follows already reads as asked for: nothing to change")]
    NoChange {
        /// Where.
        line: usize,
    },
    /// The passage is there more than once.
    #[error("{}", ambiguous(lines, *more, *tolerance))]
    Ambiguous {
        /// The first lines of the places.
        lines: Vec<usize>,
        /// Whether there are more.
        more: bool,
        /// What had to be tolerated to find them.
        tolerance: Option<Tolerance>,
    },
    /// A part of a patch fits more than one place.
    #[error("its lines are there more than once, {}: add lines around them, or `@@` with the line of the class or function they are in", at(lines, *more, *tolerance))]
    AmbiguousHunk {
        /// The first lines of the places.
        lines: Vec<usize>,
        /// Whether there are more.
        more: bool,
        /// What had to be tolerated to find them.
        tolerance: Option<Tolerance>,
    },
    /// The passage is not there.
    #[error("{0}")]
    NotFound(Box<PassageNotFound>),
}

/// What is there instead of a passage that is not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PassageNotFound {
    /// The most similar lines.
    pub nearest: Option<NearestPassage>,
    /// Other lines where the passage, or its first line, is found.
    pub elsewhere: Vec<usize>,
    /// The line where the replacement already is.
    pub already_applied: Option<usize>,
}

/// The lines of a file that are most like a passage.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestPassage {
    /// Number of the first line shown.
    pub first_line: usize,
    /// The lines.
    pub lines: Vec<String>,
    /// How alike they are.
    pub percent: u8,
    /// Where they begin to differ.
    pub difference: Option<PassageDifference>,
}

/// The first difference between a passage and a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageDifference {
    /// Line in the file.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
    /// The line as the model gave it.
    pub yours: String,
    /// The line as it is; `None` when the file ends before it.
    pub file: Option<String>,
}

/// Most places listed.
pub(super) const MOST_PLACES: usize = 20;

/// Longer lines are cut when shown.
const MOST_SHOWN: usize = 200;

impl PassageNotFound {
    /// Looks for what is there instead.
    pub(super) fn look(file: &[TerminatedLine<'_>], old: &[&str], new: &[&str]) -> Self {
        let numbers = |wanted: &[&str]| {
            let found = seek(file, wanted, Tolerance::Typography);
            found
                .map(|found| found.blocks.iter().map(|block| block.start + 1).collect::<Vec<_>>())
                .unwrap_or_default()
        };
        let already_applied = tells_something(new).then(|| numbers(new).first().copied()).flatten();
        let telling = old.iter().find(|line| tells_something(&[line]));
        let elsewhere = telling.map(|line| plain_content(line).into_owned()).map(|first| {
            let same = |line: &TerminatedLine<'_>| plain_content(&line.text) == first.as_str();
            let found = file.iter().enumerate().filter(|(_, line)| same(line));
            found.map(|(index, _)| index + 1).take(6).collect()
        });
        Self { nearest: nearest(file, old), elsewhere: elsewhere.unwrap_or_default(), already_applied }
    }
}

/// Whether lines say more than brackets do.
fn tells_something(lines: &[&str]) -> bool {
    lines.iter().flat_map(|line| line.chars()).filter(|c| c.is_alphanumeric()).count() >= 4
}

impl Mismatch {
    /// The error for a passage that is not there.
    pub(super) fn not_found(text: &str, old: &str, new: &str) -> Self {
        let file = lines::split(text);
        Self::NotFound(Box::new(PassageNotFound::look(&file, &lines::contents(old), &lines::contents(new))))
    }

    /// The error for a passage that is there more than once.
    pub(super) fn ambiguous(numbers: impl IntoIterator<Item = usize>, tolerance: Option<Tolerance>) -> Self {
        let (lines, more) = bounded(numbers);
        Self::Ambiguous { lines, more, tolerance }
    }

    /// The error for a part of a patch that fits more than one place.
    pub(super) fn ambiguous_hunk(
        numbers: impl IntoIterator<Item = usize>,
        tolerance: Option<Tolerance>,
    ) -> Self {
        let (lines, more) = bounded(numbers);
        Self::AmbiguousHunk { lines, more, tolerance }
    }
}

/// The first of these lines, each once, and whether there are more.
fn bounded(numbers: impl IntoIterator<Item = usize>) -> (Vec<usize>, bool) {
    let mut lines: Vec<usize> = Vec::new();
    for number in numbers {
        if lines.last() != Some(&number) {
            lines.push(number);
        }
        if lines.len() > MOST_PLACES {
            break;
        }
    }
    let more = lines.len() > MOST_PLACES;
    lines.truncate(MOST_PLACES);
    (lines, more)
}

fn ambiguous(lines: &[usize], more: bool, tolerance: Option<Tolerance>) -> String {
    let advice = match tolerance {
        Some(Tolerance::Anchors) => "add lines around it that are only at the place you mean",
        _ => "add lines around it that are only at the place you mean, or set `all` to replace every one",
    };
    format!("the text to replace is there more than once, {}: {advice}", at(lines, more, tolerance))
}

fn at(lines: &[usize], more: bool, tolerance: Option<Tolerance>) -> String {
    let list: Vec<String> = lines.iter().map(usize::to_string).collect();
    let lines = match list.as_slice() {
        [one] => format!("at line {one}, several times"),
        all => format!("at lines {}", all.join(", ")),
    };
    let tail = if more { " and more" } else { "" };
    let how = tolerance.map(|how| format!(" ({how})")).unwrap_or_default();
    format!("{lines}{tail}{how}")
}

impl fmt::Display for PassageNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text to replace is not in the file")?;
        if let Some(line) = self.already_applied {
            write!(f, "; the new text is already there, at line {line}: this change may be applied already")?;
        }
        match &self.nearest {
            Some(nearest) => write!(f, "{nearest}")?,
            None => {
                f.write_str("\nNothing in the file is similar: read the file again before changing it.")?
            }
        }
        let shown =
            self.nearest.as_ref().map(|n| n.first_line..n.first_line + n.lines.len()).unwrap_or_default();
        let elsewhere: Vec<String> =
            self.elsewhere.iter().filter(|line| !shown.contains(line)).map(usize::to_string).collect();
        if !elsewhere.is_empty() {
            write!(f, "\nIts first line is also at line {}.", elsewhere.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for NearestPassage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\nNearest lines ({} % alike):", self.percent)?;
        let marked = self.difference.as_ref().map(|difference| difference.line);
        for (index, line) in self.lines.iter().enumerate() {
            let number = self.first_line + index;
            let mark = if marked == Some(number) { '>' } else { ' ' };
            write!(f, "\n{mark}{number:>5} | {}", cut(line))?;
        }
        if let Some(difference) = &self.difference {
            write!(f, "\n{difference}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PassageDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(file) = &self.file else {
            return write!(f, "The file ends before line {}; yours goes on: {}", self.line, cut(&self.yours));
        };
        write!(f, "First difference at line {}, column {}", self.line, self.column)?;
        let (yours, file) = (shown_from(&self.yours, self.column), shown_from(file, self.column));
        let at = |line: &str| line.chars().nth(self.column - 1);
        let white = |c: Option<char>| c.is_none_or(char::is_whitespace);
        if white(at(&self.yours)) || self.file.as_deref().is_some_and(|file| white(at(file))) {
            // Only here can whitespace be what is wrong.
            let (yours, file) = (visible(&yours), visible(&file));
            return write!(f, " (· is a space, → a tab, ¶ the end)\n  yours: {yours}¶\n  file:  {file}¶");
        }
        write!(f, ":\n  yours: {yours}\n  file:  {file}")
    }
}

fn visible(line: &str) -> String {
    line.chars()
        .map(|c| {
            if c == ' ' {
                '·'
            } else if c == '\t' {
                '→'
            } else {
                c
            }
        })
        .collect()
}

fn cut(line: &str) -> String {
    shown_from(line, 1)
}

/// A line, cut so that this column is in sight.
fn shown_from(line: &str, column: usize) -> String {
    let skipped = column.saturating_sub(MOST_SHOWN / 2);
    let front = if skipped > 0 { "…" } else { "" };
    let mut rest = line.chars().skip(skipped);
    let shown: String = rest.by_ref().take(MOST_SHOWN).collect();
    let back = if rest.next().is_some() { "…" } else { "" };
    format!("{front}{shown}{back}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn check(text: &str, old: &str, new: &str, expect: &str) {
        assert_eq!(Mismatch::not_found(text, old, new).to_string(), expect);
    }

    #[test]
    fn what_is_there_instead_is_shown() {
        check(
            "fn main() {\n\tlet x = 1;\n\tprint(x);\n}\n",
            "    let y = 1;\n\tprint(x);",
            "new",
            "the text to replace is not in the file\nNearest lines (94 % alike):\n     1 | fn main() {\n>    2 | \tlet x = 1;\n     3 | \tprint(x);\n     4 | }\nFirst difference at line 2, column 1 (· is a space, → a tab, ¶ the end)\n  yours: ····let·y·=·1;¶\n  file:  →let·x·=·1;¶",
        );
        check(
            "one = 1\n",
            "something else",
            "",
            "the text to replace is not in the file\nNothing in the file is similar: read the file again before changing it.",
        );
    }

    #[test]
    fn a_change_that_is_there_already_is_said() {
        let said = Mismatch::not_found("let a = 2;\n", "let a = 1;\n", "let a = 2;\n").to_string();
        assert!(said.contains("already there, at line 1"), "{said}");
    }

    #[test]
    fn other_places_are_named() {
        let text = format!("{}begin the work\nlet a = long_name();\n", "begin the work\nother\n".repeat(2));
        let said = Mismatch::not_found(&text, "begin the work\nlet a = long_nme();", "").to_string();
        assert!(said.ends_with("also at line 1, 3."), "{said}");
    }

    #[test]
    fn long_lines_are_cut_around_the_difference() {
        let line = format!("{}x{}", "a".repeat(500), "b".repeat(500));
        let said = Mismatch::not_found(&line, &line.replace('x', "y"), "").to_string();
        assert!(said.len() < 1500 && said.contains("ayb") && said.contains("axb"), "{said}");
    }
}
