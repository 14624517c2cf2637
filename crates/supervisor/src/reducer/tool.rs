//! Calls: proposed, decided, come back.

use holon_core::policy::ToolClass;
use serde_json::json;

use super::Step;
use crate::budget::Attempt;
use crate::checks;
use crate::effect::{Effect, Gate, Rule, Subject, Verdict};
use crate::event::{CheckRan, Fact, Finished, Proposal};
use crate::gate::{self, Ruling};
use crate::graph::When;
use crate::key::{Hash, clip, key, push_bounded};
use crate::known::COMMAND;
use crate::mode::Signal;
use crate::risk::is_irreversible;
use crate::signature::signature;
use crate::state::Pending;
use crate::tier::Tier;
use crate::timeline::Kind;
use crate::wording;

/// Most calls remembered until they come back.
const PENDING: usize = 32;
const WARNED: usize = 32;

/// A decision about a call.
struct Ruled(Verdict, Rule, String);

impl Ruled {
    const fn allow(rule: Rule) -> Self {
        Self(Verdict::Allow, rule, String::new())
    }
}

impl Step<'_> {
    pub(super) fn tool_proposed(&mut self, proposal: &Proposal) {
        let call_key = key([proposal.tool.as_str(), proposal.arguments.as_str()]);
        self.s.watch.called(call_key);
        let command = proposal.command.as_deref().map(|command| clip(command, COMMAND));
        if command.as_deref().is_some_and(is_irreversible) {
            self.s.known.irreversible = self.s.known.irreversible.saturating_add(1);
        }
        let Ruled(verdict, rule, why) = self.rule_on(proposal, call_key, command.as_deref());
        let blocked = verdict == Verdict::Block;
        if (!blocked || self.s.observing)
            && let Some(node) = self.s.graph.as_mut().and_then(|graph| graph.current_mut())
        {
            node.calls = node.calls.saturating_add(u32::from(proposal.class != ToolClass::Control));
        }
        if verdict != Verdict::Allow {
            let payload = json!({"call": proposal.call, "tool": proposal.tool, "rule": rule, "why": why});
            self.log(Kind::Failure, if blocked { "gate:block" } else { "gate:warn" }, payload);
        }
        let call = proposal.call.clone();
        let pending = Pending { call: call.clone(), class: proposal.class, key: call_key, command, blocked };
        push_bounded(&mut self.s.pending, pending, PENDING);
        self.out.push(Effect::Gate(Gate { subject: Subject::Call(call), verdict, rule, why }));
    }

    fn rule_on(&mut self, proposal: &Proposal, call_key: u64, command: Option<&str>) -> Ruled {
        if let Some(stop) = &self.s.stopped {
            return Ruled(Verdict::Block, Rule::Stopped, format!("The run is stopped: {}", stop.reason));
        }
        if proposal.class == ToolClass::Control {
            return Ruled::allow(Rule::Control);
        }
        if !self.is_forced() {
            return Ruled::allow(Rule::Trust);
        }
        let ruled = self.rule_by_plan(proposal);
        if ruled.0 == Verdict::Block {
            return ruled;
        }
        let writes: &[String] = if may_write(proposal.class) { &proposal.targets } else { &[] };
        // A check of what was changed since it last ran is no repetition.
        let command = command.filter(|command| !self.s.known.is_due(command));
        self.rule_by_budget(&Attempt { writes, command, call: call_key }).unwrap_or(ruled)
    }

    /// The step's contract, or what holds without one.
    fn rule_by_plan(&mut self, proposal: &Proposal) -> Ruled {
        let s = &mut *self.s;
        let writes = may_write(proposal.class);
        if s.tier.tier() == Tier::WriteIntent && writes {
            let nameless = proposal.class == ToolClass::Unknown && proposal.targets.is_empty();
            let forbidden = s.tier.forbidden(&proposal.targets, &s.named);
            if forbidden.is_some() || nameless {
                let target = forbidden.unwrap_or("it does not say what it writes");
                let why =
                    format!("Not executed: only paths that goal or plan name may be written now ({target}).");
                return Ruled(Verdict::Block, Rule::WriteIntent, why);
            }
        }
        let class = proposal.class.to_string();
        let Some(node) = s.graph.as_mut().and_then(|graph| graph.current_mut()) else {
            let most = s.config.mode.write_targets as usize;
            if writes && proposal.targets.len() > most {
                let why =
                    format!("Not executed: {} files in one call; at most {most}.", proposal.targets.len());
                return Ruled(Verdict::Block, Rule::WriteTargets, why);
            }
            return Ruled::allow(Rule::Trust);
        };
        match gate::rule(node, proposal.class) {
            Ruling::Fits => Ruled::allow(Rule::Contract),
            Ruling::Beside => {
                let mut note = Hash::new();
                note.add(&node.id);
                note.add(&class);
                note.number(u64::from(s.graphs));
                let note = note.end();
                if s.warned.contains(&note) {
                    return Ruled::allow(Rule::Contract);
                }
                let why = wording::beside(node);
                push_bounded(&mut s.warned, note, WARNED);
                Ruled(Verdict::Warn, Rule::Contract, why)
            }
            ruling @ (Ruling::Against | Ruling::Spent) => {
                node.blocked = node.blocked.saturating_add(1);
                Ruled(Verdict::Block, Rule::Contract, wording::against(node, &class, ruling == Ruling::Spent))
            }
        }
    }

    fn rule_by_budget(&mut self, attempt: &Attempt<'_>) -> Option<Ruled> {
        let spent = self.s.budget.check(attempt, &self.s.config.budget)?;
        if spent.first {
            return Some(Ruled(Verdict::Block, Rule::Budget, wording::spent(&spent, true)));
        }
        self.switch_branch("budget");
        if let Some(stop) = &self.s.stopped {
            return Some(Ruled(Verdict::Block, Rule::Stopped, stop.reason.clone()));
        }
        Some(Ruled(Verdict::Warn, Rule::Budget, wording::spent(&spent, false)))
    }

    pub(super) fn tool_finished(&mut self, fact: &Fact, done: &Finished) {
        let at = self.s.pending.iter().position(|pending| pending.call == done.call);
        let pending = at.map(|at| self.s.pending.remove(at));
        let trespass = pending.as_ref().is_some_and(|pending| pending.blocked) && !self.s.observing;
        let before = self.s.known.round.clone();
        let brought = self.s.known.absorb(fact, self.s.round, &self.s.named);
        if trespass {
            // The facts are facts, but nothing is earned by them.
            self.s.known.round = before;
            self.log(Kind::Failure, "engine:blocked_call_executed", json!({"call": done.call}));
            self.s.mode.raise(Signal::EngineFailSafe);
            self.decide_mode(None);
        }
        for change in done.evidence.changed.iter().filter(|change| change.is_real()) {
            self.s.budget.edited(&change.path);
            self.s.watch.edited(&change.path, self.s.round);
        }
        if !done.check {
            self.came_back(done, pending.as_ref());
        }
        if brought.mutations > 0 {
            self.graph_mutated();
        }
        self.tick(When::Tool);
    }

    fn came_back(&mut self, done: &Finished, pending: Option<&Pending>) {
        let s = &mut *self.s;
        s.known.outcome(done.ok);
        let command = pending.and_then(|pending| pending.command.as_deref());
        if done.ok {
            if let Some(command) = command {
                s.budget.command_passed(command);
            }
            return;
        }
        s.mode.raise(Signal::ToolFailure);
        let error = match (&done.error, done.exit) {
            (Some(text), _) => signature(text),
            (None, Some(exit)) => format!("exit {exit}"),
            (None, None) => "failed".to_owned(),
        };
        if let Some(command) = command {
            s.budget.command_failed(command);
        }
        s.budget.error(&error, pending.map_or(0, |pending| pending.key));
        s.watch.failed(&error, s.round);
    }

    /// A check whose program is not there proves nothing and cannot be demanded, unless the user asked for it.
    fn cannot_check(&mut self, command: &str) {
        let runner = checks::recognise(command);
        let same = |known: &str| known == command || (runner.is_some() && checks::recognise(known) == runner);
        self.s.checks.retain(|known| known.asked || !same(&known.command));
        self.log(Kind::Failure, "check:cannot_run", json!({"command": command}));
    }

    pub(super) fn check_ran(&mut self, fact: &Fact, check: &CheckRan) {
        let s = &mut *self.s;
        let command = clip(&check.command, COMMAND);
        let in_vain =
            s.known.checks().iter().any(|old| old.command == command && !old.ok && s.known.is_fresh(old));
        let brought = s.known.absorb(fact, s.round, &s.named);
        if !check.could_run() {
            return self.cannot_check(&command);
        }
        if check.passed_whole() {
            s.budget.command_passed(&command);
        } else {
            // A failing check is information, unless nothing was changed since it last failed.
            if in_vain {
                s.budget.command_failed(&command);
            }
            if !brought.greener {
                let mut cases = check.failing.clone();
                cases.sort_unstable();
                let what = signature(&format!("`{command}` fails: {}", cases.join(", ")));
                s.watch.failed(&what, s.round);
            }
        }
        if brought.mutations > 0 {
            self.graph_mutated();
        }
        let s = &mut *self.s;
        if brought.verified {
            s.budget.verified();
            s.verification.forget();
            self.verified();
        }
        self.tick(When::Check { ok: check.passed_whole() });
        if check.call.is_none() {
            self.facts_came();
        }
    }
}

/// Whether a tool of this class may change files it names.
const fn may_write(class: ToolClass) -> bool {
    matches!(class, ToolClass::Write | ToolClass::Unknown)
}
