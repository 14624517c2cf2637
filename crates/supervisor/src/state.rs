//! The state: everything the next decision depends on, bounded, and storable as it is.

use holon_core::ids::{CallId, RunId};
use holon_core::policy::ToolClass;
use serde::{Deserialize, Serialize};

use crate::config::{ContractMode, SupervisorConfig};
use crate::correction::CorrectionPort;
use crate::deviation::{DeviationReading, DeviationWatch};
use crate::domain::{Complexity, GoalIntent, WorkDomain};
use crate::effect::StopOrder;
use crate::event::{CheckCommand, GitState};
use crate::goal::CheckDemand;
use crate::graph::TaskGraph;
use crate::known::{CheckState, EvidenceMemory, FailedCall};
use crate::level::SupervisorLevel;
use crate::phase::{PhaseState, TakeoverPhase};
use crate::timeline::ContractForce;
use crate::verification::VerificationGate;

/// Everything the supervisor remembers of a run; moved from step to step, and the checkpoint when serialised.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupervisorState {
    pub(crate) config: SupervisorConfig,
    /// Whether decisions are only looked at, so that calls go on although they were blocked.
    pub(crate) observing: bool,
    /// Whether calls are carried out by somebody who asks nobody, so that a denial can only be told.
    #[serde(default)]
    pub(crate) foreign: bool,
    /// Whether a cause is looked for: what is changed on the way is an experiment.
    #[serde(default)]
    pub(crate) diagnosis: bool,
    pub(crate) run: Option<RunId>,
    pub(crate) goal: String,
    pub(crate) intent: GoalIntent,
    pub(crate) domain: WorkDomain,
    pub(crate) complexity: Complexity,
    pub(crate) named: Vec<String>,
    pub(crate) checks: Vec<CheckCommand>,
    pub(crate) monorepo: bool,
    pub(crate) token_limit: u64,
    pub(crate) round_limit: u32,
    pub(crate) demand: CheckDemand,
    pub(crate) tokens: u64,
    pub(crate) round: u32,
    /// The first round it was told of: a conversation counts on over its turns.
    pub(crate) first_round: u32,
    pub(crate) diff_lines: u32,
    pub(crate) phase: PhaseState,
    pub(crate) graph: Option<TaskGraph>,
    pub(crate) graphs: u32,
    pub(crate) known: EvidenceMemory,
    pub(crate) watch: DeviationWatch,
    pub(crate) port: CorrectionPort,
    pub(crate) verification: VerificationGate,
    pub(crate) pending: Vec<PendingCall>,
    pub(crate) warned: Vec<u64>,
    /// Deviations that were told and are still up, as bits.
    pub(crate) told: u16,
    /// The signals that were up last.
    pub(crate) why: Vec<DeviationReading>,
    /// Whether something may be running beside the rounds.
    pub(crate) job: bool,
    /// Rounds with changes since a check last ran.
    pub(crate) unchecked: u32,
    pub(crate) git: GitState,
    pub(crate) hashed: bool,
    pub(crate) stopped: Option<StopOrder>,
}

/// A call that was proposed and has not come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingCall {
    pub call: CallId,
    pub class: ToolClass,
    pub key: u64,
    pub tool: String,
    pub command: Option<String>,
    pub blocked: bool,
}

impl SupervisorState {
    /// The state before the first fact.
    pub fn new(config: SupervisorConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// The same for decisions that are only looked at: shadow, or a replay at another level.
    pub fn observing(config: SupervisorConfig) -> Self {
        Self { config, observing: true, ..Self::default() }
    }

    /// Whether calls are carried out whatever is decided.
    pub const fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// L0.
    pub const fn level(&self) -> SupervisorLevel {
        self.config.level
    }

    /// Whether the steps of the plan are closed.
    pub fn mode(&self) -> ContractForce {
        if self.binds() { ContractForce::Forced } else { ContractForce::Free }
    }

    /// Whether a plan is followed whose steps are closed.
    pub(crate) fn binds(&self) -> bool {
        let closes = self.config.contracts == ContractMode::Enforce && self.config.level.acts();
        closes && !self.foreign && self.graph_active()
    }

    /// L2.
    pub const fn phase(&self) -> TakeoverPhase {
        self.phase.phase()
    }

    /// L2 with its counters.
    pub const fn phase_state(&self) -> &PhaseState {
        &self.phase
    }

    /// The plan, if there is one.
    pub const fn graph(&self) -> Option<&TaskGraph> {
        self.graph.as_ref()
    }

    /// The round, from 1.
    pub const fn round(&self) -> u32 {
        self.round
    }

    /// What is known.
    pub const fn known(&self) -> &EvidenceMemory {
        &self.known
    }

    /// What kind of work it is.
    pub const fn intent(&self) -> GoalIntent {
        self.intent
    }

    /// Whether a takeover may ever happen.
    pub const fn domain(&self) -> WorkDomain {
        self.domain
    }

    /// The end, if the supervisor has ended the run.
    pub const fn stopped(&self) -> Option<&StopOrder> {
        self.stopped.as_ref()
    }

    /// Paths that goal and plan name.
    pub fn named(&self) -> &[String] {
        &self.named
    }

    /// Checks that can be run.
    pub fn checks(&self) -> &[CheckCommand] {
        &self.checks
    }

    /// The settings.
    pub const fn config(&self) -> &SupervisorConfig {
        &self.config
    }

    /// What was asked.
    pub fn goal(&self) -> &str {
        &self.goal
    }

    /// The signals that were up last.
    pub fn why(&self) -> &[DeviationReading] {
        &self.why
    }

    /// The same in words.
    pub fn noticed(&self) -> Vec<String> {
        self.why.iter().map(crate::wording::reason).collect()
    }

    pub(crate) const fn git(&self) -> GitState {
        self.git
    }

    /// Whether what a check reports is wanted whatever it said before: by the goal, or by name.
    pub(crate) fn wants(&self, check: &CheckState) -> bool {
        let asked = self.checks.iter().any(|known| known.asked && known.command == check.command);
        (asked && !self.known.is_documentation()) || self.demand.covers(&check.cases())
    }

    /// A fresh failing check with the cases that are this run's to repair.
    pub(crate) fn own_red(&self) -> Option<(&CheckState, Vec<String>)> {
        let fresh = self.known.checks().iter().rev().filter(|check| self.known.is_fresh(check));
        // What only the host has seen, and nobody can compare or wants, is the host's to compare.
        let judged = fresh
            .map(|check| (check, self.wants(check)))
            .filter(|(check, wanted)| *wanted || check.is_told());
        judged.map(|(check, wanted)| (check, check.own_cases(wanted))).find(|(_, cases)| !cases.is_empty())
    }

    /// Where no check is known: what the agent itself goes by, and fails.
    pub(crate) fn own_trial(&self) -> Option<&FailedCall> {
        // What only people read breaks nothing.
        let harmless = self.known.is_documentation() && !self.demand.all;
        if harmless || !self.checks.is_empty() || !self.known.checks().is_empty() {
            return None;
        }
        let wanted = |one: &&FailedCall| {
            !one.failed_before() || self.demand.covers(&[one.label.clone(), one.says.clone()])
        };
        self.known.trial().filter(wanted)
    }

    /// Whether the model said that it is done, was told why not, and that still holds.
    pub(crate) fn is_not_done(&self) -> bool {
        self.verification.was_told() && (self.own_red().is_some() || self.own_trial().is_some())
    }

    /// What was tried more than once on the same state, with how often.
    pub fn tried(&self) -> Vec<(&str, u32)> {
        self.known.in_vain().map(|one| (one.label.as_str(), one.count)).collect()
    }

    pub(crate) const fn watch(&self) -> &DeviationWatch {
        &self.watch
    }

    /// Whether the model's word that it is done waits for a check, to be asked about again after it.
    pub const fn waits_for_check(&self) -> bool {
        self.verification.is_looking()
    }

    /// Whether a plan is followed.
    pub fn graph_active(&self) -> bool {
        self.graph.as_ref().is_some_and(TaskGraph::is_active)
    }
}
