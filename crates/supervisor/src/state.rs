//! The state: everything the next decision depends on, bounded, and storable as it is.

use holon_core::ids::{CallId, RunId};
use holon_core::policy::ToolClass;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::config::Config;
use crate::correction::Port;
use crate::deviation::{Reading, Watch};
use crate::domain::{Complexity, Domain, Intent};
use crate::effect::Stop;
use crate::event::{GitState, KnownCheck};
use crate::graph::TaskGraph;
use crate::known::Known;
use crate::level::Level;
use crate::mode::{Mode, ModeState, Signal};
use crate::phase::{Phase, PhaseState};
use crate::tier::{Tier, TierState};
use crate::verification::Verification;

/// Everything the supervisor remembers of a run; moved from step to step, and the checkpoint when serialised.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub(crate) config: Config,
    /// Whether decisions are only looked at, so that calls go on although they were blocked.
    pub(crate) observing: bool,
    pub(crate) run: Option<RunId>,
    pub(crate) goal: String,
    pub(crate) intent: Intent,
    pub(crate) domain: Domain,
    pub(crate) complexity: Complexity,
    pub(crate) named: Vec<String>,
    pub(crate) checks: Vec<KnownCheck>,
    pub(crate) monorepo: bool,
    pub(crate) token_limit: u64,
    pub(crate) round: u32,
    /// Whether that round is under way.
    pub(crate) in_round: bool,
    pub(crate) diff_lines: u32,
    pub(crate) mode: ModeState,
    pub(crate) phase: PhaseState,
    pub(crate) tier: TierState,
    pub(crate) budget: Budget,
    pub(crate) graph: Option<TaskGraph>,
    pub(crate) graphs: u32,
    pub(crate) known: Known,
    pub(crate) watch: Watch,
    pub(crate) port: Port,
    pub(crate) verification: Verification,
    pub(crate) pending: Vec<Pending>,
    pub(crate) warned: Vec<u64>,
    /// Deviations that were told and are still up, as bits.
    pub(crate) told: u8,
    /// Why the supervisor took over the last time.
    pub(crate) why: Vec<Reading>,
    pub(crate) git: GitState,
    pub(crate) hashed: bool,
    pub(crate) stopped: Option<Stop>,
}

/// A call that was proposed and has not come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub call: CallId,
    pub class: ToolClass,
    pub key: u64,
    pub command: Option<String>,
    pub blocked: bool,
}

impl State {
    /// The state before the first fact.
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// The same for decisions that are only looked at: shadow, or a replay at another level.
    pub fn observing(config: Config) -> Self {
        Self { config, observing: true, ..Self::default() }
    }

    /// L0.
    pub const fn level(&self) -> Level {
        self.config.level
    }

    /// L1.
    pub const fn mode(&self) -> Mode {
        self.mode.mode()
    }

    /// Why it is forced.
    pub fn entered_by(&self) -> Vec<Signal> {
        self.mode.entered_by()
    }

    /// L2.
    pub const fn phase(&self) -> Phase {
        self.phase.phase()
    }

    /// L2 with its counters.
    pub const fn phase_state(&self) -> &PhaseState {
        &self.phase
    }

    /// How much of a plan is left.
    pub const fn tier(&self) -> Tier {
        self.tier.tier()
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
    pub const fn known(&self) -> &Known {
        &self.known
    }

    /// The branch budget.
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// What kind of work it is.
    pub const fn intent(&self) -> Intent {
        self.intent
    }

    /// Whether a takeover may ever happen.
    pub const fn domain(&self) -> Domain {
        self.domain
    }

    /// The end, if the supervisor has ended the run.
    pub const fn stopped(&self) -> Option<&Stop> {
        self.stopped.as_ref()
    }

    /// Paths that goal and plan name.
    pub fn named(&self) -> &[String] {
        &self.named
    }

    /// Checks that can be run.
    pub fn checks(&self) -> &[KnownCheck] {
        &self.checks
    }

    /// The settings.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) const fn watch(&self) -> &Watch {
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
