//! Taking over, handing back, stopping, going on.

use serde_json::json;

use super::Step;
use crate::correction::CorrectionKind;
use crate::effect::{Effect, StopKind};
use crate::graph::Plan;
use crate::mode::Signal;
use crate::phase::{Observation, Outcome, Phase, PhaseChange};
use crate::retrospective::{Snapshot, rebuild};
use crate::risk;
use crate::timeline::Kind;
use crate::wording;

impl Step<'_> {
    /// Does what the phase decided.
    pub(super) fn follow(&mut self, outcome: Outcome) {
        if outcome.extended {
            let most = self.s.phase.most_rounds(&self.s.config);
            self.log(Kind::Recover, "recover:extended", json!({"most_rounds": most}));
        }
        for change in outcome.changes {
            self.change_phase(change);
        }
        if let Some(what) = outcome.spent {
            let (rounds, tokens) = self.s.phase.used();
            let why = format!("the recovery budget is spent ({what}): {rounds} rounds, {tokens} tokens");
            self.stop(StopKind::UserCheckpoint, why, Kind::Timeout, &format!("recovery_budget:{what}"));
        }
    }

    fn change_phase(&mut self, change: PhaseChange) {
        let to = change.to;
        let event = if to == Phase::Takeover { Kind::Recover } else { Kind::Handoff };
        let payload = json!({"from": change.from, "to": to, "risk": change.risk, "signals": change.signals});
        let reason = change.reason.clone();
        self.log(event, &reason, payload);
        if to == Phase::Takeover {
            self.s.why.clone_from(&change.signals);
        }
        self.out.push(Effect::Phase(change));
        match to {
            Phase::Takeover => self.recover(),
            // Handing back means that the model leads: the plan no longer binds.
            Phase::Cooldown | Phase::Free => self.put_plan_aside(),
            Phase::HandoffPending => {}
        }
    }

    /// The plan is rebuilt from the facts, and the model is told.
    fn recover(&mut self) {
        let s = &mut *self.s;
        s.port.renew();
        s.tier.reset();
        // A plan of the supervisor's own is another way: what was tried in vain before is not held against it.
        s.budget.another_way();
        let checkable = !s.checks.is_empty() || !s.known.checks().is_empty();
        let snapshot = Snapshot { known: &s.known, git: s.git, hashed: s.hashed, checkable };
        let cases = snapshot.cases();
        let plan = Plan {
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
        if believed {
            self.log(Kind::Recover, "recover:template_graph", payload);
            if self.is_supervised() {
                let text = wording::takeover(self.s, &self.s.why);
                self.say(CorrectionKind::Takeover, text);
            }
        } else {
            self.s.tier.lower();
            self.log(Kind::Recover, "recover:strong_hint", payload);
            self.log(Kind::Switch, "tier:step_queue", json!({"tier": self.s.tier.tier()}));
            let cause = if git.is_unsafe() {
                "The repository is in a state no plan can be built on: settle it first."
            } else {
                "What was done so far cannot be proven: begin with what you can see."
            };
            let text = wording::recovery(self.s, cause);
            self.say(CorrectionKind::Recovery, text);
        }
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
            self.log(Kind::Recover, "recover:check", json!({"command": command}));
            self.out.push(Effect::Check { command });
        }
    }

    /// The check that was asked for has spoken: the plan is rebuilt on it, or who said done hears what is left to do.
    pub(super) fn facts_came(&mut self) {
        if self.s.stopped.is_some() {
            return;
        }
        if self.is_supervised() {
            self.recover();
        } else if self.s.verification.was_told() && self.s.known.fresh_red().is_some() {
            let text = wording::recovery(self.s, "The work is not done: a check fails.");
            self.say(CorrectionKind::Recovery, text);
        }
    }

    pub(super) fn user_takeover(&mut self, by: &str) {
        let level = self.s.config.level;
        let by = crate::key::clip(by, 80);
        if !level.takes_over() || self.s.stopped.is_some() {
            let reason = if level.takes_over() { "stopped" } else { level.name() };
            return self.log(
                Kind::Drift,
                &format!("user_force_takeover:refused:{reason}"),
                json!({"by": by}),
            );
        }
        self.log(Kind::Drift, "drift:user_force_takeover", json!({"by": by}));
        self.s.watch.ask();
        let readings = self.readings();
        let s = &mut *self.s;
        let seen = Observation {
            readings: &readings,
            risk: risk::risk(&s.known),
            critical: s.domain.is_critical(),
            evidence: false,
            verified: false,
            tokens: 0,
            token_limit: s.token_limit,
        };
        let outcome = s.phase.force(&seen, &s.config);
        s.watch.asked_and_answered();
        self.follow(outcome);
        self.decide_mode(None);
    }

    pub(super) fn resumed(&mut self) {
        if self.s.stopped.take().is_some() {
            self.log(Kind::Rollback, "checkpoint_resumed:stop_lifted", json!({}));
        }
        let s = &mut *self.s;
        s.pending.clear();
        s.verification.forget();
        s.watch.clear(s.known.changed_count());
        s.known.end_round(s.round, false);
        let seen = Observation {
            readings: &[],
            risk: risk::risk(&s.known),
            critical: s.domain.is_critical(),
            evidence: false,
            verified: false,
            tokens: 0,
            token_limit: s.token_limit,
        };
        let outcome = s.phase.resume(&seen);
        self.follow(outcome);
        self.put_plan_aside();
        // Strict goes by a plan from its first round to its last.
        let config = &self.s.config;
        let planned =
            config.level.floor_is_forced() && config.strict.first_round_graph && self.s.intent.uses_graph();
        if planned && self.s.round > 0 {
            self.recover();
        }
        self.s.mode.raise(Signal::CheckpointResumed);
        self.decide_mode(None);
    }
}
