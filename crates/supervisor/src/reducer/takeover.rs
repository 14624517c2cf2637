//! Taking over, handing back, stopping, going on.

use serde_json::json;

use super::ReducerStep;
use crate::effect::{StopKind, SupervisorEffect};
use crate::graph::GraphRecipe;
use crate::phase::{EscalationStage, PhaseChange, PhaseOutcome, RoundObservation, TakeoverPhase};
use crate::retrospective::{WorkspaceProof, rebuild};
use crate::timeline::TimelineKind;
use crate::wording;

impl ReducerStep<'_> {
    /// Does what the phase decided.
    pub(super) fn follow(&mut self, outcome: PhaseOutcome) {
        if outcome.extended {
            let most = self.s.phase.most_rounds(&self.s.config);
            self.log(TimelineKind::Recover, "recover:extended", json!({"most_rounds": most}));
        }
        if let Some(stage) = outcome.rise {
            self.risen(stage);
        }
        for change in outcome.changes {
            self.change_phase(change);
        }
        if let Some(what) = outcome.spent {
            let (rounds, tokens) = self.s.phase.used();
            let why = format!("the recovery budget is spent ({what}): {rounds} rounds, {tokens} tokens");
            self.stop(
                StopKind::UserCheckpoint,
                why,
                TimelineKind::Timeout,
                &format!("recovery_budget:{what}"),
            );
        }
    }

    /// A rung of the ladder: what is said next rests on facts.
    fn risen(&mut self, stage: EscalationStage) {
        let first = self.s.why.first().map_or("", |reading| reading.signal.name());
        let words: Vec<String> = self.s.why.iter().map(wording::reason).collect();
        let payload = json!({"signals": self.s.why, "noticed": words, "entries": self.s.known.entries()});
        let rung = if stage == EscalationStage::Noticed { "notice" } else { "advice" };
        self.log(TimelineKind::Switch, &format!("{rung}:{first}"), payload);
        if stage == EscalationStage::Advised {
            self.ask_for_facts();
        }
    }

    fn change_phase(&mut self, change: PhaseChange) {
        let to = change.to;
        let event = if to == TakeoverPhase::Takeover { TimelineKind::Recover } else { TimelineKind::Handoff };
        let payload = json!({"from": change.from, "to": to, "signals": change.signals});
        let reason = change.reason.clone();
        self.log(event, &reason, payload);
        if to == TakeoverPhase::Takeover && !change.signals.is_empty() {
            self.s.why.clone_from(&change.signals);
        }
        self.out.push(SupervisorEffect::Phase(change));
        match to {
            TakeoverPhase::Takeover => self.recover(),
            // Handing back means that the model leads: the plan no longer binds.
            TakeoverPhase::Cooldown | TakeoverPhase::Free => self.put_plan_aside(),
            TakeoverPhase::HandoffPending => {}
        }
    }

    /// The plan is rebuilt from the facts, and the model is told.
    fn recover(&mut self) {
        let s = &mut *self.s;
        let checkable = !s.checks.is_empty() || !s.known.checks().is_empty();
        let snapshot = WorkspaceProof { known: &s.known, git: s.git, hashed: s.hashed, checkable };
        let cases = snapshot.cases();
        let plan = GraphRecipe {
            number: s.graphs + 1,
            goal: &s.goal,
            intent: s.intent,
            complexity: s.complexity,
            checks: checkable,
            monorepo: s.monorepo,
            cases: &cases,
        };
        let least = s.config.snapshot.template_graph_min;
        let Some(rebuilt) = rebuild(&snapshot, &plan, &s.named, s.round, least) else { return };
        let (trust, believed, git) = (rebuilt.trust, rebuilt.believed, s.git);
        self.install_rebuilt(rebuilt);
        let payload = json!({"trust": trust, "git": git, "cases": cases});
        let how = if believed { "recover:template_graph" } else { "recover:strong_hint" };
        self.log(TimelineKind::Recover, how, payload);
        if self.is_supervised() {
            self.ask_for_facts();
        }
    }

    /// Where no check speaks of the workspace as it is, one is run: what is said next rests on facts.
    pub(super) fn ask_for_facts(&mut self) {
        let s = &*self.s;
        // A check of the model's own making may have run in the wrong place, or on a part of it.
        let ours = |command: &str| s.checks.iter().any(|check| check.command == command);
        let fresh = s.known.checks().iter().any(|check| s.known.is_fresh(check) && ours(&check.command));
        if s.stopped.is_some() || fresh {
            return;
        }
        if let Some(check) = s.checks.first() {
            let command = check.command.clone();
            self.log(TimelineKind::Recover, "recover:check", json!({"command": command}));
            self.out.push(SupervisorEffect::Check { command });
        }
    }

    /// The check that was asked for has spoken: the plan is rebuilt on it, or who said done hears what is left to do.
    pub(super) fn facts_came(&mut self) {
        if self.s.stopped.is_some() {
            return;
        }
        if self.is_supervised() {
            self.recover();
        }
        self.speak();
    }

    pub(super) fn user_takeover(&mut self, by: &str) {
        let level = self.s.config.level;
        let by = crate::key::clip(by, 80);
        if !level.speaks() || self.s.stopped.is_some() {
            let reason = if level.speaks() { "stopped" } else { level.name() };
            return self.log(
                TimelineKind::Drift,
                &format!("user_force_takeover:refused:{reason}"),
                json!({"by": by}),
            );
        }
        self.log(TimelineKind::Drift, "drift:user_force_takeover", json!({"by": by}));
        self.s.watch.ask();
        let readings = self.readings();
        let s = &mut *self.s;
        s.why.clone_from(&readings);
        let seen = RoundObservation {
            readings: &readings,
            critical: s.domain.is_critical(),
            evidence: false,
            verified: false,
            tokens: 0,
            token_limit: s.token_limit,
        };
        let outcome = s.phase.force(&seen, &s.config);
        s.watch.asked_and_answered();
        self.follow(outcome);
    }

    pub(super) fn resumed(&mut self) {
        if self.s.stopped.take().is_some() {
            self.log(TimelineKind::Rollback, "checkpoint_resumed:stop_lifted", json!({}));
        }
        let s = &mut *self.s;
        s.pending.clear();
        s.verification.forget();
        s.watch.clear();
        s.known.end_round(0, 0);
        (s.why, s.told) = (Vec::new(), 0);
        // Whoever goes on has a budget of their own.
        (s.first_round, s.tokens) = (s.round.saturating_add(1), 0);
        let seen = RoundObservation {
            readings: &[],
            critical: s.domain.is_critical(),
            evidence: false,
            verified: false,
            tokens: 0,
            token_limit: s.token_limit,
        };
        let outcome = s.phase.resume(&seen);
        self.follow(outcome);
        self.put_plan_aside();
        let config = &self.s.config;
        let planned =
            config.level.wants_proof() && config.strict.first_round_graph && self.s.intent.uses_graph();
        if planned && self.s.round > 0 {
            self.recover();
        }
        self.log(TimelineKind::Switch, "checkpoint_resumed", json!({}));
    }
}
