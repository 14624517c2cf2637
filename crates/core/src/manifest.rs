//! `manifest.json`: what the host says about a run, always written, also when everything else failed.

mod audit;
mod claim;
mod environment;
mod flow;
mod network;
mod verification;

pub use audit::{AuditHead, EthicsOverride};
pub use claim::AdapterClaim;
pub use environment::EnvironmentUse;
pub use flow::{ContextFile, DecidedBy, FlowGate, FlowInfo, FlowRound, FlowStep, GateDecision, StepProgress};
pub use network::{NetworkHost, NetworkPackage, NetworkRecord};
pub use verification::{
    CaseCounts, CaseDifferences, ChangedDefinition, CheckOrigin, CheckRecord, CheckVerdict, ComparisonRun,
    DefinitionKind, VerificationReport, VerificationState,
};

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::RunId;
use crate::mode::ModelPolicy;
use crate::outcome::{RunOutcome, RunStatus};
use crate::release::ReleaseOverride;
use crate::sandbox::{EnforcementRecord, IsolationLevel};

/// The version of the manifest's form.
pub const SCHEMA_VERSION: &str = "1";

/// One run, as the host saw and verified it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of this form.
    pub schema_version: String,
    /// The run.
    pub run_id: RunId,
    /// What happened to the execution.
    pub status: RunStatus,
    /// What the result is worth.
    pub outcome: RunOutcome,
    /// Exit code of `holon run`.
    pub exit_code: u8,
    /// Canonical mode name.
    pub mode: String,
    /// RFC 3339 time the run began.
    pub started_at: String,
    /// Wall time of the whole run.
    pub duration_ms: u64,
    /// Wall time of each phase that ran, in order.
    #[serde(default)]
    pub phases: BTreeMap<RunPhase, PhaseTiming>,
    /// True when the agent changed nothing that could be delivered.
    #[serde(default)]
    pub no_changes: bool,
    /// Every file in the output folder that the host checked.
    #[serde(default)]
    pub artifacts: Vec<ArtifactRecord>,
    /// Everything about how the run was made.
    #[serde(default)]
    pub metadata: RunMetadata,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// Walls that did not hold; never empty in a success.
    #[serde(default)]
    pub breaches: Vec<SandboxBreach>,
}

impl Manifest {
    /// A manifest of a run that has only begun: failed until proven otherwise.
    pub fn begun(run_id: RunId, mode: impl Into<String>, started_at: impl Into<String>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            run_id,
            status: RunStatus::Interrupted,
            outcome: RunOutcome::Failure,
            exit_code: RunOutcome::Failure.exit_code(),
            mode: mode.into(),
            started_at: started_at.into(),
            duration_ms: 0,
            phases: BTreeMap::new(),
            no_changes: false,
            artifacts: Vec::new(),
            metadata: RunMetadata::default(),
            error: None,
            breaches: Vec::new(),
        }
    }

    /// Sets status and outcome, with the exit code that belongs to it; a breach turns success into failure.
    pub fn conclude(&mut self, status: RunStatus, outcome: RunOutcome) {
        self.status = status;
        self.outcome = if self.breaches.is_empty() { outcome } else { RunOutcome::Failure };
        self.exit_code = self.outcome.exit_code();
    }

    /// Pretty JSON with a final newline, fields always in the same order.
    pub fn to_json(&self) -> String {
        // Serialising plain data with string keys cannot fail; an empty object would still be valid JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_else(|_| "{}".to_owned());
        text.push('\n');
        text
    }
}

/// The seven phases of a run, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// Mode to profile, spec, flags and model.
    Resolve,
    /// Input folder and prompts.
    Prepare,
    /// What the agent will see of the workspace.
    Snapshot,
    /// The agent behind the walls.
    Execute,
    /// The patch and the files it left.
    Collect,
    /// Schemas, lines, digests, checks.
    Verify,
    /// Copying out, manifest, exit code.
    Seal,
}

impl RunPhase {
    /// All phases in the order they run.
    pub const ALL: [Self; 7] = [
        Self::Resolve,
        Self::Prepare,
        Self::Snapshot,
        Self::Execute,
        Self::Collect,
        Self::Verify,
        Self::Seal,
    ];

    /// The name used in events and manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Prepare => "prepare",
            Self::Snapshot => "snapshot",
            Self::Execute => "execute",
            Self::Collect => "collect",
            Self::Verify => "verify",
            Self::Seal => "seal",
        }
    }
}

impl fmt::Display for RunPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How long a phase took and whether it did its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTiming {
    /// Wall time.
    pub duration_ms: u64,
    /// False when the phase failed.
    pub ok: bool,
}

/// One checked file of the output folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactRecord {
    /// Path relative to the output folder.
    pub path: String,
    /// Digest of its bytes; absent when the file is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the mode or the spec demanded it.
    pub required: bool,
    /// Whether it is there and passed its checks.
    pub valid: bool,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// How the run was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunMetadata {
    /// Canonical mode name.
    pub mode: String,
    /// `read-only`, `scoped`, `scratch` or `rw`.
    pub workspace_access: String,
    /// Whether the agent's own plan mode was switched on as well.
    pub native_plan_used: bool,
    /// Whether the agent's own review mode was switched on as well.
    pub native_review_used: bool,
    /// The agent.
    pub agent: AgentInfo,
    /// The adapter that drove it.
    pub adapter: String,
    /// The model, when the host chose one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelInfo>,
    /// The walls.
    pub sandbox: SandboxInfo,
    /// What an earlier setup had left for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentUse>,
    /// What the run reached by permits, and what it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRecord>,
    /// What the agent saw as the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotInfo>,
    /// Files handed to the agent beside its goal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextFile>,
    /// Digest over all prompt layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts_sha256: Option<String>,
    /// Tokens and money.
    pub usage: UsageTotals,
    /// Size of the delivered change.
    pub changes: ChangeSize,
    /// What the host checked of the result, and what it was only told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationReport>,
    /// The steps, when this is a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowInfo>,
    /// What the supervisor did; its form belongs to the supervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<serde_json::Value>,
    /// The end of the audit log when this was written; a log without it is not the one that was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditHead>,
    /// Who let the result out although the assessment of its risks blocked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethics_override: Option<EthicsOverride>,
    /// What was held by the release gate and let pass by people, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<ReleaseOverride>,
    /// The flow or orchestration this run is a part of; it may not leave without its whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_of: Option<RunId>,
    /// Rights taken by explicit flags, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// What the agent asks a person, when it ended by asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Things worth knowing that did not change the outcome.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Which agent ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// Its version, when it told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Which model answered, and why that one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelInfo {
    /// Who serves it.
    pub provider: String,
    /// Its name there.
    pub id: String,
    /// The reason it was chosen.
    pub why: String,
    /// Where it was asked, as `host:port`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What it was chosen from; absent when somebody named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<ModelSelection>,
    /// Who answered in its place, because it was gone or declined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<ModelReplacement>,
}

/// A model that answered in place of the one that was chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelReplacement {
    /// Its name.
    pub id: String,
    /// What the one that was chosen said.
    pub why: String,
}

/// How a model was chosen among others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelSelection {
    /// What it is for.
    pub intent: String,
    /// How it was chosen.
    pub policy: ModelPolicy,
    /// Where the figures are from, and how old they are.
    pub figures: String,
    /// The best that could have been taken, best first.
    pub candidates: Vec<ModelCandidate>,
    /// How many could have been taken.
    pub fitting: usize,
    /// How many could not.
    pub rejected: usize,
}

/// A model that could have been taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelCandidate {
    /// Its id.
    pub id: String,
    /// Points of 1000.
    pub score: u32,
    /// What the points are for.
    pub why: String,
}

/// The walls of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxInfo {
    /// `native`, `oci`, `none` …
    pub backend: String,
    /// Rung of the ladder that was reached.
    pub level: IsolationLevel,
    /// What held, layer by layer.
    pub enforced: EnforcementRecord,
}

/// What the patch is relative to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SnapshotInfo {
    /// `overlay`, `reflink`, `copy` or `read-only`.
    pub strategy: String,
    /// The commit the working tree was at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    /// The branch or ref name, when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Whether there was uncommitted work in the files that were looked at.
    pub dirty: DirtyState,
    /// How many of those files had uncommitted work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_files: Option<u64>,
    /// Which files were looked at.
    pub dirty_among: DirtyScope,
    /// Digest of each touched file as it was before; null where there was none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub touched: BTreeMap<String, Option<String>>,
}

/// Whether the workspace had uncommitted work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirtyState {
    /// It had.
    Yes,
    /// It had not.
    No,
    /// Finding out would have cost too much, or there is no repository.
    #[default]
    Unknown,
}

/// Which files were looked at for uncommitted work: looking at all of a large tree would cost more than the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirtyScope {
    /// None.
    #[default]
    Nothing,
    /// Those the agent changed.
    Touched,
    /// All that the repository tracks.
    Tracked,
}

/// Tokens and money, as counted by the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UsageTotals {
    /// Input tokens.
    pub input: u64,
    /// Input tokens that were served from a cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
    /// Cost, when prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Size of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChangeSize {
    /// Files changed, added or removed.
    pub files: u64,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Changed files left out because the base's ignore rules cover them.
    pub ignored: u64,
}

/// Why a run did not succeed, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorInfo {
    /// A stable short word, e.g. `artifact_missing`.
    pub kind: String,
    /// What happened.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ErrorInfo {
    /// An error without a hint.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: kind.into(), message: message.into(), hint: None }
    }

    /// The same with a remedy.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A wall that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxBreach {
    /// A stable short word, e.g. `workspace_changed`.
    pub kind: String,
    /// What was seen.
    pub detail: String,
    /// The paths concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> Manifest {
        let mut m = Manifest::begun(RunId::from_parts(0, [0; 4]), "plan", "1970-01-01T00:00:00Z");
        for phase in RunPhase::ALL {
            m.phases.insert(phase, PhaseTiming { duration_ms: 1, ok: true });
        }
        m
    }

    #[test]
    fn inv_03_a_begun_run_counts_as_failed() {
        let m = sample();
        assert_eq!((m.status, m.outcome, m.exit_code), (RunStatus::Interrupted, RunOutcome::Failure, 1));
    }

    #[test]
    fn a_breach_is_never_a_success() {
        let mut m = sample();
        m.breaches.push(SandboxBreach {
            kind: "workspace_changed".into(),
            detail: String::new(),
            paths: vec![],
        });
        m.conclude(RunStatus::Completed, RunOutcome::Success);
        assert_eq!((m.outcome, m.exit_code), (RunOutcome::Failure, 1));
    }

    #[test]
    fn round_trips_in_a_fixed_order() {
        let m = sample();
        let text = m.to_json();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), m);
        let at = |needle: &str| text.find(needle).unwrap();
        assert!(
            at("schema_version") < at("run_id")
                && at("run_id") < at("metadata")
                && at("metadata") < at("breaches")
        );
        let order: Vec<usize> = RunPhase::ALL.iter().map(|p| at(&format!("\"{p}\": {{"))).collect();
        assert!(order.is_sorted(), "{order:?}");
        assert!(text.ends_with("}\n"));
    }
}
