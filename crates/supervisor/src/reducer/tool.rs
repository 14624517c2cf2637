//! Calls: proposed, decided, come back.

use holon_core::policy::ToolClass;
use serde_json::json;

use super::ReducerStep;
use crate::checks;
use crate::effect::{GateRule, GateRuling, GateSubject, GateVerdict, SupervisorEffect};
use crate::event::{CallProposal, CheckOutcome, FinishedCall, ProvenEffects, SupervisorFact};
use crate::gate::{self, ContractRuling};
use crate::graph::AdvanceTrigger;
use crate::key::{FnvHash, clip, key, push_bounded};
use crate::known::{COMMAND, CallEnding};
use crate::phase::EscalationStage;
use crate::signature::{signature, telling_line};
use crate::state::PendingCall;
use crate::timeline::TimelineKind;
use crate::wording;
use crate::words::{OUTPUTS, is_among, is_looking};

/// Most calls remembered until they come back.
const PENDING: usize = 32;
const WARNED: usize = 32;
/// A call that takes so long was waited for.
const LONG_MS: u64 = 5_000;

/// A decision about a call.
struct CallRuling(GateVerdict, GateRule, String);

impl CallRuling {
    const fn allow(rule: GateRule) -> Self {
        Self(GateVerdict::Allow, rule, String::new())
    }
}

impl ReducerStep<'_> {
    pub(super) fn tool_proposed(&mut self, proposal: &CallProposal) {
        let call_key = key([proposal.tool.as_str(), proposal.arguments.as_str()]);
        let command = proposal.command.as_deref().map(|command| clip(command, COMMAND));
        let CallRuling(verdict, rule, why) = self.rule_on(proposal, call_key);
        let blocked = verdict == GateVerdict::Block;
        if (!blocked || self.s.observing)
            && let Some(node) = self.s.graph.as_mut().and_then(|graph| graph.current_mut())
        {
            node.calls = node.calls.saturating_add(u32::from(proposal.class != ToolClass::Control));
        }
        if verdict != GateVerdict::Allow {
            let payload = json!({"call": proposal.call, "tool": proposal.tool, "rule": rule, "why": why});
            self.log(TimelineKind::Failure, if blocked { "gate:block" } else { "gate:warn" }, payload);
        }
        let (call, tool) = (proposal.call.clone(), clip(&proposal.tool, COMMAND));
        let class = proposal.class;
        let pending = PendingCall { call: call.clone(), class, key: call_key, tool, command, blocked };
        push_bounded(&mut self.s.pending, pending, PENDING);
        self.out.push(SupervisorEffect::Gate(GateRuling {
            subject: GateSubject::Call(call),
            verdict,
            rule,
            why,
        }));
    }

    fn rule_on(&mut self, proposal: &CallProposal, call_key: u64) -> CallRuling {
        if let Some(stop) = self.s.stopped.as_ref().filter(|_| !self.s.foreign) {
            return CallRuling(
                GateVerdict::Block,
                GateRule::Stopped,
                format!("The run is stopped: {}", stop.reason),
            );
        }
        if proposal.class == ToolClass::Control {
            return CallRuling::allow(GateRule::Control);
        }
        if !self.s.config.level.acts() {
            return CallRuling::allow(GateRule::Trust);
        }
        // Whoever had advice and does the same again is shown once that it cannot help.
        let advised = self.s.phase.stage() == EscalationStage::Advised || self.s.phase.is_recovering();
        if advised
            && !self.s.job
            && let Some(proof) = self.s.known.futile(call_key)
        {
            // Whoever asks nobody can only be told.
            return match self.s.foreign {
                true => CallRuling(GateVerdict::Warn, GateRule::Futile, wording::called_in_vain(&proof)),
                false => CallRuling(GateVerdict::Block, GateRule::Futile, wording::futile(&proof)),
            };
        }
        // Where contracts are enforced they never close the repair of what is red.
        if self.s.binds() && self.s.known.fresh_red().is_none() {
            return self.rule_by_plan(proposal);
        }
        CallRuling::allow(GateRule::Trust)
    }

    /// The step's contract.
    fn rule_by_plan(&mut self, proposal: &CallProposal) -> CallRuling {
        let s = &mut *self.s;
        let class = proposal.class.to_string();
        let Some(node) = s.graph.as_mut().and_then(|graph| graph.current_mut()) else {
            return CallRuling::allow(GateRule::Trust);
        };
        match gate::rule(node, proposal.class) {
            ContractRuling::Fits => CallRuling::allow(GateRule::Contract),
            ContractRuling::Beside => {
                let mut note = FnvHash::new();
                note.add(&node.id);
                note.add(&class);
                note.number(u64::from(s.graphs));
                let note = note.end();
                if s.warned.contains(&note) {
                    return CallRuling::allow(GateRule::Contract);
                }
                let why = wording::beside(node);
                push_bounded(&mut s.warned, note, WARNED);
                CallRuling(GateVerdict::Warn, GateRule::Contract, why)
            }
            ruling @ (ContractRuling::Against | ContractRuling::Spent) => {
                node.blocked = node.blocked.saturating_add(1);
                CallRuling(
                    GateVerdict::Block,
                    GateRule::Contract,
                    wording::against(node, &class, ruling == ContractRuling::Spent),
                )
            }
        }
    }

    pub(super) fn call_malformed(&mut self, tool: &str, why: &str) {
        if self.s.stopped.is_some() {
            return;
        }
        self.s.known.round.malformed = self.s.known.round.malformed.saturating_add(1);
        self.s.watch.malformed();
        let payload = json!({"tool": clip(tool, 80), "why": clip(why, 200)});
        self.log(TimelineKind::Failure, "call:malformed", payload);
    }

    pub(super) fn tool_finished(&mut self, fact: &SupervisorFact, done: &FinishedCall) {
        let at = self.s.pending.iter().position(|pending| pending.call == done.call);
        let pending = at.map(|at| self.s.pending.remove(at));
        let trespass = pending.as_ref().is_some_and(|pending| pending.blocked) && !self.s.observing;
        let before = self.s.known.round.clone();
        let brought = self.s.known.absorb(fact, self.s.round);
        self.came_back(done, pending.as_ref());
        if trespass {
            // The facts are facts, but nothing is earned by them.
            self.s.known.round = before;
            self.log(TimelineKind::Failure, "engine:blocked_call_executed", json!({"call": done.call}));
        }
        if brought.mutations > 0 {
            self.graph_mutated();
        }
        self.tick(AdvanceTrigger::Tool);
    }

    fn came_back(&mut self, done: &FinishedCall, pending: Option<&PendingCall>) {
        let s = &mut *self.s;
        let steers = pending.is_some_and(|pending| pending.class == ToolClass::Control);
        let command = pending.and_then(|pending| pending.command.as_deref());
        let call = pending.map_or(0, |pending| pending.key);
        let waits = done.duration_ms >= LONG_MS || command.is_some_and(waits);
        s.known.round.waited |= waits;
        // Nobody knows when it ends.
        s.job |= command.is_some_and(|line| done.exit.is_none() || leaves_running(line));
        // That something was written is no answer: what was written is looked at by itself.
        let wrote = command.is_none() && !done.evidence.changed.is_empty();
        if !steers && !done.check && !wrote {
            let looks =
                pending.is_some_and(|pending| matches!(pending.class, ToolClass::Read | ToolClass::Search));
            let found_nothing = looks && done.ok && done.evidence == ProvenEffects::default();
            let empty = found_nothing || (!done.ok && command.is_some_and(is_looking));
            s.known.learn(call, done.result.as_deref(), done.ok, empty);
            // Whoever measures gets other times for the same words.
            let measured = done.ok && command.is_some() && done.varies;
            s.known.round.waited |= measured;
        }
        let says = done.error.as_deref().map(telling_line).unwrap_or_default();
        let label = command.or(pending.map(|pending| pending.tool.as_str())).unwrap_or_default();
        let (ok, exit, result) = (done.ok, done.exit, done.result.as_deref());
        let wrote = !done.evidence.changed.is_empty();
        s.known.ended(&CallEnding {
            call,
            label,
            command: command.is_some(),
            wrote,
            ok,
            exit,
            result,
            says,
            waits,
        });
        if done.ok {
            s.watch.passed(call);
        }
        if done.ok || done.check {
            return;
        }
        let error = match (&done.error, done.exit) {
            (Some(text), _) => signature(text),
            (None, Some(exit)) => format!("exit {exit}"),
            (None, None) => "failed".to_owned(),
        };
        s.watch.failed(&error, call);
    }

    /// A check whose program is not there proves nothing and cannot be demanded, unless the user asked for it.
    fn cannot_check(&mut self, command: &str) {
        let runner = checks::recognise(command);
        let same = |known: &str| known == command || (runner.is_some() && checks::recognise(known) == runner);
        self.s.checks.retain(|known| known.asked || !same(&known.command));
        self.log(TimelineKind::Failure, "check:cannot_run", json!({"command": command}));
    }

    pub(super) fn check_ran(&mut self, fact: &SupervisorFact, check: &CheckOutcome) {
        let s = &mut *self.s;
        let command = clip(&check.command, COMMAND);
        let in_vain =
            s.known.checks().iter().any(|old| old.command == command && !old.ok && s.known.is_fresh(old));
        let before = (s.known.round.news, s.known.round.red_new);
        let brought = s.known.absorb(fact, s.round);
        if check.call.is_none() {
            // What the host finds out is not what the agent has.
            (s.known.round.news, s.known.round.red_new) = before;
        }
        if !check.could_run() {
            return self.cannot_check(&command);
        }
        s.unchecked = 0;
        // A failing check is information, unless nothing was changed since it last failed.
        if !check.passed_whole() && in_vain && check.call.is_some() {
            let mut cases = check.failing.clone();
            cases.sort_unstable();
            let told = if cases.is_empty() { String::new() } else { format!(": {}", cases.join(", ")) };
            let what = signature(&format!("`{command}` fails{told}"));
            s.watch.failed(&what, key([command.as_str()]));
        }
        if check.passed_whole() {
            s.watch.passed(key([command.as_str()]));
        }
        if brought.mutations > 0 {
            self.graph_mutated();
        }
        if brought.verified {
            self.s.verification.forget();
        }
        self.tick(AdvanceTrigger::Check { ok: check.passed_whole() });
        if check.call.is_none() {
            self.facts_came();
        }
    }
}

/// Whether a command waits for something.
fn waits(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric()).any(|word| is_among(&OUTPUTS.waiting, word))
}

/// Whether a command leaves something running when it ends.
fn leaves_running(line: &str) -> bool {
    let bytes = line.as_bytes();
    let alone = |at: usize| {
        let near = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
        bytes[at] == b'&'
            && ![b'&', b'>'].contains(&near(at.checked_sub(1)))
            && ![b'&', b'>'].contains(&near(Some(at + 1)))
    };
    (0..bytes.len()).any(alone)
}
