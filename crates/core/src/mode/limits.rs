//! The resources a run may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::HumanDuration;

/// Hard limits of a run; the host enforces each, none is infinite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunLimits {
    /// Turns of the model.
    pub rounds: u64,
    /// Wall time of the agent, repair round included.
    pub timeout: HumanDuration,
    /// Longest time without any sign of life.
    pub idle_timeout: HumanDuration,
    /// Money.
    pub cost_usd: f64,
    /// Everything in the output folder, in MiB.
    pub output_mb: u64,
    /// Memory of all processes together, in MiB.
    pub memory_mb: u64,
    /// Processes and threads alive at once.
    pub processes: u64,
    /// Bytes written outside the output folder, in MiB.
    pub disk_mb: u64,
    /// Files created.
    pub files: u64,
}

impl RunLimits {
    /// Names and values of the whole-number limits, for comparing and printing.
    pub fn counts(&self) -> [(&'static str, u64); 6] {
        [
            ("rounds", self.rounds),
            ("output_mb", self.output_mb),
            ("memory_mb", self.memory_mb),
            ("processes", self.processes),
            ("disk_mb", self.disk_mb),
            ("files", self.files),
        ]
    }
}

impl Default for RunLimits {
    /// What a mode gets when neither it nor an ancestor says otherwise.
    fn default() -> Self {
        Self {
            rounds: 50,
            timeout: HumanDuration::from_secs(20 * 60),
            idle_timeout: HumanDuration::from_secs(10 * 60),
            cost_usd: 1.0,
            output_mb: 64,
            memory_mb: 4096,
            processes: 512,
            disk_mb: 4096,
            files: 200_000,
        }
    }
}
