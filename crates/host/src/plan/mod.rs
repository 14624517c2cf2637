//! What a run is, worked out once: everything its execution goes by, as data.
//!
//! [`crate::Host::plan`] makes a plan from what was asked, the spec, the modes and the configuration; an
//! [`crate::Executor`] carries it out and reads none of these again. It can be written down, sent and read back. What only
//! holds in one process comes with [`crate::RunContext`]; of credentials a plan holds names and no values.

mod cassette;
mod environment;
mod permit;
mod stored;

use std::path::PathBuf;

use holon_core::Profile;
use holon_core::config::ResolvedConfig;
use holon_core::ids::RunId;
use holon_core::manifest::{AuditHead, ErrorInfo};
use holon_core::outcome::RunStatus;
use holon_core::spec::Spec;
use holon_model::Prices;
use holon_sandbox::fallback::SandboxChoice;
use holon_sandbox::mount::{self, path::StoredPath};
use holon_sandbox::snapshot::SnapshotStrategyChoice;
use holon_supervisor::SupervisorConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::adapter::ResolvedAgent;
use crate::model::ModelRules;
use crate::run::TreeBefore;
use crate::spec_source::NamedPath;

pub use cassette::PlannedCassette;
pub use environment::PlannedEnvironment;
pub use permit::{PlannedArrivals, PlannedPermit};

/// The version of plans that are made now.
pub const PLAN_VERSION: u32 = 1;

/// A run, completely worked out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPlan {
    /// The form of this plan; one of a newer version than is known is refused.
    pub version: u32,
    /// What is done.
    #[serde(default)]
    pub work: PlannedWork,
    /// The spec, with flags laid over it.
    pub spec: Spec,
    /// The mode, narrowed by spec and flags; rights are computed from it.
    pub profile: Profile,
    /// The mode's layer of the prompt.
    pub mode_prompt: String,
    /// The agent.
    pub agent: ResolvedAgent,
    /// Canonical path of the workspace.
    #[serde(with = "mount::path")]
    #[schemars(with = "StoredPath")]
    pub workspace: PathBuf,
    /// Wanted model.
    #[serde(default)]
    pub model: Option<String>,
    /// Wanted provider.
    #[serde(default)]
    pub provider: Option<String>,
    /// A cassette that answers instead.
    #[serde(default)]
    pub replay: Option<PlannedCassette>,
    /// Figures of the model that hold whatever is known about it now: the same figures lead to the same decisions.
    #[serde(default)]
    pub figures: Option<ModelFigures>,
    /// How the run that is done once more was cut short, if it was.
    #[serde(default)]
    pub cut: Option<EarlierEnd>,
    /// The run that this one goes on with.
    #[serde(default)]
    pub goes_on: Option<RunContinuation>,
    /// Where the conversation with the model is copied to.
    #[serde(with = "mount::optional_path", default)]
    #[schemars(with = "Option<StoredPath>")]
    pub record: Option<PathBuf>,
    /// Where to copy the artifacts.
    #[serde(with = "mount::optional_path", default)]
    #[schemars(with = "Option<StoredPath>")]
    pub out: Option<PathBuf>,
    /// Context files and folders.
    #[serde(default)]
    pub context: Vec<NamedPath>,
    /// Commands the host runs on the result.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Whether commands that fit the repository's shape are run when none were asked for.
    pub auto_checks: bool,
    /// How closely the agent is watched.
    pub supervisor: SupervisorConfig,
    /// What the configuration says about the mode's models.
    pub models: ModelRules,
    /// When work that keeps failing is refused.
    #[serde(default)]
    pub breaker: BreakerLimits,
    /// What all runs of a day may cost.
    #[serde(default)]
    pub day: DayLimits,
    /// Tool servers of the native agent.
    #[serde(default)]
    pub servers: Vec<PlannedServer>,
    /// What may be reached besides the model.
    #[serde(default)]
    pub permits: Vec<PlannedPermit>,
    /// What may not come in by them.
    #[serde(default)]
    pub arrivals: PlannedArrivals,
    /// What an earlier setup left, which the run stands on.
    #[serde(default)]
    pub environment: Option<PlannedEnvironment>,
    /// Wanted walls.
    pub sandbox: SandboxChoice,
    /// Whether no walls at all are acceptable.
    #[serde(default)]
    pub accept_no_isolation: bool,
    /// Whether a person lets a mode deliver changes that throws them away as a rule.
    #[serde(default)]
    pub writes_allowed: bool,
    /// Whether this is a part of a larger piece of work, whose limits were handed down.
    #[serde(default)]
    pub part: bool,
    /// The limit of money that somebody set, in US dollars.
    #[serde(default)]
    pub money_limit: Option<f64>,
    /// Wanted snapshot.
    pub snapshot: SnapshotStrategyChoice,
    /// Paths of the workspace the agent must not see, besides those of the mode's patterns.
    #[serde(with = "mount::paths", default)]
    #[schemars(with = "Vec<StoredPath>")]
    pub hide: Vec<PathBuf>,
    /// The folder of the workspace that logs go to, when the user wants them there.
    #[serde(default)]
    pub logs: Option<String>,
    /// Whether tests and what else defines checks may change.
    #[serde(default)]
    pub tests_may_change: bool,
    /// Where else the runners of checks may write reports.
    #[serde(default)]
    pub check_reports: Vec<String>,
    /// Whether a patch touching Holon's, CI's or an agent's files is fine.
    #[serde(default)]
    pub allow_sensitive: bool,
    /// Whether to apply the patch when the run succeeds.
    #[serde(default)]
    pub apply: bool,
    /// Whether to hash the whole workspace before and after.
    #[serde(default)]
    pub verify_full: bool,
    /// Whether to keep the snapshot.
    #[serde(default)]
    pub keep: bool,
    /// Where the audit log ended when the run was let in.
    #[serde(default)]
    pub audit: Option<AuditHead>,
    /// Where each effective value comes from.
    #[serde(default)]
    pub sources: Vec<PlannedValue>,
    /// Things to tell the user.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What a run does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PlannedWork {
    /// An agent works, and what it hands over is checked.
    #[default]
    Agent,
    /// The checks run on the workspace as it is, and no agent is started.
    Checks {
        /// The tree the workspace was made from, by which they are judged, too.
        before: Option<TreeBefore>,
    },
    /// The commands of a setup run, and what they leave is kept; no agent is started.
    Setup {
        /// What is made.
        environment: PlannedEnvironment,
    },
}

/// What is known about a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFigures {
    /// Tokens it can take.
    pub window: u64,
    /// What it costs.
    #[serde(default)]
    pub prices: Option<Prices>,
}

/// How a run ended that is done once more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierEnd {
    /// What happened to it.
    pub status: RunStatus,
    /// Why.
    pub error: ErrorInfo,
}

/// A run that another one goes on with: its conversation, its supervisor's state and its changes so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunContinuation {
    /// The run before.
    pub run: RunId,
    /// Its folder in the run store.
    #[serde(with = "mount::path")]
    #[schemars(with = "StoredPath")]
    pub folder: PathBuf,
    /// What the agent is told first.
    pub message: String,
}

/// A tool server; the values of its variables stay in the user's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedServer {
    /// Its name.
    pub name: String,
    /// Program and arguments, inside the walls.
    pub argv: Vec<String>,
    /// Names of the variables it is given.
    #[serde(default)]
    pub variables: Vec<String>,
}

/// When work that keeps failing is refused; the usual limits where nobody says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakerLimits {
    /// Failures in a row.
    #[serde(default)]
    pub failures: Option<u64>,
    /// Seconds before one trial is let through.
    #[serde(default)]
    pub cool_down_seconds: Option<u64>,
}

/// What all runs of one day may cost, whatever the workspace; nothing is bounded that is not given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayLimits {
    /// US dollars.
    #[serde(default)]
    pub usd: Option<f64>,
    /// Tokens, in and out.
    #[serde(default)]
    pub tokens: Option<u64>,
}

impl DayLimits {
    /// From a configuration.
    pub fn of(config: &ResolvedConfig) -> Self {
        Self { usd: config.amount("budget.day_usd"), tokens: config.number("budget.day_tokens") }
    }
}

/// An effective value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedValue {
    /// Its name.
    pub name: String,
    /// What it is.
    pub value: String,
    /// A flag, a file or a default.
    pub source: String,
}

impl RunPlan {
    /// The same run without an agent: only its checks, on the workspace as it is. With `before`, they are also judged by
    /// what they say of the tree the workspace was made from. Nothing is handed over, kept or brought in.
    #[must_use]
    pub fn only_checks(mut self, before: Option<TreeBefore>) -> Self {
        self.profile.artifacts.required.clear();
        (self.out, self.record, self.apply) = (None, None, false);
        self.work = PlannedWork::Checks { before };
        self
    }

    /// Whether a model, a provider or a cassette is named.
    pub fn names_model(&self) -> bool {
        self.model.is_some() || self.provider.is_some() || self.replay.is_some()
    }
}

/// The JSON Schema of plans.
pub fn schema() -> serde_json::Value {
    schemars::SchemaGenerator::default().into_root_schema_for::<RunPlan>().to_value()
}

#[cfg(test)]
mod tests;
