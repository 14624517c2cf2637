//! Calls: proposed, decided, come back.

use holon_core::policy::ToolClass;
use serde_json::json;

use super::Step;
use crate::checks;
use crate::effect::{Effect, Gate, Rule, Subject, Verdict};
use crate::event::{CheckRan, Evidence, Fact, Finished, Proposal};
use crate::gate::{self, Ruling};
use crate::graph::When;
use crate::key::{Hash, clip, key, push_bounded};
use crate::known::{COMMAND, Ended};
use crate::phase::Stage;
use crate::signature::{signature, telling_line};
use crate::state::Pending;
use crate::timeline::Kind;
use crate::wording;
use crate::words::{OUTPUTS, is_among, is_looking};

/// Most calls remembered until they come back.
const PENDING: usize = 32;
const WARNED: usize = 32;
/// A call that takes so long was waited for.
const LONG_MS: u64 = 5_000;

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
        let command = proposal.command.as_deref().map(|command| clip(command, COMMAND));
        let Ruled(verdict, rule, why) = self.rule_on(proposal, call_key);
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
        let (call, tool) = (proposal.call.clone(), clip(&proposal.tool, COMMAND));
        let class = proposal.class;
        let pending = Pending { call: call.clone(), class, key: call_key, tool, command, blocked };
        push_bounded(&mut self.s.pending, pending, PENDING);
        self.out.push(Effect::Gate(Gate { subject: Subject::Call(call), verdict, rule, why }));
    }

    fn rule_on(&mut self, proposal: &Proposal, call_key: u64) -> Ruled {
        if let Some(stop) = self.s.stopped.as_ref().filter(|_| !self.s.foreign) {
            return Ruled(Verdict::Block, Rule::Stopped, format!("The run is stopped: {}", stop.reason));
        }
        if proposal.class == ToolClass::Control {
            return Ruled::allow(Rule::Control);
        }
        if !self.s.config.level.acts() {
            return Ruled::allow(Rule::Trust);
        }
        // Whoever had advice and does the same again is shown once that it cannot help.
        let advised = self.s.phase.stage() == Stage::Advised || self.s.phase.is_recovering();
        if advised
            && !self.s.job
            && let Some(proof) = self.s.known.futile(call_key)
        {
            // Whoever asks nobody can only be told.
            return match self.s.foreign {
                true => Ruled(Verdict::Warn, Rule::Futile, wording::called_in_vain(&proof)),
                false => Ruled(Verdict::Block, Rule::Futile, wording::futile(&proof)),
            };
        }
        // Where contracts are enforced they never close the repair of what is red.
        if self.s.binds() && self.s.known.fresh_red().is_none() {
            return self.rule_by_plan(proposal);
        }
        Ruled::allow(Rule::Trust)
    }

    /// The step's contract.
    fn rule_by_plan(&mut self, proposal: &Proposal) -> Ruled {
        let s = &mut *self.s;
        let class = proposal.class.to_string();
        let Some(node) = s.graph.as_mut().and_then(|graph| graph.current_mut()) else {
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

    pub(super) fn call_malformed(&mut self, tool: &str, why: &str) {
        if self.s.stopped.is_some() {
            return;
        }
        self.s.known.round.malformed = self.s.known.round.malformed.saturating_add(1);
        self.s.watch.malformed();
        let payload = json!({"tool": clip(tool, 80), "why": clip(why, 200)});
        self.log(Kind::Failure, "call:malformed", payload);
    }

    pub(super) fn tool_finished(&mut self, fact: &Fact, done: &Finished) {
        let at = self.s.pending.iter().position(|pending| pending.call == done.call);
        let pending = at.map(|at| self.s.pending.remove(at));
        let trespass = pending.as_ref().is_some_and(|pending| pending.blocked) && !self.s.observing;
        let before = self.s.known.round.clone();
        let brought = self.s.known.absorb(fact, self.s.round);
        self.came_back(done, pending.as_ref());
        if trespass {
            // The facts are facts, but nothing is earned by them.
            self.s.known.round = before;
            self.log(Kind::Failure, "engine:blocked_call_executed", json!({"call": done.call}));
        }
        if brought.mutations > 0 {
            self.graph_mutated();
        }
        self.tick(When::Tool);
    }

    fn came_back(&mut self, done: &Finished, pending: Option<&Pending>) {
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
            let found_nothing = looks && done.ok && done.evidence == Evidence::default();
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
        s.known.ended(&Ended {
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
        self.log(Kind::Failure, "check:cannot_run", json!({"command": command}));
    }

    pub(super) fn check_ran(&mut self, fact: &Fact, check: &CheckRan) {
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
        self.tick(When::Check { ok: check.passed_whole() });
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
