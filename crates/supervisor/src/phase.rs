//! L2: free → takeover → handoff_pending → cooldown → free, in adaptive only.

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::deviation::{Deviation, Reading};
use crate::risk;

/// Who leads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The model.
    #[default]
    Free,
    /// The supervisor.
    Takeover,
    /// The supervisor still, about to hand back.
    HandoffPending,
    /// The model again, watched for relapses only.
    Cooldown,
}

/// The phase changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseChange {
    /// What held.
    pub from: Phase,
    /// What holds.
    pub to: Phase,
    /// Why, `family:detail`.
    pub reason: String,
    /// The signals that were up.
    pub signals: Vec<Reading>,
    /// The risk, of 1000.
    pub risk: u32,
}

/// What the decider looks at, at the end of a round.
#[derive(Debug, Clone)]
pub(crate) struct Observation<'a> {
    pub readings: &'a [Reading],
    pub risk: u32,
    /// Whether the domain is critical.
    pub critical: bool,
    /// Whether the round brought something new.
    pub evidence: bool,
    /// Whether a check turned greener or passed afresh.
    pub verified: bool,
    /// Tokens of the round.
    pub tokens: u64,
    /// Most tokens of the run; 0 for no limit.
    pub token_limit: u64,
}

/// What came out of it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub changes: Vec<PhaseChange>,
    /// Which part of the recovery budget is spent: the run has to stop.
    pub spent: Option<&'static str>,
    /// The budget was extended.
    pub extended: bool,
}

/// L2 and what it remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseState {
    phase: Phase,
    clean: u32,
    cooldown: u32,
    rounds: u32,
    tokens: u64,
    extended: bool,
    takeovers: u32,
    /// Takeovers since a check last turned greener.
    fruitless: u32,
}

/// So many takeovers in a row may come to nothing.
const FRUITLESS: u32 = 2;

impl PhaseState {
    /// Who leads.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// How many takeovers there were.
    pub const fn takeovers(&self) -> u32 {
        self.takeovers
    }

    /// Rounds and tokens of this takeover's recovery budget that are used.
    pub const fn used(&self) -> (u32, u64) {
        (self.rounds, self.tokens)
    }

    /// Whether recovery has not ended.
    pub const fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Takeover | Phase::HandoffPending)
    }

    /// Rounds a takeover may last now.
    pub fn most_rounds(&self, config: &Config) -> u32 {
        let base = config.takeover.max_rounds;
        base + if self.extended { share(u64::from(base), config.takeover.extension) as u32 } else { 0 }
    }

    /// Tokens a takeover may use now; nothing without a limit of the run.
    pub fn most_tokens(&self, config: &Config, limit: u64) -> Option<u64> {
        let base = share(limit, config.takeover.token_ratio);
        let more = if self.extended { share(base, config.takeover.extension) } else { 0 };
        (limit > 0).then_some(base + more)
    }

    /// Decides at the end of a round. Levels other than adaptive stay free.
    pub(crate) fn end_round(&mut self, seen: &Observation<'_>, config: &Config) -> Outcome {
        if !config.level.takes_over() {
            return Outcome::default();
        }
        let mut out = Outcome::default();
        if seen.verified {
            self.fruitless = 0;
        }
        match self.phase {
            Phase::Free => self.consider(seen, config, &mut out),
            Phase::Takeover => self.recover(seen, config, &mut out),
            Phase::HandoffPending => self.hand_back(seen, config, &mut out),
            Phase::Cooldown => self.cool_down(seen, config, &mut out),
        }
        out
    }

    /// A person asks: between rounds too, and nothing but the level can refuse.
    pub(crate) fn force(&mut self, seen: &Observation<'_>, config: &Config) -> Outcome {
        let mut out = Outcome::default();
        if config.level.takes_over() && self.phase != Phase::Takeover {
            self.take_over("user_force_takeover", false, seen, &mut out);
        }
        out
    }

    /// Somebody has looked: the model leads, whatever was before.
    pub(crate) fn resume(&mut self, seen: &Observation<'_>) -> Outcome {
        let mut out = Outcome::default();
        if self.phase != Phase::Free {
            self.change(Phase::Free, "handoff:checkpoint_resumed", seen, &mut out);
        }
        *self = Self { takeovers: self.takeovers, ..Self::default() };
        out
    }

    fn consider(&mut self, seen: &Observation<'_>, config: &Config, out: &mut Outcome) {
        let Some(worst) = worst(seen.readings) else { return };
        let asked = worst.signal == Deviation::UserForceTakeover;
        let risky = risk::reaches(seen.risk, config.adaptive_free.risk_threshold)
            || seen.readings.iter().any(Reading::is_double);
        if asked || (seen.critical && risky) {
            self.take_over(name(worst.signal), false, seen, out);
            // A person may ask as often as they like.
            if !asked && self.fruitless > FRUITLESS {
                out.spent = Some("relapses");
            }
        }
    }

    fn take_over(&mut self, why: &str, same: bool, seen: &Observation<'_>, out: &mut Outcome) {
        if !same {
            (self.rounds, self.tokens, self.extended) = (0, 0, false);
            self.takeovers = self.takeovers.saturating_add(1);
            self.fruitless = self.fruitless.saturating_add(1);
        }
        self.clean = 0;
        self.change(Phase::Takeover, &format!("takeover:{why}"), seen, out);
    }

    fn recover(&mut self, seen: &Observation<'_>, config: &Config, out: &mut Outcome) {
        self.rounds = self.rounds.saturating_add(1);
        self.tokens = self.tokens.saturating_add(seen.tokens);
        if seen.verified && !self.extended {
            self.extended = true;
            out.extended = true;
        }
        self.clean = if is_clean(seen) { self.clean + 1 } else { 0 };
        if self.clean >= config.takeover.stability_window {
            self.clean = 0;
            self.change(Phase::HandoffPending, "handoff:stable", seen, out);
            return;
        }
        out.spent = self.spent(seen, config);
    }

    /// Which part of the recovery budget is used up.
    fn spent(&self, seen: &Observation<'_>, config: &Config) -> Option<&'static str> {
        if self.rounds >= self.most_rounds(config) {
            return Some("rounds");
        }
        let tokens = self.most_tokens(config, seen.token_limit).is_some_and(|most| self.tokens >= most);
        tokens.then_some("tokens")
    }

    fn hand_back(&mut self, seen: &Observation<'_>, config: &Config, out: &mut Outcome) {
        if let Some(worst) = worst(seen.readings) {
            self.take_over(name(worst.signal), true, seen, out);
            out.spent = self.spent(seen, config);
        } else if is_clean(seen) {
            self.cooldown = config.takeover.cooldown_rounds;
            self.change(Phase::Cooldown, "handoff:confirmed", seen, out);
        }
    }

    fn cool_down(&mut self, seen: &Observation<'_>, config: &Config, out: &mut Outcome) {
        self.cooldown = self.cooldown.saturating_sub(1);
        if seen.readings.iter().any(Reading::is_strong) {
            self.change(Phase::Free, "handoff:cooldown_broken", seen, out);
            self.consider(seen, config, out);
        } else if self.cooldown == 0 {
            self.change(Phase::Free, "handoff:cooled_down", seen, out);
        }
    }

    fn change(&mut self, to: Phase, reason: &str, seen: &Observation<'_>, out: &mut Outcome) {
        let from = std::mem::replace(&mut self.phase, to);
        let signals = seen.readings.to_vec();
        out.changes.push(PhaseChange { from, to, reason: reason.to_owned(), signals, risk: seen.risk });
    }
}

/// A round that brought something and in which nothing deviates.
fn is_clean(seen: &Observation<'_>) -> bool {
    seen.evidence && seen.readings.is_empty()
}

/// The signal farthest beyond its threshold; a person's word before all.
fn worst(readings: &[Reading]) -> Option<Reading> {
    let asked = |reading: &Reading| reading.signal == Deviation::UserForceTakeover;
    let excess = |reading: &Reading| u64::from(reading.value) * 1000 / u64::from(reading.threshold.max(1));
    readings
        .iter()
        .copied()
        .max_by_key(|reading| (asked(reading), excess(reading), std::cmp::Reverse(reading.signal)))
}

pub(crate) const fn name(signal: Deviation) -> &'static str {
    match signal {
        Deviation::ToolRepeatFail => "tool_repeat_fail",
        Deviation::NoProgress => "no_progress",
        Deviation::FileLoop => "file_loop",
        Deviation::Alternation => "alternation",
        Deviation::GoalDrift => "goal_drift",
        Deviation::ScopeCreep => "scope_creep",
        Deviation::UserForceTakeover => "user_force_takeover",
    }
}

fn share(whole: u64, ratio: f64) -> u64 {
    (whole as f64 * ratio + 1e-6) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Takeover;
    use crate::level::Level;

    const fn reading(signal: Deviation, value: u32, threshold: u32) -> Reading {
        Reading { signal, value, threshold }
    }
    const REPEAT: [Reading; 1] = [reading(Deviation::ToolRepeatFail, 3, 3)];
    const MANY: [Reading; 1] = [reading(Deviation::ToolRepeatFail, 5, 3)];
    const DOUBLE: [Reading; 1] = [reading(Deviation::NoProgress, 8, 4)];
    const USER: [Reading; 1] = [reading(Deviation::UserForceTakeover, 1, 1)];

    fn seen(readings: &[Reading]) -> Observation<'_> {
        Observation {
            readings,
            risk: 500,
            critical: true,
            evidence: true,
            verified: false,
            tokens: 10,
            token_limit: 0,
        }
    }

    fn to(outcome: &Outcome) -> Vec<Phase> {
        outcome.changes.iter().map(|change| change.to).collect()
    }

    fn in_takeover() -> PhaseState {
        let mut state = PhaseState::default();
        state.end_round(&seen(&REPEAT), &Config::default());
        assert_eq!((state.phase(), state.takeovers()), (Phase::Takeover, 1));
        state
    }

    fn walk(state: &mut PhaseState, rounds: u32, seen: &Observation<'_>) -> Vec<Phase> {
        (0..rounds).flat_map(|_| to(&state.end_round(seen, &Config::default()))).collect()
    }

    #[test]
    fn takeover_needs_domain_risk_and_signal() {
        let check = |seen: Observation<'_>, level: Level, expect: bool| {
            let config = Config { level, ..Config::default() };
            let outcome = PhaseState::default().end_round(&seen, &config);
            assert_eq!(to(&outcome) == [Phase::Takeover], expect, "{seen:?} {level:?}");
        };
        check(seen(&REPEAT), Level::Adaptive, true);
        check(seen(&[]), Level::Adaptive, false);
        check(Observation { risk: 499, ..seen(&REPEAT) }, Level::Adaptive, false);
        check(Observation { critical: false, ..seen(&REPEAT) }, Level::Adaptive, false);
        check(Observation { risk: 0, ..seen(&DOUBLE) }, Level::Adaptive, true);
        check(Observation { risk: 0, critical: false, ..seen(&DOUBLE) }, Level::Adaptive, false);
        check(Observation { risk: 0, critical: false, ..seen(&USER) }, Level::Adaptive, true);
        for level in [Level::Off, Level::Strict] {
            check(seen(&DOUBLE), level, false);
            check(seen(&USER), level, false);
        }
    }

    #[test]
    fn the_whole_way_round() {
        let mut state = in_takeover();
        assert!(state.is_recovering());
        assert_eq!(walk(&mut state, 2, &seen(&[])), []);
        assert_eq!(walk(&mut state, 1, &seen(&[])), [Phase::HandoffPending]);
        assert!(state.is_recovering());
        assert_eq!(walk(&mut state, 1, &seen(&[])), [Phase::Cooldown]);
        assert!(!state.is_recovering());
        assert_eq!(walk(&mut state, 2, &seen(&[])), []);
        assert_eq!(walk(&mut state, 1, &seen(&[])), [Phase::Free]);
    }

    #[test]
    fn only_clean_rounds_in_a_row_count() {
        let idle = Observation { evidence: false, ..seen(&[]) };
        let mut state = in_takeover();
        walk(&mut state, 2, &seen(&[]));
        walk(&mut state, 1, &idle);
        assert_eq!(walk(&mut state, 2, &seen(&[])), []);
        assert_eq!(walk(&mut state, 1, &seen(&[])), [Phase::HandoffPending]);
        assert_eq!(walk(&mut state, 3, &idle), []);
        let mut state = in_takeover();
        walk(&mut state, 2, &seen(&[]));
        walk(&mut state, 1, &seen(&REPEAT));
        assert_eq!(walk(&mut state, 2, &seen(&[])), []);
    }

    #[test]
    fn a_relapse_goes_on_with_the_same_budget() {
        let mut state = in_takeover();
        walk(&mut state, 3, &seen(&[]));
        assert_eq!(state.phase(), Phase::HandoffPending);
        assert_eq!(walk(&mut state, 1, &seen(&REPEAT)), [Phase::Takeover]);
        assert_eq!((state.takeovers(), state.used()), (1, (3, 30)));
    }

    #[test]
    fn a_relapse_with_nothing_left_stops() {
        let config =
            Config { takeover: Takeover { max_rounds: 3, ..Takeover::default() }, ..Config::default() };
        let mut state = in_takeover();
        (0..3).for_each(|_| {
            state.end_round(&seen(&[]), &config);
        });
        assert_eq!(state.phase(), Phase::HandoffPending);
        let outcome = state.end_round(&seen(&REPEAT), &config);
        assert_eq!((to(&outcome), outcome.spent), (vec![Phase::Takeover], Some("rounds")));
    }

    #[test]
    fn cooldown_hears_strong_signals_only() {
        let cooling = || {
            let mut state = in_takeover();
            walk(&mut state, 4, &seen(&[]));
            assert_eq!(state.phase(), Phase::Cooldown);
            state
        };
        assert_eq!(walk(&mut cooling(), 1, &seen(&REPEAT)), []);
        let mut state = cooling();
        assert_eq!(walk(&mut state, 1, &seen(&MANY)), [Phase::Free, Phase::Takeover]);
        assert_eq!((state.takeovers(), state.used()), (2, (0, 0)));
        let mild = Observation { risk: 0, ..seen(&MANY) };
        assert_eq!(walk(&mut cooling(), 1, &mild), [Phase::Free]);
        assert_eq!(walk(&mut cooling(), 1, &seen(&USER)), [Phase::Free, Phase::Takeover]);
    }

    #[test]
    fn a_takeover_ends_when_its_rounds_are_spent() {
        let config = Config::default();
        let mut state = in_takeover();
        let stuck = Observation { evidence: false, ..seen(&REPEAT) };
        let spent: Vec<_> = (0..8).map(|_| state.end_round(&stuck, &config).spent).collect();
        assert_eq!(spent[..7], [None; 7]);
        assert_eq!(spent[7], Some("rounds"));
    }

    #[test]
    fn a_takeover_ends_when_its_tokens_are_spent() {
        let config = Config::default();
        let mut state = in_takeover();
        let stuck = Observation { evidence: false, token_limit: 100, ..seen(&REPEAT) };
        let spent: Vec<_> = (0..3).map(|_| state.end_round(&stuck, &config).spent).collect();
        assert_eq!(spent, [None, None, Some("tokens")]);
        assert_eq!(state.most_tokens(&config, 0), None);
    }

    #[test]
    fn verified_progress_extends_once_by_half() {
        let config = Config::default();
        let mut state = in_takeover();
        let good = Observation { verified: true, ..seen(&REPEAT) };
        let outcomes: Vec<_> = (0..12).map(|_| state.end_round(&good, &config)).collect();
        assert!(outcomes[0].extended && !outcomes[1].extended);
        assert_eq!((state.most_rounds(&config), state.most_tokens(&config, 100)), (12, Some(45)));
        assert!(outcomes[..11].iter().all(|outcome| outcome.spent.is_none()));
        assert_eq!(outcomes[11].spent, Some("rounds"));
    }

    #[test]
    fn the_last_round_may_still_be_the_good_one() {
        let config =
            Config { takeover: Takeover { max_rounds: 3, ..Takeover::default() }, ..Config::default() };
        let mut state = in_takeover();
        let outcomes: Vec<_> = (0..3).map(|_| state.end_round(&seen(&[]), &config)).collect();
        assert_eq!((to(&outcomes[2]), outcomes[2].spent), (vec![Phase::HandoffPending], None));
    }

    #[test]
    fn a_person_takes_over_at_once_and_a_resume_lets_go() {
        let config = Config::default();
        let mut state = PhaseState::default();
        assert_eq!(to(&state.force(&seen(&USER), &config)), [Phase::Takeover]);
        assert_eq!(to(&state.force(&seen(&USER), &config)), []);
        assert_eq!(to(&state.resume(&seen(&[]))), [Phase::Free]);
        assert_eq!(to(&state.resume(&seen(&[]))), []);
        assert_eq!(state.used(), (0, 0));
        let strict = Config { level: Level::Strict, ..Config::default() };
        assert_eq!(to(&state.force(&seen(&USER), &strict)), []);
    }

    #[test]
    fn the_reason_is_the_worst_signal() {
        let both = [reading(Deviation::ToolRepeatFail, 3, 3), reading(Deviation::NoProgress, 6, 4)];
        let mut state = PhaseState::default();
        let outcome = state.end_round(&seen(&both), &Config::default());
        assert_eq!(outcome.changes[0].reason, "takeover:no_progress");
        assert_eq!(outcome.changes[0].signals, both);
    }

    #[test]
    fn takeovers_that_come_to_nothing_end_the_run() {
        let config = Config::default();
        let turn = |state: &mut PhaseState, seen: &Observation<'_>| state.end_round(seen, &config).spent;
        let mut state = PhaseState::default();
        let take_and_cool = |state: &mut PhaseState| {
            let spent = turn(state, &seen(&REPEAT));
            if spent.is_none() {
                walk(state, 7, &seen(&[]));
                assert_eq!(state.phase(), Phase::Free);
            }
            spent
        };
        assert_eq!([take_and_cool(&mut state), take_and_cool(&mut state)], [None, None]);
        assert_eq!(take_and_cool(&mut state.clone()), Some("relapses"));
        state.end_round(&Observation { verified: true, ..seen(&[]) }, &config);
        assert_eq!(take_and_cool(&mut state), None, "something turned greener in between");
    }
}
