//! Why a patch was not applied, in words a model can act on.

use std::fmt;

use crate::edit::mismatch::Mismatch;

/// Everything that is wrong with a patch; nothing of it was applied.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchError {
    /// What is wrong, in the patch's order.
    pub problems: Vec<PatchProblem>,
}

/// One thing that is wrong with a patch.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PatchProblem {
    /// There is no patch in the text.
    #[error(
        "there is no patch in this: it begins with `*** Begin Patch`, then `*** Update File: PATH` (or Add File, Delete File), then `@@` and lines that begin with a space, `-` or `+`, and ends with `*** End Patch`"
    )]
    NoPatch,
    /// A line makes no sense where it is.
    #[error("line {line} of the patch, `{text}`: {expected}")]
    Line {
        /// Number in the text that was sent.
        line: usize,
        /// The line.
        text: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A file to change is not there.
    #[error("{path}: there is no such file; use `*** Add File: {path}` for a new one, or correct the path")]
    Missing {
        /// The file.
        path: String,
    },
    /// A new file is there already.
    #[error("{path}: exists already; use `*** Update File: {path}`, or delete it in the same patch first")]
    Exists {
        /// The file.
        path: String,
    },
    /// A part of a file's change has no clear place.
    #[error("{path}, hunk {hunk} of {of}: {mismatch}")]
    Hunk {
        /// The file.
        path: String,
        /// Which part, from 1.
        hunk: usize,
        /// How many parts there are.
        of: usize,
        /// What is wrong with it.
        mismatch: Mismatch,
    },
    /// A part changes lines that another part changes too.
    #[error("{path}, hunk {hunk} of {of}: it changes lines that an earlier hunk changes too; join the two")]
    Overlap {
        /// The file.
        path: String,
        /// Which part, from 1.
        hunk: usize,
        /// How many parts there are.
        of: usize,
    },
    /// A file's change changes nothing.
    #[error("{path}: the patch changes nothing in it; lines to remove begin with `-`, lines to add with `+`")]
    NoChange {
        /// The file.
        path: String,
    },
}

/// Most problems told at once.
const MOST_TOLD: usize = 5;

impl PatchError {
    pub(super) fn one(problem: PatchProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the patch was not applied, no file is changed")?;
        for problem in self.problems.iter().take(MOST_TOLD) {
            write!(f, "\n{problem}")?;
        }
        match self.problems.len().saturating_sub(MOST_TOLD) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more problems"),
        }
    }
}

impl std::error::Error for PatchError {}
