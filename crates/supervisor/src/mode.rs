//! L1: free or forced. One decider, one writer: [`ModeState::decide`] is the only place that changes the mode.

use serde::{Deserialize, Serialize};

use crate::config::ModeConfig;
use crate::level::Level;

/// How much the rules bind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The model leads.
    #[default]
    Free,
    /// Budget, tiers and contracts are in force.
    Forced,
}

/// Why a run is forced, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// A stored state goes on.
    CheckpointResumed,
    /// There is a plan under way.
    TaskGraphActive,
    /// A branch was given up.
    BranchSwitched,
    /// Several steps of the main branch are open.
    PendingSteps,
    /// A call failed.
    ToolFailure,
    /// Several files were written in one round.
    MultiWrite,
    /// Much changed since the last switch.
    LargeDiff,
    /// An edit is due, or the level demands it.
    ExplicitImpl,
    /// The supervisor has taken over.
    Takeover,
    /// The loop around the supervisor failed.
    EngineFailSafe,
}

impl Signal {
    const ALL: [Self; 10] = [
        Self::CheckpointResumed,
        Self::TaskGraphActive,
        Self::BranchSwitched,
        Self::PendingSteps,
        Self::ToolFailure,
        Self::MultiWrite,
        Self::LargeDiff,
        Self::ExplicitImpl,
        Self::Takeover,
        Self::EngineFailSafe,
    ];
}

/// A set of signals, always in order of precedence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Signal>", into = "Vec<Signal>")]
pub struct Signals(u16);

impl Signals {
    /// Adds one.
    pub fn add(&mut self, signal: Signal) {
        self.0 |= 1 << signal as u16;
    }

    /// Whether it is in.
    pub const fn has(self, signal: Signal) -> bool {
        self.0 & (1 << signal as u16) != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// All of them, highest first.
    pub fn list(self) -> Vec<Signal> {
        Signal::ALL.into_iter().filter(|signal| self.has(*signal)).collect()
    }
}

impl From<Vec<Signal>> for Signals {
    fn from(list: Vec<Signal>) -> Self {
        let mut signals = Self::default();
        list.into_iter().for_each(|signal| signals.add(signal));
        signals
    }
}

impl From<Signals> for Vec<Signal> {
    fn from(signals: Signals) -> Self {
        signals.list()
    }
}

/// What the decider looks at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions {
    pub level: Level,
    /// A plan is under way.
    pub graph_active: bool,
    /// Open steps of its main branch.
    pub open_steps: u32,
    /// One of them is an edit, or a write is on its way.
    pub planned_writes: bool,
    /// One of them is an edit.
    pub open_edit: bool,
    /// The supervisor leads.
    pub takeover: bool,
    /// Recovery has not ended.
    pub recovering: bool,
    /// Branches given up and not made good.
    pub debt: u32,
    /// Lines changed so far in the run.
    pub diff_lines: u32,
    /// Whether a round is under way: it is not one of those the lock counts.
    pub in_round: bool,
    /// Set when a round has just ended.
    pub round: Option<RoundFacts>,
}

/// What the round that just ended was like.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundFacts {
    /// Something was done: a call succeeded, a step moved, a file changed.
    pub task_bearing: bool,
    /// Something new is known.
    pub evidence: bool,
}

/// The mode changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// What holds now.
    pub mode: Mode,
    /// Every signal behind it, highest first; empty when let go.
    pub entered_by: Vec<Signal>,
    /// In words.
    pub reason: String,
}

/// L1 and what it remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeState {
    mode: Mode,
    entered_by: Signals,
    raised: Signals,
    lock: u32,
    dwell: u32,
    stable: u32,
    diff_base: u32,
}

impl ModeState {
    /// What holds.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the rules bind.
    pub const fn is_forced(&self) -> bool {
        matches!(self.mode, Mode::Forced)
    }

    /// Why it is forced, all causes since it was entered.
    pub fn entered_by(&self) -> Vec<Signal> {
        self.entered_by.list()
    }

    /// Submits a signal; it counts at the next decision and changes nothing before.
    pub fn raise(&mut self, signal: Signal) {
        self.raised.add(signal);
    }

    /// Decides. Called at the end of every round, and at once for a start, a resume, a takeover and an engine error.
    pub(crate) fn decide(&mut self, now: &Conditions, config: &ModeConfig) -> Option<Switch> {
        if !now.level.decides_mode() {
            self.raised = Signals::default();
            return None;
        }
        if let Some(round) = now.round {
            self.lock = self.lock.saturating_sub(1);
            self.dwell = self.dwell.saturating_add(u32::from(round.task_bearing));
            self.stable = if round.evidence { self.stable.saturating_add(1) } else { 0 };
        }
        let signals = self.signals(now, config);
        self.raised = Signals::default();
        match self.mode {
            Mode::Free if !signals.is_empty() => Some(self.enter(signals, now, config)),
            Mode::Free => None,
            Mode::Forced => {
                self.entered_by = self.entered_by.with(signals);
                (signals.is_empty() && self.may_leave(now, config)).then(|| self.leave(now))
            }
        }
    }

    fn signals(&mut self, now: &Conditions, config: &ModeConfig) -> Signals {
        let mut signals = self.raised;
        let mut add_if = |holds: bool, signal: Signal| {
            if holds {
                signals.add(signal);
            }
        };
        add_if(now.graph_active, Signal::TaskGraphActive);
        add_if(now.open_steps >= config.pending_steps, Signal::PendingSteps);
        add_if(now.open_edit || now.level.floor_is_forced(), Signal::ExplicitImpl);
        add_if(now.takeover, Signal::Takeover);
        let grown = now.diff_lines.saturating_sub(self.diff_base);
        if grown > config.diff_lines {
            // Told once per so many lines: a large diff that stays as it is must not hold forced for ever.
            self.diff_base = now.diff_lines;
            signals.add(Signal::LargeDiff);
        }
        signals
    }

    fn may_leave(&self, now: &Conditions, config: &ModeConfig) -> bool {
        now.round.is_some()
            && self.lock == 0
            && self.dwell >= config.forced_min_dwell_rounds
            && now.open_steps == 0
            && !now.planned_writes
            && self.stable >= config.stable_rounds
            && !now.recovering
            && now.debt == 0
            && !now.level.floor_is_forced()
    }

    fn enter(&mut self, signals: Signals, now: &Conditions, config: &ModeConfig) -> Switch {
        self.mode = Mode::Forced;
        self.entered_by = signals;
        self.lock = config.lock_rounds + u32::from(now.in_round);
        self.dwell = 0;
        self.stable = 0;
        self.diff_base = now.diff_lines;
        let first = signals.list().first().map_or_else(String::new, |signal| format!("{signal:?}"));
        Switch { mode: Mode::Forced, entered_by: signals.list(), reason: format!("enter:{}", snake(&first)) }
    }

    fn leave(&mut self, now: &Conditions) -> Switch {
        self.mode = Mode::Free;
        self.entered_by = Signals::default();
        self.diff_base = now.diff_lines;
        Switch { mode: Mode::Free, entered_by: Vec::new(), reason: "exit:stable".to_owned() }
    }
}

/// `ToolFailure` as `tool_failure`.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const GOOD: RoundFacts = RoundFacts { task_bearing: true, evidence: true };

    fn calm() -> Conditions {
        Conditions { level: Level::Adaptive, round: Some(GOOD), ..Conditions::default() }
    }

    fn forced(signal: Signal) -> ModeState {
        let mut state = ModeState::default();
        state.raise(signal);
        assert!(state.decide(&calm(), &ModeConfig::default()).is_some());
        state
    }

    /// Rounds of the given kind until it is free, at most 12.
    fn rounds_to_leave(state: &mut ModeState, now: &Conditions, config: &ModeConfig) -> Option<u32> {
        (1..=12).find(|_| state.decide(now, config).is_some_and(|switch| switch.mode == Mode::Free))
    }

    #[test]
    fn each_raised_signal_enters_and_is_named() {
        for signal in [
            Signal::CheckpointResumed,
            Signal::BranchSwitched,
            Signal::ToolFailure,
            Signal::MultiWrite,
            Signal::EngineFailSafe,
        ] {
            let mut state = ModeState::default();
            assert_eq!(state.decide(&calm(), &ModeConfig::default()), None);
            state.raise(signal);
            assert_eq!(state.mode(), Mode::Free, "raising decides nothing");
            let switch = state.decide(&calm(), &ModeConfig::default()).unwrap();
            assert_eq!((switch.mode, switch.entered_by.as_slice()), (Mode::Forced, &[signal][..]));
            assert_eq!(state.entered_by(), [signal]);
        }
    }

    #[test]
    fn each_condition_enters_at_its_limit_and_not_before() {
        let config = ModeConfig::default();
        let check = |now: Conditions, expect: &[Signal]| {
            let mut state = ModeState::default();
            let found = state.decide(&now, &config).map(|switch| switch.entered_by).unwrap_or_default();
            assert_eq!(found, expect, "{now:?}");
        };
        check(calm(), &[]);
        check(Conditions { open_steps: 1, ..calm() }, &[]);
        check(Conditions { open_steps: 2, ..calm() }, &[Signal::PendingSteps]);
        check(Conditions { diff_lines: 200, ..calm() }, &[]);
        check(Conditions { diff_lines: 201, ..calm() }, &[Signal::LargeDiff]);
        check(Conditions { graph_active: true, ..calm() }, &[Signal::TaskGraphActive]);
        check(Conditions { open_edit: true, ..calm() }, &[Signal::ExplicitImpl]);
        check(Conditions { takeover: true, ..calm() }, &[Signal::Takeover]);
        check(Conditions { level: Level::Strict, ..calm() }, &[Signal::ExplicitImpl]);
        check(Conditions { debt: 1, recovering: true, planned_writes: true, ..calm() }, &[]);
        let off =
            Conditions { level: Level::Off, open_steps: 9, takeover: true, graph_active: true, ..calm() };
        check(off, &[]);
        check(
            Conditions { graph_active: true, open_steps: 3, open_edit: true, ..calm() },
            &[Signal::TaskGraphActive, Signal::PendingSteps, Signal::ExplicitImpl],
        );
    }

    #[test]
    fn the_reason_is_the_highest_signal() {
        let mut state = ModeState::default();
        state.raise(Signal::MultiWrite);
        state.raise(Signal::ToolFailure);
        let switch = state.decide(&calm(), &ModeConfig::default()).unwrap();
        assert_eq!(switch.reason, "enter:tool_failure");
        assert_eq!(switch.entered_by, [Signal::ToolFailure, Signal::MultiWrite]);
    }

    #[test]
    fn forced_is_left_when_all_holds_and_the_lock_is_spent() {
        let config = ModeConfig::default();
        assert_eq!(rounds_to_leave(&mut forced(Signal::ToolFailure), &calm(), &config), Some(2));
        let locked = ModeConfig { lock_rounds: 5, ..ModeConfig::default() };
        let mut state = ModeState::default();
        state.raise(Signal::ToolFailure);
        state.decide(&calm(), &locked);
        assert_eq!(rounds_to_leave(&mut state, &calm(), &locked), Some(5));
        let stable = ModeConfig { stable_rounds: 4, ..ModeConfig::default() };
        assert_eq!(rounds_to_leave(&mut forced(Signal::ToolFailure), &calm(), &stable), Some(4));
        let dwell = ModeConfig { forced_min_dwell_rounds: 6, ..ModeConfig::default() };
        assert_eq!(rounds_to_leave(&mut forced(Signal::ToolFailure), &calm(), &dwell), Some(6));
    }

    #[test]
    fn a_round_under_way_is_not_part_of_the_lock() {
        let config = ModeConfig::default();
        let mut state = ModeState::default();
        state.raise(Signal::EngineFailSafe);
        state.decide(&Conditions { in_round: true, round: None, ..calm() }, &config);
        assert_eq!(rounds_to_leave(&mut state, &calm(), &config), Some(3));
    }

    #[test]
    fn each_exit_condition_holds_it_alone() {
        let config = ModeConfig::default();
        for now in [
            Conditions { open_steps: 1, ..calm() },
            Conditions { planned_writes: true, ..calm() },
            Conditions { recovering: true, ..calm() },
            Conditions { debt: 1, ..calm() },
            Conditions { round: Some(RoundFacts { task_bearing: false, evidence: true }), ..calm() },
            Conditions { round: Some(RoundFacts { task_bearing: true, evidence: false }), ..calm() },
            Conditions { round: None, ..calm() },
            Conditions { level: Level::Strict, ..calm() },
        ] {
            let mut state = forced(Signal::ToolFailure);
            assert_eq!(rounds_to_leave(&mut state, &now, &config), None, "{now:?}");
            let left = rounds_to_leave(&mut state, &calm(), &config);
            assert!(left.is_some_and(|rounds| rounds <= 2), "{now:?}: {left:?}");
        }
    }

    #[test]
    fn evidence_has_to_come_in_a_row() {
        let config = ModeConfig::default();
        let mut state = forced(Signal::ToolFailure);
        let blank = Conditions { round: Some(RoundFacts { task_bearing: true, evidence: false }), ..calm() };
        for now in [calm(), blank, calm(), blank, calm()] {
            assert_eq!(state.decide(&now, &config), None);
        }
        assert!(state.decide(&calm(), &config).is_some());
    }

    #[test]
    fn a_signal_in_the_same_round_keeps_it_and_is_remembered() {
        let config = ModeConfig::default();
        let mut state = forced(Signal::MultiWrite);
        for _ in 0..5 {
            state.raise(Signal::ToolFailure);
            assert_eq!(state.decide(&calm(), &config), None);
        }
        assert_eq!(state.entered_by(), [Signal::ToolFailure, Signal::MultiWrite]);
        assert!(state.decide(&calm(), &config).is_some());
        assert_eq!(state.entered_by(), []);
    }

    #[test]
    fn a_large_diff_counts_from_the_last_switch() {
        let config = ModeConfig::default();
        let mut state = ModeState::default();
        let large = Conditions { diff_lines: 500, ..calm() };
        assert!(state.decide(&large, &config).is_some());
        assert_eq!(rounds_to_leave(&mut state, &large, &config), Some(2));
        assert_eq!(state.decide(&Conditions { diff_lines: 700, ..calm() }, &config), None);
        assert!(state.decide(&Conditions { diff_lines: 701, ..calm() }, &config).is_some());
    }

    #[test]
    fn a_diff_that_grew_in_forced_does_not_hold_it() {
        let config = ModeConfig::default();
        let mut state = forced(Signal::ToolFailure);
        let grown = Conditions { diff_lines: 300, ..calm() };
        assert_eq!(rounds_to_leave(&mut state, &grown, &config), Some(2));
    }

    #[test]
    fn sets_survive_storage() {
        let mut signals = Signals::default();
        signals.add(Signal::ExplicitImpl);
        signals.add(Signal::CheckpointResumed);
        let text = serde_json::to_string(&signals).unwrap();
        assert_eq!(text, r#"["checkpoint_resumed","explicit_impl"]"#);
        assert_eq!(serde_json::from_str::<Signals>(&text).unwrap(), signals);
    }
}
