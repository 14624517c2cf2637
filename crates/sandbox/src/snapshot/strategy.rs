//! Which way to make a snapshot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SnapshotError;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SnapshotChoice")]
pub enum SnapshotStrategyChoice {
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
pub enum SnapshotStrategy {
    /// A merged view of the original that nobody can write to.
    ReadOnly,
    /// A merged view: the original below, writes beside it.
    Overlay,
    /// A copy that shares blocks with the original.
    Reflink,
    /// A full copy.
    Copy,
}

impl SnapshotStrategy {
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
        choice: SnapshotStrategyChoice,
        overlay_works: bool,
        writable: bool,
        veiled: bool,
    ) -> Result<Self, SnapshotError> {
        match choice {
            SnapshotStrategyChoice::Copy => Ok(Self::Copy),
            SnapshotStrategyChoice::Reflink => Ok(Self::Reflink),
            SnapshotStrategyChoice::Auto | SnapshotStrategyChoice::Overlay
                if !writable && !veiled && overlay_works =>
            {
                Ok(Self::ReadOnly)
            }
            SnapshotStrategyChoice::Auto | SnapshotStrategyChoice::Overlay if overlay_works => {
                Ok(Self::Overlay)
            }
            SnapshotStrategyChoice::Overlay => Err(SnapshotError::NoOverlay),
            SnapshotStrategyChoice::Auto => Ok(Self::Reflink),
        }
    }
}
