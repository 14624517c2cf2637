//! The `[supervisor]` section: every number a rule uses, with its default.

mod read;
mod tighten;

use serde::{Deserialize, Serialize};

use crate::level::Level;

/// Everything that can be set about supervision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// L0.
    pub level: Level,
    /// Whether the level only watches: decided and logged beside a run that is left alone.
    pub shadow: bool,
    /// When a run is forced, and when it is let go.
    pub mode: ModeConfig,
    /// What adaptive needs to take over.
    pub adaptive_free: AdaptiveFree,
    /// What strict does more.
    pub strict: Strict,
    /// When behaviour counts as a deviation.
    pub triggers: Triggers,
    /// How long a takeover may last.
    pub takeover: Takeover,
    /// How often the same thing may be tried on one branch.
    pub budget: BudgetLimits,
    /// What a snapshot must be worth.
    pub snapshot: SnapshotConfig,
    /// How much is said in free.
    pub hints: Hints,
}

/// `[supervisor.mode]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeConfig {
    /// So many open steps of the main branch force.
    pub pending_steps: u32,
    /// So many files may be written in one round, and by one call in forced without a graph.
    pub write_targets: u32,
    /// More changed lines than this since the last switch force.
    pub diff_lines: u32,
    /// So many rounds in a row with new evidence are needed to be let go.
    pub stable_rounds: u32,
    /// Forced lasts at least so many rounds.
    pub lock_rounds: u32,
    /// So many rounds in forced must have done something.
    pub forced_min_dwell_rounds: u32,
}

/// `[supervisor.adaptive_free]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveFree {
    /// From this risk on a signal is enough to take over.
    pub risk_threshold: f64,
}

/// `[supervisor.strict]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strict {
    /// Whether the graph is there from the first round on.
    pub first_round_graph: bool,
}

/// `[supervisor.triggers]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggers {
    /// The same failure so often.
    pub tool_repeat_fail: u32,
    /// So many rounds without new evidence.
    pub no_progress: u32,
    /// The same file edited so often with no check turning greener.
    pub file_loop: u32,
    /// Two calls in turn, so many times.
    pub alternation: u32,
    /// So many rounds that only changed files outside of the named area.
    pub goal_drift_rounds: u32,
    /// More files changed than the named ones times this.
    pub scope_creep_factor: f64,
}

/// `[supervisor.takeover]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Takeover {
    /// Clean rounds in a row before handing back is considered.
    pub stability_window: u32,
    /// Rounds after handing back in which only strong signals count.
    pub cooldown_rounds: u32,
    /// Rounds a takeover may last.
    pub max_rounds: u32,
    /// Share of the run's tokens a takeover may use.
    pub token_ratio: f64,
    /// By how much verified progress extends both, once.
    pub extension: f64,
}

/// `[supervisor.budget]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetLimits {
    /// Edits of one file without a passing check in between.
    pub file_edits: u32,
    /// Failures of one command.
    pub command_retries: u32,
    /// Occurrences of one error.
    pub error_repeats: u32,
}

/// `[supervisor.snapshot]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotConfig {
    /// Below this trust no graph is rebuilt from the snapshot.
    pub template_graph_min: f64,
}

/// `[supervisor.hints]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    /// Hints per run while the model leads.
    pub free_max_per_run: u32,
}

impl Default for ModeConfig {
    fn default() -> Self {
        Self {
            pending_steps: 2,
            write_targets: 1,
            diff_lines: 200,
            stable_rounds: 2,
            lock_rounds: 2,
            forced_min_dwell_rounds: 1,
        }
    }
}

impl Default for AdaptiveFree {
    fn default() -> Self {
        Self { risk_threshold: 0.5 }
    }
}

impl Default for Strict {
    fn default() -> Self {
        Self { first_round_graph: true }
    }
}

impl Default for Triggers {
    fn default() -> Self {
        Self {
            tool_repeat_fail: 3,
            no_progress: 4,
            file_loop: 4,
            alternation: 3,
            goal_drift_rounds: 3,
            scope_creep_factor: 2.0,
        }
    }
}

impl Default for Takeover {
    fn default() -> Self {
        Self { stability_window: 3, cooldown_rounds: 3, max_rounds: 8, token_ratio: 0.3, extension: 0.5 }
    }
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self { file_edits: 3, command_retries: 2, error_repeats: 3 }
    }
}

impl Default for SnapshotConfig {
    fn default() -> Self {
        Self { template_graph_min: 0.65 }
    }
}

impl Default for Hints {
    fn default() -> Self {
        Self { free_max_per_run: 3 }
    }
}

/// Why a `[supervisor]` section was refused; supervision is never switched off because of it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
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

impl ConfigError {
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
