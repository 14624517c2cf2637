//! The `[supervisor]` section: every number a rule uses, with its default.

mod read;
mod tighten;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::read::ConfigField;
use crate::level::SupervisorLevel;
pub use crate::signal::Triggers;

/// Everything that can be set about supervision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SupervisorConfig")]
pub struct SupervisorConfig {
    /// L0.
    pub level: SupervisorLevel,
    /// Whether the level only watches: decided and logged beside a run that is left alone.
    pub shadow: bool,
    /// Whether a plan's steps are closed to what is not theirs.
    pub contracts: ContractMode,
    /// When behaviour counts as a deviation.
    pub triggers: Triggers,
    /// What has to come after a notice and after advice.
    pub ladder: EscalationRounds,
    /// How long a takeover may last.
    pub takeover: TakeoverConfig,
    /// What strict does more.
    pub strict: StrictConfig,
    /// What a snapshot must be worth.
    pub snapshot: SnapshotConfig,
}

/// What the steps of a plan mean for calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SupervisorContracts")]
pub enum ContractMode {
    /// A step says what ends it; every tool stays open.
    #[default]
    Advise,
    /// A step lets only its own tools through, except while a check is red.
    Enforce,
}

impl ContractMode {
    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "advise" => Some(Self::Advise),
            "enforce" => Some(Self::Enforce),
            _ => None,
        }
    }
}

/// `[supervisor.ladder]`: rounds of further evidence that the next step up needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SupervisorLadder")]
pub struct EscalationRounds {
    /// From a notice to advice.
    pub advice: u32,
    /// From advice to a takeover.
    pub takeover: u32,
}

/// `[supervisor.takeover]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SupervisorTakeover")]
pub struct TakeoverConfig {
    /// Clean rounds in a row before handing back is considered.
    pub stability_window: u32,
    /// Rounds after handing back in which only strong signals count.
    pub cooldown_rounds: u32,
    /// Rounds without progress a takeover may last.
    pub max_rounds: u32,
    /// Share of the run's tokens such rounds may use.
    pub token_ratio: f64,
    /// By how much verified progress extends both, once.
    pub extension: f64,
}

/// `[supervisor.strict]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SupervisorStrict")]
pub struct StrictConfig {
    /// Whether the graph is there from the first round on.
    pub first_round_graph: bool,
    /// After so many rounds with changes a check is run where none has.
    pub check_rounds: u32,
    /// Rounds without progress a takeover may last.
    pub max_rounds: u32,
}

/// `[supervisor.snapshot]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SupervisorSnapshot")]
pub struct SnapshotConfig {
    /// Below this trust no graph is rebuilt from the snapshot.
    pub template_graph_min: f64,
}

impl Default for EscalationRounds {
    fn default() -> Self {
        Self { advice: 2, takeover: 3 }
    }
}

impl Default for TakeoverConfig {
    fn default() -> Self {
        Self { stability_window: 3, cooldown_rounds: 3, max_rounds: 8, token_ratio: 0.3, extension: 0.5 }
    }
}

impl Default for StrictConfig {
    fn default() -> Self {
        Self { first_round_graph: true, check_rounds: 4, max_rounds: 6 }
    }
}

impl Default for SnapshotConfig {
    fn default() -> Self {
        Self { template_graph_min: 0.65 }
    }
}

/// Why a `[supervisor]` section was refused; supervision is never switched off because of it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SupervisorConfigError {
    /// There is no such key.
    #[error("`{key}` is not a key of the supervisor{hint}; known: {known}")]
    Unknown {
        /// The whole key.
        key: String,
        /// What may have been meant.
        hint: String,
        /// The keys there are.
        known: String,
    },
    /// The value does not fit.
    #[error("`{key}` is {found}; write {expected}")]
    Value {
        /// The whole key.
        key: String,
        /// What was written.
        found: String,
        /// What can be written.
        expected: String,
    },
    /// Two values contradict each other.
    #[error("`{key}`: {why}")]
    Contradiction {
        /// The whole key.
        key: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The text is no TOML.
    #[error("the supervisor's configuration cannot be read: {0}")]
    Syntax(String),
}

impl SupervisorConfigError {
    /// The key at fault, when it is one key.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Unknown { key, .. } | Self::Value { key, .. } | Self::Contradiction { key, .. } => {
                Some(key)
            }
            Self::Syntax(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
