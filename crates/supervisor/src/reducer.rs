//! The reducer: one fact in, the next state and its decisions out.

mod plan;
mod round;
mod takeover;
mod tool;

use serde_json::{Value, json};

use crate::domain::{Complexity, GoalIntent, classify, is_question, passes, speaks_of_checks};
use crate::effect::{GateRule, GateRuling, GateSubject, GateVerdict, StopKind, StopOrder, SupervisorEffect};
use crate::event::{SupervisorEvent, SupervisorFact, SupervisorSetup};
use crate::goal::{CheckDemand, PATH, named_paths, named_steps};
use crate::key::{clip, clip_path};
use crate::known::COMMAND;
use crate::state::SupervisorState;
use crate::timeline::{TimelineKind, TimelineRecord};
use crate::verification::{DoneRuling, RequestedWork};
use crate::wording;

/// Longest goal kept.
const GOAL: usize = 1200;
/// Most paths and checks kept.
const NAMED: usize = 32;
const CHECKS: usize = 8;

/// Decides: the state moves, and what has to be done comes out, in order.
///
/// The same state and event give the same result, byte for byte, on every machine.
pub fn step(mut state: SupervisorState, event: &SupervisorEvent) -> (SupervisorState, Vec<SupervisorEffect>) {
    let mut step = ReducerStep { s: &mut state, ts: event.ts, out: Vec::new() };
    step.take(&event.fact);
    let out = step.out;
    (state, out)
}

/// One step under way.
struct ReducerStep<'a> {
    s: &'a mut SupervisorState,
    ts: u64,
    out: Vec<SupervisorEffect>,
}

impl ReducerStep<'_> {
    fn take(&mut self, fact: &SupervisorFact) {
        match fact {
            SupervisorFact::RunStarted(setup) => self.run_started(setup),
            SupervisorFact::RoundStarted { round } => self.round_started(*round),
            SupervisorFact::ToolProposed(proposal) => self.tool_proposed(proposal),
            SupervisorFact::ToolFinished(done) => self.tool_finished(fact, done),
            SupervisorFact::CallMalformed { tool, why } => self.call_malformed(tool, why),
            SupervisorFact::CheckRan(check) => self.check_ran(fact, check),
            SupervisorFact::RoundEnded(end) => self.round_ended(fact, end),
            SupervisorFact::ModelDone => self.model_done(false),
            SupervisorFact::ModelGaveUp => self.model_done(true),
            SupervisorFact::UserForceTakeover { by } => self.user_takeover(by),
            SupervisorFact::CheckpointResumed => self.resumed(),
            SupervisorFact::EngineError { what } => self.engine_error(what),
        }
    }

    fn run_started(&mut self, setup: &SupervisorSetup) {
        let s = &mut *self.s;
        s.run = Some(setup.run.clone());
        s.foreign = setup.foreign;
        s.diagnosis = setup.mode == "debug";
        s.goal = clip(&setup.goal, GOAL);
        let mut named: Vec<String> = setup.plan_files.iter().map(|path| clip_path(path, PATH)).collect();
        named.extend(named_paths(&setup.goal));
        let mut once: Vec<String> = Vec::with_capacity(named.len().min(NAMED));
        for path in named {
            if once.len() < NAMED && !once.contains(&path) {
                once.push(path);
            }
        }
        s.named = once;
        let steps = setup.plan_steps.max(named_steps(&setup.goal));
        (s.intent, s.domain) = classify(&setup.mode, &setup.goal, s.named.len(), steps);
        s.complexity = Complexity::of(&setup.goal, s.named.len(), steps);
        s.checks = setup.checks.iter().take(CHECKS).cloned().collect();
        s.checks.iter_mut().for_each(|check| check.command = clip(&check.command, COMMAND));
        s.monorepo = setup.monorepo;
        s.token_limit = setup.token_limit;
        s.round_limit = setup.round_limit;
        s.demand = CheckDemand::of(&setup.goal, s.intent == GoalIntent::Debug, passes());
    }

    fn model_done(&mut self, gave_up: bool) {
        if !self.s.config.level.acts() {
            return self.answer_done(GateVerdict::Allow, GateRule::Trust, String::new());
        }
        let word = self.word();
        match word {
            DoneRuling::Accepted => {
                self.answer_done(GateVerdict::Allow, GateRule::Verification, String::new())
            }
            DoneRuling::LookFirst => {
                let why = "a check is run first".to_owned();
                self.answer_done(GateVerdict::Block, GateRule::Verification, why);
                self.ask_for_facts();
            }
            DoneRuling::NotYet(why) => {
                self.log(TimelineKind::Failure, "verification:not_yet", json!({"why": why}));
                self.answer_done(GateVerdict::Block, GateRule::Verification, why);
                self.ask_for_facts();
            }
            DoneRuling::Ends(kind, why) => {
                self.answer_done(GateVerdict::Block, GateRule::Verification, why.clone());
                // Where nobody knows what failed before, whoever compares may find that nothing is worse.
                let as_before = !gave_up
                    && kind == StopKind::Unverified
                    && self.s.own_red().is_some_and(|(check, _)| !self.s.wants(check));
                if gave_up {
                    let why = format!("the agent gave up. {why}");
                    self.stop(StopKind::UserCheckpoint, why, TimelineKind::Failure, "verification:gave_up");
                } else {
                    self.stop_as(
                        StopOrder { as_before, ..StopOrder::new(kind, why) },
                        TimelineKind::Failure,
                        "verification:unverified",
                    );
                }
            }
        }
    }

    fn word(&mut self) -> DoneRuling {
        let s = &mut *self.s;
        let mut gate = std::mem::take(&mut s.verification);
        let red = s.own_red();
        let work = RequestedWork {
            changes: s.domain.is_critical() && !is_question(&s.goal),
            tests: matches!(s.intent, GoalIntent::Test | GoalIntent::Refactor),
            named: &s.named,
            red: red.as_ref().map(|(check, cases)| (*check, cases.as_slice())),
            trial: s.own_trial(),
            unshown: s.demand.all
                && !s.diagnosis
                && (s.known.is_unshown() || s.known.is_taken_back())
                && s.checks.is_empty()
                && !s.known.is_documentation(),
            must_show: speaks_of_checks(&s.goal) || s.known.changed_count() == 0,
        };
        let word = gate.done(&s.known, &s.checks, &work);
        s.verification = gate;
        word
    }

    fn answer_done(&mut self, verdict: GateVerdict, rule: GateRule, why: String) {
        self.out.push(SupervisorEffect::Gate(GateRuling { subject: GateSubject::Done, verdict, rule, why }));
    }

    fn engine_error(&mut self, what: &str) {
        self.log(TimelineKind::Failure, "engine_fail_safe", json!({"what": clip(what, 300)}));
    }

    fn stop(&mut self, kind: StopKind, reason: String, event: TimelineKind, cause: &str) {
        self.stop_as(StopOrder::new(kind, reason), event, cause);
    }

    fn stop_as(&mut self, stop: StopOrder, event: TimelineKind, cause: &str) {
        if self.s.stopped.is_some() {
            return;
        }
        self.log(event, cause, json!({"stop": stop.kind, "reason": stop.reason}));
        self.s.stopped = Some(stop.clone());
        self.out.push(SupervisorEffect::Stop(stop));
    }

    /// The only way to the model: what is to be said is made from the state as it is, and takes the place of the last.
    fn speak(&mut self) {
        let now = wording::now(self.s);
        if let Some(correction) = self.s.port.say(now) {
            self.out.push(SupervisorEffect::Correct(correction));
        }
    }

    fn log(&mut self, event: TimelineKind, reason: &str, payload: Value) {
        self.out.push(SupervisorEffect::Log(TimelineRecord {
            ts: self.ts,
            run: self.s.run.clone(),
            round: self.s.round,
            level: self.s.config.level,
            mode: self.s.mode(),
            phase: self.s.phase.phase(),
            event,
            reason: reason.to_owned(),
            payload,
        }));
    }
}
