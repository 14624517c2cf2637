//! Facts for tests, in few words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_core::ids::RunId;
use holon_core::policy::ToolClass;

use crate::config::Config;
use crate::effect::{Effect, Gate, StopKind, Verdict};
use crate::event::{
    CheckRan, Event, Evidence, Fact, FileChange, FileHash, Finished, GitState, KnownCheck, Proposal,
    RoundEnd, Setup, Workspace,
};
use crate::ledger::Ledger;
use crate::level::Level;
use crate::phase::Phase;
use crate::state::State;
use crate::timeline::{Kind, Mode, Record};

pub(crate) fn finished(call: &str, ok: bool, evidence: Evidence) -> Finished {
    Finished {
        call: call.parse().unwrap(),
        ok,
        exit: None,
        check: false,
        error: None,
        varies: false,
        duration_ms: 1,
        result: None,
        evidence,
    }
}

pub(crate) fn read(call: &str, path: &str, hash: &str) -> Fact {
    let read = vec![FileHash { path: path.into(), hash: hash.into() }];
    Fact::ToolFinished(finished(call, true, Evidence { read, ..Evidence::default() }))
}

pub(crate) fn write(call: &str, path: &str, before: &str, after: &str) -> Fact {
    let changed = vec![FileChange { path: path.into(), before: before.into(), after: after.into() }];
    Fact::ToolFinished(finished(call, true, Evidence { changed, ..Evidence::default() }))
}

pub(crate) fn search(call: &str, results: u32) -> Fact {
    Fact::ToolFinished(finished(call, true, Evidence { results, ..Evidence::default() }))
}

pub(crate) fn check_ran(command: &str, exit: i32, failing: &[&str]) -> Fact {
    Fact::CheckRan(CheckRan {
        call: None,
        command: command.into(),
        exit: Some(exit),
        passed: 1,
        failed: failing.len() as u32,
        skipped: 0,
        failing: failing.iter().map(ToString::to_string).collect(),
        diagnostics: 0,
        duration_ms: 1,
        says: None,
        result: None,
        changed: Vec::new(),
    })
}

/// A check that a call of the model was.
pub(crate) fn of_call(call: &str, fact: Fact) -> Fact {
    match fact {
        Fact::CheckRan(check) => Fact::CheckRan(CheckRan { call: call.parse().ok(), ..check }),
        other => other,
    }
}

pub(crate) fn proposal(call: &str, class: ToolClass, target: &str) -> Proposal {
    let (tool, targets, command) = match class {
        ToolClass::Exec => ("execute", Vec::new(), Some(target.to_owned())),
        ToolClass::Write => ("edit_file", vec![target.to_owned()], None),
        ToolClass::Search => ("grep", Vec::new(), None),
        ToolClass::Control => ("finish", Vec::new(), None),
        ToolClass::Delegate => ("delegate", Vec::new(), None),
        ToolClass::Ask => ("ask_user", Vec::new(), None),
        _ => ("read_file", vec![target.to_owned()], None),
    };
    let arguments = format!("{class}:{target}");
    Proposal { call: call.parse().unwrap(), tool: tool.into(), class, targets, arguments, command }
}

pub(crate) fn setup(mode: &str, goal: &str) -> Setup {
    Setup {
        run: RunId::from_parts(0, [0; 4]),
        mode: mode.into(),
        goal: goal.into(),
        plan_files: Vec::new(),
        plan_steps: 0,
        checks: vec![KnownCheck { command: "cargo test".into(), asked: false }],
        monorepo: false,
        token_limit: 0,
        round_limit: 0,
        foreign: false,
    }
}

/// A run under test: a state, its ledger, and everything that was decided.
pub(crate) struct Scene {
    pub(crate) state: State,
    pub(crate) ledger: Ledger,
    pub(crate) events: Vec<Event>,
    pub(crate) effects: Vec<Effect>,
    /// Those of the last event.
    pub(crate) last: Vec<Effect>,
    calls: u32,
    content: u32,
    diff_lines: u32,
    pub(crate) workspace: Option<Workspace>,
    pub(crate) tokens: u64,
}

impl Scene {
    pub(crate) fn event(fact: Fact) -> Event {
        Event { ts: 7, fact }
    }

    pub(crate) fn with(config: Config, setup: Setup) -> Self {
        let mut scene = Self {
            state: State::new(config),
            ledger: Ledger::default(),
            events: Vec::new(),
            effects: Vec::new(),
            last: Vec::new(),
            calls: 0,
            content: 0,
            diff_lines: 0,
            workspace: Some(Workspace { git: GitState::Normal, verified: true, ..Workspace::default() }),
            tokens: 100,
        };
        scene.feed(Fact::RunStarted(Box::new(setup)));
        scene
    }

    /// A run that executes `goal` at a level.
    pub(crate) fn new(level: Level, goal: &str) -> Self {
        Self::with(Config { level, ..Config::default() }, setup("execute", goal))
    }

    pub(crate) fn feed(&mut self, fact: Fact) -> &[Effect] {
        let event = Self::event(fact);
        self.ledger.absorb(&event);
        let state = std::mem::take(&mut self.state);
        let (state, effects) = crate::step(state, &event);
        self.state = state;
        self.events.push(event);
        self.effects.extend(effects.clone());
        self.last = effects;
        &self.last
    }

    pub(crate) fn start(&mut self) -> &[Effect] {
        let round = self.state.round() + 1;
        self.feed(Fact::RoundStarted { round })
    }

    /// Ends the round without text.
    pub(crate) fn end(&mut self) -> &[Effect] {
        self.end_with(false)
    }

    pub(crate) fn end_with(&mut self, text: bool) -> &[Effect] {
        let end = RoundEnd {
            tokens: self.tokens,
            text,
            text_only: text,
            diff_lines: self.diff_lines,
            gone_lines: 0,
            changed: Vec::new(),
            workspace: self.workspace.clone(),
        };
        self.feed(Fact::RoundEnded(end))
    }

    pub(crate) fn diff(&mut self, lines: u32) {
        self.diff_lines = lines;
    }

    fn call(&mut self) -> String {
        self.calls += 1;
        format!("c{}", self.calls)
    }

    /// Proposes; the gate's answer and the call's name.
    pub(crate) fn propose(&mut self, class: ToolClass, target: &str) -> (Gate, String) {
        let call = self.call();
        self.feed(Fact::ToolProposed(proposal(&call, class, target)));
        let gate = self.gate();
        (gate, call)
    }

    /// The gate's answer to the last event.
    pub(crate) fn gate(&self) -> Gate {
        let mut gates = self.last.iter().filter_map(|effect| match effect {
            Effect::Gate(gate) => Some(gate.clone()),
            _ => None,
        });
        let gate = gates.next().expect("one answer");
        assert_eq!(gates.next(), None, "one answer");
        gate
    }

    /// Reads a file if the gate lets it.
    pub(crate) fn read(&mut self, path: &str) -> Verdict {
        let (gate, call) = self.propose(ToolClass::Read, path);
        if gate.verdict != Verdict::Block {
            self.feed(read(&call, path, "h0"));
        }
        gate.verdict
    }

    /// Writes a new content if the gate lets it.
    pub(crate) fn write(&mut self, path: &str) -> Verdict {
        let (gate, call) = self.propose(ToolClass::Write, path);
        if gate.verdict != Verdict::Block {
            self.content += 1;
            let (before, after) = (format!("h{}", self.content - 1), format!("h{}", self.content));
            self.feed(write(&call, path, &before, &after));
        }
        gate.verdict
    }

    pub(crate) fn search(&mut self) -> Verdict {
        let (gate, call) = self.propose(ToolClass::Search, "x");
        if gate.verdict != Verdict::Block {
            self.feed(search(&call, 3));
        }
        gate.verdict
    }

    /// A command that is no check.
    pub(crate) fn exec(&mut self, command: &str, error: Option<&str>) -> Verdict {
        let (gate, call) = self.propose(ToolClass::Exec, command);
        if gate.verdict != Verdict::Block {
            let mut done = finished(&call, error.is_none(), Evidence::default());
            done.exit = Some(i32::from(error.is_some()));
            done.error = error.map(str::to_owned);
            done.result = Some(crate::result_digest(error.unwrap_or_default(), error.is_some()));
            self.feed(Fact::ToolFinished(done));
        }
        gate.verdict
    }

    /// A command that prints something.
    pub(crate) fn prints(&mut self, command: &str, text: &str) -> Verdict {
        let (gate, call) = self.propose(ToolClass::Exec, command);
        if gate.verdict != Verdict::Block {
            let mut done = finished(&call, true, Evidence::default());
            (done.exit, done.result) = (Some(0), Some(crate::result_digest(text, false)));
            self.feed(Fact::ToolFinished(done));
        }
        gate.verdict
    }

    /// A command that prints the same words with other times.
    pub(crate) fn measures(&mut self, command: &str) {
        let (_, call) = self.propose(ToolClass::Exec, command);
        let mut done = finished(&call, true, Evidence::default());
        (done.exit, done.result, done.varies) = (Some(0), Some("0".to_owned()), true);
        self.feed(Fact::ToolFinished(done));
    }

    /// Does what it is asked to between rounds: runs the check, with these cases failing.
    pub(crate) fn obey(&mut self, failing: &[&str]) {
        if self.last.iter().any(|effect| matches!(effect, Effect::Check { .. })) {
            self.feed(check_ran("cargo test", i32::from(!failing.is_empty()), failing));
        }
    }

    /// The text that stands at the end of a request now.
    pub(crate) fn stands(&self) -> &str {
        self.texts().last().copied().unwrap_or_default()
    }

    /// A check run by the model; the cases are those that fail.
    pub(crate) fn check(&mut self, failing: &[&str]) -> Verdict {
        self.check_with("cargo test", failing)
    }

    pub(crate) fn check_with(&mut self, command: &str, failing: &[&str]) -> Verdict {
        let (gate, call) = self.propose(ToolClass::Exec, command);
        if gate.verdict != Verdict::Block {
            let mut done = finished(&call, failing.is_empty(), Evidence::default());
            (done.exit, done.check) = (Some(i32::from(!failing.is_empty())), true);
            done.result = Some(crate::result_digest(&failing.join("\n"), !failing.is_empty()));
            self.feed(Fact::ToolFinished(done));
            self.feed(of_call(&call, check_ran(command, i32::from(!failing.is_empty()), failing)));
        }
        gate.verdict
    }

    /// One round with what `act` does in it.
    pub(crate) fn round(&mut self, act: impl FnOnce(&mut Self)) -> &mut Self {
        self.start();
        act(self);
        self.end();
        self
    }

    pub(crate) fn mode(&self) -> Mode {
        self.state.mode()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.state.phase()
    }

    /// The rule behind the last answer.
    pub(crate) fn gate_rule(&self) -> crate::effect::Rule {
        let rule = |effect: &Effect| if let Effect::Gate(gate) = effect { Some(gate.rule) } else { None };
        self.effects.iter().rev().find_map(rule).expect("an answer")
    }

    pub(crate) fn logs(&self) -> Vec<&Record> {
        self.effects
            .iter()
            .filter_map(|effect| if let Effect::Log(record) = effect { Some(record) } else { None })
            .collect()
    }

    pub(crate) fn logged(&self, event: Kind, reason: &str) -> bool {
        self.logs().iter().any(|record| record.event == event && record.reason.starts_with(reason))
    }

    /// Whether the last event led to a record of that reason.
    pub(crate) fn logged_last(&self, reason: &str) -> bool {
        self.last.iter().any(|effect| matches!(effect, Effect::Log(record) if record.reason == reason))
    }

    pub(crate) fn stops(&self) -> Vec<StopKind> {
        let stop = |effect: &Effect| if let Effect::Stop(stop) = effect { Some(stop.kind) } else { None };
        self.effects.iter().filter_map(stop).collect()
    }

    /// All texts that went to the model through the port.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.effects
            .iter()
            .filter_map(
                |effect| {
                    if let Effect::Correct(correction) = effect { Some(correction.text()) } else { None }
                },
            )
            .collect()
    }

    pub(crate) fn phases(&self) -> Vec<Phase> {
        let to = |effect: &Effect| if let Effect::Phase(change) = effect { Some(change.to) } else { None };
        self.effects.iter().filter_map(to).collect()
    }
}
