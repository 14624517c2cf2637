//! Changes lines of a file and keeps every byte that the change does not ask about.

use std::borrow::Cow;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lines::TerminatedLine;
use super::seek::MatchedBlock;

/// What happens to the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOp<'a> {
    /// The file's line stays as it is.
    Keep,
    /// The file's line goes.
    Remove,
    /// A line comes in.
    Add(&'a str),
}

/// The way from one passage to another, line by line.
pub(super) fn ops<'a>(old: &[&str], new: &[&'a str]) -> Vec<LineOp<'a>> {
    let added = |index: usize, length: usize| new[index..index + length].iter().map(|line| LineOp::Add(line));
    let mut ops = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        match op {
            DiffOp::Equal { len, .. } => ops.extend(std::iter::repeat_n(LineOp::Keep, len)),
            DiffOp::Delete { old_len, .. } => ops.extend(std::iter::repeat_n(LineOp::Remove, old_len)),
            DiffOp::Insert { new_index, new_len, .. } => ops.extend(added(new_index, new_len)),
            DiffOp::Replace { old_len, new_index, new_len, .. } => {
                ops.extend(std::iter::repeat_n(LineOp::Remove, old_len));
                ops.extend(added(new_index, new_len));
            }
        }
    }
    ops
}

/// The lines of one place after the change; those that come in are indented, spelled and ended as the file does it.
pub(super) fn rewrite<'a>(
    file: &[TerminatedLine<'a>],
    block: &MatchedBlock,
    ops: &[LineOp<'_>],
    style: &'static str,
) -> Vec<TerminatedLine<'a>> {
    let mut there = file.iter().skip(block.start);
    let mut lines = Vec::new();
    for op in ops {
        match op {
            LineOp::Keep => lines.extend(there.next().cloned()),
            LineOp::Remove => drop(there.next()),
            LineOp::Add(line) => {
                let text = Cow::Owned(block.shift.apply(&block.spelling.apply(line)));
                lines.push(TerminatedLine { text, end: style });
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::edit::indent::IndentShift;
    use crate::edit::lines::{join, split};
    use crate::edit::typography::TypographicSpelling;

    #[test]
    fn lines_that_stay_keep_their_bytes() {
        let file = split("x\r\n\ta  \r\n\tb\r\n\tc\n");
        let block = MatchedBlock {
            start: 1,
            shift: IndentShift::Deeper("\t".into()),
            spelling: TypographicSpelling::default(),
        };
        let ops = ops(&["a", "b", "c"], &["a", "B", "B2", "c"]);
        let lines = rewrite(&file, &block, &ops, "\r\n");
        assert_eq!(join(&lines, "\r\n", true), "\ta  \r\n\tB\r\n\tB2\r\n\tc\n");
    }
}
