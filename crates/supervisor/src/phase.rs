//! L2: a ladder of notice, advice and takeover, each needing evidence after the one before, and the way back:
//! takeover → handoff_pending → cooldown → free.

use serde::{Deserialize, Serialize};

use crate::config::SupervisorConfig;
use crate::deviation::{Deviation, DeviationReading};

/// Who leads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakeoverPhase {
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

/// How far up the ladder words have gone while the model leads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationStage {
    /// Nothing was said.
    #[default]
    Quiet,
    /// One line of facts was said.
    Noticed,
    /// Advice stands.
    Advised,
}

/// The phase changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseChange {
    /// What held.
    pub from: TakeoverPhase,
    /// What holds.
    pub to: TakeoverPhase,
    /// Why, `family:detail`.
    pub reason: String,
    /// The signals that were up.
    pub signals: Vec<DeviationReading>,
}

/// What the decider looks at, at the end of a round.
#[derive(Debug, Clone)]
pub(crate) struct RoundObservation<'a> {
    pub readings: &'a [DeviationReading],
    /// Whether a takeover may ever happen here.
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
pub(crate) struct PhaseOutcome {
    pub changes: Vec<PhaseChange>,
    /// Which part of the recovery budget is spent: the run has to stop.
    pub spent: Option<&'static str>,
    /// The budget was extended.
    pub extended: bool,
    /// A rung of the ladder was taken.
    pub rise: Option<EscalationStage>,
}

/// L2 and what it remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseState {
    phase: TakeoverPhase,
    clean: u32,
    cooldown: u32,
    rounds: u32,
    tokens: u64,
    extended: bool,
    takeovers: u32,
    /// Takeovers since a check last turned greener.
    fruitless: u32,
    stage: EscalationStage,
    /// Whether the notice is still to be said.
    notice: bool,
    /// Rounds of evidence since the last rung.
    marks: u32,
    /// All readings of the last round together.
    sum: u32,
    /// Rounds without a signal.
    calm: u32,
}

/// So many takeovers in a row may come to nothing.
const FRUITLESS: u32 = 2;

impl PhaseState {
    /// Who leads.
    pub const fn phase(&self) -> TakeoverPhase {
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
        matches!(self.phase, TakeoverPhase::Takeover | TakeoverPhase::HandoffPending)
    }

    /// How far up the ladder it is.
    pub const fn stage(&self) -> EscalationStage {
        self.stage
    }

    /// What is to be said now, while the model leads.
    pub(crate) const fn saying(&self) -> EscalationStage {
        match self.stage {
            EscalationStage::Advised if self.calm == 0 => EscalationStage::Advised,
            EscalationStage::Noticed if self.notice => EscalationStage::Noticed,
            _ => EscalationStage::Quiet,
        }
    }

    /// Rounds without progress a takeover may last now.
    pub fn most_rounds(&self, config: &SupervisorConfig) -> u32 {
        let strict = config.level.wants_proof();
        let base = if strict { config.strict.max_rounds } else { config.takeover.max_rounds };
        base + if self.extended { share(u64::from(base), config.takeover.extension) as u32 } else { 0 }
    }

    /// Tokens a takeover may use now; nothing without a limit of the run.
    pub fn most_tokens(&self, config: &SupervisorConfig, limit: u64) -> Option<u64> {
        let base = share(limit, config.takeover.token_ratio);
        let more = if self.extended { share(base, config.takeover.extension) } else { 0 };
        (limit > 0).then_some(base + more)
    }

    /// Decides at the end of a round.
    pub(crate) fn end_round(
        &mut self,
        seen: &RoundObservation<'_>,
        config: &SupervisorConfig,
    ) -> PhaseOutcome {
        if !config.level.speaks() {
            return PhaseOutcome::default();
        }
        self.notice = false;
        let mut out = PhaseOutcome::default();
        if seen.verified {
            self.fruitless = 0;
        }
        match self.phase {
            TakeoverPhase::Free => self.climb(seen, config, &mut out),
            TakeoverPhase::Takeover => self.recover(seen, config, &mut out),
            TakeoverPhase::HandoffPending => self.hand_back(seen, config, &mut out),
            TakeoverPhase::Cooldown => self.cool_down(seen, config, &mut out),
        }
        out
    }

    /// A person asks: between rounds too, and nothing but the level can refuse.
    pub(crate) fn force(&mut self, seen: &RoundObservation<'_>, config: &SupervisorConfig) -> PhaseOutcome {
        let mut out = PhaseOutcome::default();
        if config.level.speaks() && self.phase != TakeoverPhase::Takeover {
            self.take_over("user_force_takeover", false, seen, &mut out);
        }
        out
    }

    /// Somebody has looked: the model leads, whatever was before.
    pub(crate) fn resume(&mut self, seen: &RoundObservation<'_>) -> PhaseOutcome {
        let mut out = PhaseOutcome::default();
        if self.phase != TakeoverPhase::Free {
            self.change(TakeoverPhase::Free, "handoff:checkpoint_resumed", seen, &mut out);
        }
        *self = Self { takeovers: self.takeovers, ..Self::default() };
        out
    }

    /// One rung at most: notice, advice, takeover. Each waits for what comes after the one before.
    fn climb(&mut self, seen: &RoundObservation<'_>, config: &SupervisorConfig, out: &mut PhaseOutcome) {
        let Some(worst) = worst(seen.readings) else {
            self.calm = self.calm.saturating_add(1);
            self.sum = 0;
            if seen.verified || self.calm >= config.takeover.stability_window {
                (self.stage, self.marks) = (EscalationStage::Quiet, 0);
            }
            return;
        };
        self.calm = 0;
        let sum = seen.readings.iter().map(|reading| reading.value).fold(0, u32::saturating_add);
        let more = sum > self.sum;
        self.sum = sum;
        self.marks = self.marks.saturating_add(u32::from(more && self.stage != EscalationStage::Quiet));
        if worst.signal == Deviation::UserForceTakeover {
            self.take_over(worst.signal.name(), false, seen, out);
            return;
        }
        let leads_on = seen.readings.iter().any(DeviationReading::leads_on);
        match self.stage {
            // Of rounds that end nothing more will come: what is known is said at once.
            EscalationStage::Quiet if !leads_on => self.rise(EscalationStage::Advised, out),
            EscalationStage::Quiet => self.rise(EscalationStage::Noticed, out),
            EscalationStage::Noticed if self.marks >= config.ladder.advice => {
                self.rise(EscalationStage::Advised, out)
            }
            EscalationStage::Noticed => {}
            EscalationStage::Advised => {
                let due = leads_on && self.marks >= config.ladder.takeover;
                if due && seen.critical && config.level.acts() {
                    self.take_over(worst.signal.name(), false, seen, out);
                    if self.fruitless > FRUITLESS {
                        out.spent = Some("relapses");
                    }
                }
            }
        }
    }

    fn rise(&mut self, to: EscalationStage, out: &mut PhaseOutcome) {
        (self.stage, self.marks) = (to, 0);
        self.notice = to == EscalationStage::Noticed;
        out.rise = Some(to);
    }

    fn take_over(&mut self, why: &str, same: bool, seen: &RoundObservation<'_>, out: &mut PhaseOutcome) {
        if !same {
            (self.rounds, self.tokens, self.extended) = (0, 0, false);
            self.takeovers = self.takeovers.saturating_add(1);
            self.fruitless = self.fruitless.saturating_add(1);
        }
        self.clean = 0;
        // Whoever relapses has had advice.
        (self.stage, self.marks, self.sum) = (EscalationStage::Advised, 0, 0);
        self.change(TakeoverPhase::Takeover, &format!("takeover:{why}"), seen, out);
    }

    fn recover(&mut self, seen: &RoundObservation<'_>, config: &SupervisorConfig, out: &mut PhaseOutcome) {
        // What goes well costs nothing.
        if !is_clean(seen) {
            self.rounds = self.rounds.saturating_add(1);
            self.tokens = self.tokens.saturating_add(seen.tokens);
        }
        if seen.verified && !self.extended {
            self.extended = true;
            out.extended = true;
        }
        self.clean = if is_clean(seen) { self.clean + 1 } else { 0 };
        if self.clean >= config.takeover.stability_window {
            self.clean = 0;
            self.change(TakeoverPhase::HandoffPending, "handoff:stable", seen, out);
            return;
        }
        out.spent = self.spent(seen, config);
    }

    /// Which part of the recovery budget is used up.
    fn spent(&self, seen: &RoundObservation<'_>, config: &SupervisorConfig) -> Option<&'static str> {
        if !config.level.acts() {
            return None;
        }
        if self.rounds >= self.most_rounds(config) {
            return Some("rounds");
        }
        let tokens = self.most_tokens(config, seen.token_limit).is_some_and(|most| self.tokens >= most);
        tokens.then_some("tokens")
    }

    fn hand_back(&mut self, seen: &RoundObservation<'_>, config: &SupervisorConfig, out: &mut PhaseOutcome) {
        if let Some(worst) = worst(seen.readings) {
            self.take_over(worst.signal.name(), true, seen, out);
            out.spent = self.spent(seen, config);
        } else if is_clean(seen) {
            self.cooldown = config.takeover.cooldown_rounds;
            self.change(TakeoverPhase::Cooldown, "handoff:confirmed", seen, out);
        }
    }

    fn cool_down(&mut self, seen: &RoundObservation<'_>, config: &SupervisorConfig, out: &mut PhaseOutcome) {
        self.cooldown = self.cooldown.saturating_sub(1);
        if seen.readings.iter().any(DeviationReading::is_strong) {
            self.change(TakeoverPhase::Free, "handoff:cooldown_broken", seen, out);
            self.climb(seen, config, out);
        } else if self.cooldown == 0 {
            self.change(TakeoverPhase::Free, "handoff:cooled_down", seen, out);
        }
    }

    fn change(
        &mut self,
        to: TakeoverPhase,
        reason: &str,
        seen: &RoundObservation<'_>,
        out: &mut PhaseOutcome,
    ) {
        let from = std::mem::replace(&mut self.phase, to);
        let signals = seen.readings.to_vec();
        out.changes.push(PhaseChange { from, to, reason: reason.to_owned(), signals });
    }
}

/// A round that brought something and in which nothing deviates.
fn is_clean(seen: &RoundObservation<'_>) -> bool {
    seen.evidence && seen.readings.is_empty()
}

/// The signal farthest beyond its threshold; a person's word before all.
fn worst(readings: &[DeviationReading]) -> Option<DeviationReading> {
    let asked = |reading: &DeviationReading| reading.signal == Deviation::UserForceTakeover;
    let excess =
        |reading: &DeviationReading| u64::from(reading.value) * 1000 / u64::from(reading.threshold.max(1));
    readings
        .iter()
        .copied()
        .max_by_key(|reading| (asked(reading), excess(reading), std::cmp::Reverse(reading.signal)))
}

fn share(whole: u64, ratio: f64) -> u64 {
    (whole as f64 * ratio + 1e-6) as u64
}

#[cfg(test)]
mod tests;
