//! Rounds: what is said at their beginning, what is decided at their end.

use serde_json::json;

use super::ReducerStep;
use crate::deviation::{Deviation, DeviationReading, RoundContext};
use crate::domain::GoalIntent;
use crate::event::{RoundEnd, SupervisorFact, WorkspaceState};
use crate::goal::PATH;
use crate::graph::AdvanceTrigger;
use crate::key::clip_path;
use crate::phase::{RoundObservation, TakeoverPhase};
use crate::timeline::TimelineKind;

/// Most tests that lost lines kept.
const SHRUNK: usize = 8;

impl ReducerStep<'_> {
    pub(super) fn round_started(&mut self, round: u32) {
        if self.s.stopped.is_some() {
            return;
        }
        self.s.round = round.max(self.s.round);
        if self.s.first_round == 0 {
            self.s.first_round = round.max(1);
            let config = &self.s.config;
            let wants_graph = config.level.graph_at_first_round(config.strict.first_round_graph);
            if self.s.graph.is_none() && wants_graph && self.s.intent.uses_graph() {
                self.first_graph();
            }
        }
        self.speak();
    }

    pub(super) fn round_ended(&mut self, fact: &SupervisorFact, end: &RoundEnd) {
        let brought = self.s.known.absorb(fact, self.s.round);
        self.s.pending.clear();
        if self.s.stopped.is_some() {
            if brought.mutations > 0 {
                self.graph_outdated();
            }
            return;
        }
        if brought.mutations > 0 {
            self.graph_mutated();
        }
        self.look(end.workspace.as_ref());
        let s = &mut *self.s;
        s.tokens = s.tokens.saturating_add(end.tokens);
        s.known.round.waited |= s.job;
        let evidence = s.known.end_round(end.diff_lines, end.gone_lines);
        let around = RoundContext {
            repair: s.intent == GoalIntent::Debug || s.demand.all,
            green: s.known.was_green(),
            empty: end.text_only && !end.text,
            used: used(s.round + 1 - s.first_round.min(s.round), s.round_limit, s.tokens, s.token_limit),
        };
        s.watch.end_round(&evidence, around);
        let polishes = self.readings().iter().any(|reading| reading.signal == Deviation::Polishing);
        let progress = evidence.greener || (evidence.verified && !(evidence.green_again && polishes));
        self.tick(AdvanceTrigger::RoundEnd { wrote: evidence.wrote });
        if self.s.stopped.is_none() {
            self.observe(end, evidence.is_new(), progress);
        }
        if self.s.stopped.is_none() {
            self.milestone(evidence.wrote);
        }
    }

    /// Strict wants proof on the way: a check after so many rounds with changes.
    fn milestone(&mut self, wrote: bool) {
        let s = &mut *self.s;
        s.unchecked = s.unchecked.saturating_add(u32::from(wrote));
        if s.config.level.wants_proof() && s.unchecked >= s.config.strict.check_rounds {
            s.unchecked = 0;
            self.ask_for_facts();
        }
    }

    fn look(&mut self, workspace: Option<&WorkspaceState>) {
        let s = &mut *self.s;
        s.hashed = workspace.is_some_and(|workspace| workspace.verified);
        s.git = workspace.map(|workspace| workspace.git).unwrap_or_default();
        let Some(workspace) = workspace else { return };
        for file in &workspace.changed {
            s.known.adopt(&file.path, &file.hash);
        }
        let shrunk = workspace.shrunk_tests.iter().take(SHRUNK).map(|path| clip_path(path, PATH));
        s.known.shrank(shrunk.collect());
    }

    /// L2: what deviates is told, and acted on where the level allows.
    fn observe(&mut self, end: &RoundEnd, evidence: bool, progress: bool) {
        if !self.s.config.level.speaks() {
            return;
        }
        let readings = self.readings();
        self.tell_deviations(&readings);
        let s = &mut *self.s;
        s.why.clone_from(&readings);
        let seen = RoundObservation {
            readings: &readings,
            critical: s.domain.is_critical(),
            evidence,
            verified: progress,
            tokens: end.tokens,
            token_limit: s.token_limit,
        };
        let outcome = s.phase.end_round(&seen, &s.config);
        self.follow(outcome);
    }

    pub(super) fn readings(&self) -> Vec<DeviationReading> {
        self.s.watch.readings(&self.s.config.triggers)
    }

    /// An observation for the timeline, once while it lasts.
    fn tell_deviations(&mut self, readings: &[DeviationReading]) {
        let mut up = 0;
        for reading in readings {
            let bit = 1 << reading.signal as u16;
            up |= bit;
            if self.s.told & bit == 0 {
                let payload = json!({"signal": reading.signal, "value": reading.value,
                    "threshold": reading.threshold, "entries": self.s.known.entries()});
                self.log(TimelineKind::Drift, &format!("drift:{}", reading.signal.name()), payload);
            }
        }
        self.s.told = up;
    }

    pub(super) fn is_supervised(&self) -> bool {
        self.s.phase.phase() == TakeoverPhase::Takeover
    }
}

/// Share of what may be used that is, of 1000; the larger of rounds and tokens.
fn used(rounds: u32, round_limit: u32, tokens: u64, token_limit: u64) -> u32 {
    let share = |used: u64, limit: u64| (used.saturating_mul(1000)).checked_div(limit).unwrap_or(0);
    let most = share(u64::from(rounds), u64::from(round_limit)).max(share(tokens, token_limit));
    u32::try_from(most).unwrap_or(u32::MAX)
}
