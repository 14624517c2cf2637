//! Which way to make a snapshot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Error;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SnapshotChoice")]
pub enum StrategyChoice {
    /// The cheapest that works.
    #[default]
    Auto,
    /// Overlay or an error.
    Overlay,
    /// A copy that shares blocks where it can.
    Reflink,
    /// A full copy.
    Copy,
}

/// How a snapshot was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// A merged view of the original that nobody can write to.
    ReadOnly,
    /// A merged view: the original below, writes beside it.
    Overlay,
    /// A copy that shares blocks with the original.
    Reflink,
    /// A full copy.
    Copy,
}

impl Strategy {
    /// The name used in manifests and flags.
    pub fn label(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Overlay => "overlay",
            Self::Reflink => "reflink",
            Self::Copy => "copy",
        }
    }

    /// The strategy for a choice: `writable` says whether the agent writes, `veiled` whether something must
    /// be hidden or replaced.
    pub(crate) fn choose(
        choice: StrategyChoice,
        overlay_works: bool,
        writable: bool,
        veiled: bool,
    ) -> Result<Self, Error> {
        match choice {
            StrategyChoice::Copy => Ok(Self::Copy),
            StrategyChoice::Reflink => Ok(Self::Reflink),
            StrategyChoice::Auto | StrategyChoice::Overlay if !writable && !veiled && overlay_works => {
                Ok(Self::ReadOnly)
            }
            StrategyChoice::Auto | StrategyChoice::Overlay if overlay_works => Ok(Self::Overlay),
            StrategyChoice::Overlay => Err(Error::NoOverlay),
            StrategyChoice::Auto => Ok(Self::Reflink),
        }
    }
}
