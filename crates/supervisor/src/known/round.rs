//! What a round, or a single fact, brought.

use serde::{Deserialize, Serialize};

/// What one round brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEvidence {
    /// Something came to be known that was not: a file or a part of one, a result.
    pub news: bool,
    /// A file got a content it never had.
    pub fresh: bool,
    /// A file that was there before the run was changed for the first time.
    pub touched: bool,
    /// A file was made.
    pub created: bool,
    /// Any file was written.
    pub wrote: bool,
    /// More lines differ from the beginning than ever before.
    pub grew: bool,
    /// More lines of the beginning are gone or others than ever before.
    pub replaced: bool,
    /// A failing set or the diagnostics shrank.
    pub greener: bool,
    /// A check passed on a version no check had passed on.
    pub verified: bool,
    /// It had passed before the last change, too.
    #[serde(default)]
    pub green_again: bool,
    /// A check failed in a way that was not seen before.
    pub red_new: bool,
    /// A check failed, after changes, in a way that was seen before.
    pub red_again: bool,
    /// A call succeeded.
    pub succeeded: bool,
    /// Something was waited for.
    pub waited: bool,
    /// Calls that could not be read.
    pub malformed: u32,
}

impl RoundEvidence {
    /// Whether anything new is known.
    pub const fn is_new(&self) -> bool {
        self.news || self.fresh || self.is_progress()
    }

    /// Whether a check says that it gets better, or something else than before.
    pub const fn is_progress(&self) -> bool {
        self.greener || self.verified || self.red_new
    }

    /// Whether changes reach further than before. Where something is to be repaired, new files and more lines are not
    /// by themselves nearer to it.
    pub const fn reaches(&self, repair: bool) -> bool {
        self.touched || self.replaced || (!repair && (self.created || self.grew))
    }
}

/// What a single fact brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FactEvidence {
    pub mutations: u32,
    pub greener: bool,
    pub verified: bool,
}
