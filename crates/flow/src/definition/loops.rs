//! Loops: steps that are gone through again until something is so, and never more often than a bound says.

use std::fmt;

use serde::Deserialize;

/// The highest bound a loop can have.
pub const MOST_ROUNDS: u32 = 10;

/// What happens after the last step of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepLoop {
    /// The step the flow goes back to.
    pub from: String,
    /// What ends it.
    pub until: LoopGoal,
    /// How many rounds there are at most, the first one included.
    pub most: u32,
}

/// What ends a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum LoopGoal {
    /// The last step that looked for something found nothing.
    #[serde(rename = "no findings")]
    NoFindings,
    /// No step of the round changed anything.
    #[serde(rename = "no changes")]
    NoChanges,
}

impl LoopGoal {
    /// The words in a flow file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoFindings => "no findings",
            Self::NoChanges => "no changes",
        }
    }
}

impl fmt::Display for LoopGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for StepLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {} until {}, at most {} rounds", self.from, self.until, self.most)
    }
}
