//! Facts for tests, in few words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_core::ids::RunId;
use holon_core::policy::ToolClass;

use crate::config::SupervisorConfig;
use crate::effect::{GateRuling, GateVerdict, StopKind, SupervisorEffect};
use crate::event::{
    CallProposal, CheckCommand, CheckOutcome, FileHash, FinishedCall, GitState, HashedFileChange,
    ProvenEffects, RoundEnd, SupervisorEvent, SupervisorFact, SupervisorSetup, WorkspaceState,
};
use crate::ledger::EvidenceLedger;
use crate::level::SupervisorLevel;
use crate::phase::TakeoverPhase;
use crate::state::SupervisorState;
use crate::timeline::{ContractForce, TimelineKind, TimelineRecord};

pub(crate) fn finished(call: &str, ok: bool, evidence: ProvenEffects) -> FinishedCall {
    FinishedCall {
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

pub(crate) fn read(call: &str, path: &str, hash: &str) -> SupervisorFact {
    let read = vec![FileHash { path: path.into(), hash: hash.into() }];
    SupervisorFact::ToolFinished(finished(call, true, ProvenEffects { read, ..ProvenEffects::default() }))
}

pub(crate) fn write(call: &str, path: &str, before: &str, after: &str) -> SupervisorFact {
    let changed = vec![HashedFileChange { path: path.into(), before: before.into(), after: after.into() }];
    SupervisorFact::ToolFinished(finished(call, true, ProvenEffects { changed, ..ProvenEffects::default() }))
}

pub(crate) fn search(call: &str, results: u32) -> SupervisorFact {
    SupervisorFact::ToolFinished(finished(call, true, ProvenEffects { results, ..ProvenEffects::default() }))
}

pub(crate) fn check_ran(command: &str, exit: i32, failing: &[&str]) -> SupervisorFact {
    SupervisorFact::CheckRan(CheckOutcome {
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
pub(crate) fn of_call(call: &str, fact: SupervisorFact) -> SupervisorFact {
    match fact {
        SupervisorFact::CheckRan(check) => {
            SupervisorFact::CheckRan(CheckOutcome { call: call.parse().ok(), ..check })
        }
        other => other,
    }
}

pub(crate) fn proposal(call: &str, class: ToolClass, target: &str) -> CallProposal {
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
    CallProposal { call: call.parse().unwrap(), tool: tool.into(), class, targets, arguments, command }
}

pub(crate) fn setup(mode: &str, goal: &str) -> SupervisorSetup {
    SupervisorSetup {
        run: RunId::from_parts(0, [0; 4]),
        mode: mode.into(),
        goal: goal.into(),
        plan_files: Vec::new(),
        plan_steps: 0,
        checks: vec![CheckCommand { command: "cargo test".into(), asked: false }],
        monorepo: false,
        token_limit: 0,
        round_limit: 0,
        foreign: false,
    }
}

/// A run under test: a state, its ledger, and everything that was decided.
pub(crate) struct SupervisedScene {
    pub(crate) state: SupervisorState,
    pub(crate) ledger: EvidenceLedger,
    pub(crate) events: Vec<SupervisorEvent>,
    pub(crate) effects: Vec<SupervisorEffect>,
    /// Those of the last event.
    pub(crate) last: Vec<SupervisorEffect>,
    calls: u32,
    content: u32,
    diff_lines: u32,
    pub(crate) workspace: Option<WorkspaceState>,
    pub(crate) tokens: u64,
}

impl SupervisedScene {
    pub(crate) fn event(fact: SupervisorFact) -> SupervisorEvent {
        SupervisorEvent { ts: 7, fact }
    }

    pub(crate) fn with(config: SupervisorConfig, setup: SupervisorSetup) -> Self {
        let mut scene = Self {
            state: SupervisorState::new(config),
            ledger: EvidenceLedger::default(),
            events: Vec::new(),
            effects: Vec::new(),
            last: Vec::new(),
            calls: 0,
            content: 0,
            diff_lines: 0,
            workspace: Some(WorkspaceState {
                git: GitState::Normal,
                verified: true,
                ..WorkspaceState::default()
            }),
            tokens: 100,
        };
        scene.feed(SupervisorFact::RunStarted(Box::new(setup)));
        scene
    }

    /// A run that executes `goal` at a level.
    pub(crate) fn new(level: SupervisorLevel, goal: &str) -> Self {
        Self::with(SupervisorConfig { level, ..SupervisorConfig::default() }, setup("execute", goal))
    }

    pub(crate) fn feed(&mut self, fact: SupervisorFact) -> &[SupervisorEffect] {
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

    pub(crate) fn start(&mut self) -> &[SupervisorEffect] {
        let round = self.state.round() + 1;
        self.feed(SupervisorFact::RoundStarted { round })
    }

    /// Ends the round without text.
    pub(crate) fn end(&mut self) -> &[SupervisorEffect] {
        self.end_with(false)
    }

    pub(crate) fn end_with(&mut self, text: bool) -> &[SupervisorEffect] {
        let end = RoundEnd {
            tokens: self.tokens,
            text,
            text_only: text,
            diff_lines: self.diff_lines,
            gone_lines: 0,
            changed: Vec::new(),
            workspace: self.workspace.clone(),
        };
        self.feed(SupervisorFact::RoundEnded(end))
    }

    pub(crate) fn diff(&mut self, lines: u32) {
        self.diff_lines = lines;
    }

    fn call(&mut self) -> String {
        self.calls += 1;
        format!("c{}", self.calls)
    }

    /// Proposes; the gate's answer and the call's name.
    pub(crate) fn propose(&mut self, class: ToolClass, target: &str) -> (GateRuling, String) {
        let call = self.call();
        self.feed(SupervisorFact::ToolProposed(proposal(&call, class, target)));
        let gate = self.gate();
        (gate, call)
    }

    /// The gate's answer to the last event.
    pub(crate) fn gate(&self) -> GateRuling {
        let mut gates = self.last.iter().filter_map(|effect| match effect {
            SupervisorEffect::Gate(gate) => Some(gate.clone()),
            _ => None,
        });
        let gate = gates.next().expect("one answer");
        assert_eq!(gates.next(), None, "one answer");
        gate
    }

    /// Reads a file if the gate lets it.
    pub(crate) fn read(&mut self, path: &str) -> GateVerdict {
        let (gate, call) = self.propose(ToolClass::Read, path);
        if gate.verdict != GateVerdict::Block {
            self.feed(read(&call, path, "h0"));
        }
        gate.verdict
    }

    /// Writes a new content if the gate lets it.
    pub(crate) fn write(&mut self, path: &str) -> GateVerdict {
        let (gate, call) = self.propose(ToolClass::Write, path);
        if gate.verdict != GateVerdict::Block {
            self.content += 1;
            let (before, after) = (format!("h{}", self.content - 1), format!("h{}", self.content));
            self.feed(write(&call, path, &before, &after));
        }
        gate.verdict
    }

    pub(crate) fn search(&mut self) -> GateVerdict {
        let (gate, call) = self.propose(ToolClass::Search, "x");
        if gate.verdict != GateVerdict::Block {
            self.feed(search(&call, 3));
        }
        gate.verdict
    }

    /// A command that is no check.
    pub(crate) fn exec(&mut self, command: &str, error: Option<&str>) -> GateVerdict {
        let (gate, call) = self.propose(ToolClass::Exec, command);
        if gate.verdict != GateVerdict::Block {
            let mut done = finished(&call, error.is_none(), ProvenEffects::default());
            done.exit = Some(i32::from(error.is_some()));
            done.error = error.map(str::to_owned);
            done.result = Some(crate::result_digest(error.unwrap_or_default(), error.is_some()));
            self.feed(SupervisorFact::ToolFinished(done));
        }
        gate.verdict
    }

    /// A command that prints something.
    pub(crate) fn prints(&mut self, command: &str, text: &str) -> GateVerdict {
        let (gate, call) = self.propose(ToolClass::Exec, command);
        if gate.verdict != GateVerdict::Block {
            let mut done = finished(&call, true, ProvenEffects::default());
            (done.exit, done.result) = (Some(0), Some(crate::result_digest(text, false)));
            self.feed(SupervisorFact::ToolFinished(done));
        }
        gate.verdict
    }

    /// A command that prints the same words with other times.
    pub(crate) fn measures(&mut self, command: &str) {
        let (_, call) = self.propose(ToolClass::Exec, command);
        let mut done = finished(&call, true, ProvenEffects::default());
        (done.exit, done.result, done.varies) = (Some(0), Some("0".to_owned()), true);
        self.feed(SupervisorFact::ToolFinished(done));
    }

    /// Does what it is asked to between rounds: runs the check, with these cases failing.
    pub(crate) fn obey(&mut self, failing: &[&str]) {
        if self.last.iter().any(|effect| matches!(effect, SupervisorEffect::Check { .. })) {
            self.feed(check_ran("cargo test", i32::from(!failing.is_empty()), failing));
        }
    }

    /// The text that stands at the end of a request now.
    pub(crate) fn stands(&self) -> &str {
        self.texts().last().copied().unwrap_or_default()
    }

    /// A check run by the model; the cases are those that fail.
    pub(crate) fn check(&mut self, failing: &[&str]) -> GateVerdict {
        self.check_with("cargo test", failing)
    }

    pub(crate) fn check_with(&mut self, command: &str, failing: &[&str]) -> GateVerdict {
        let (gate, call) = self.propose(ToolClass::Exec, command);
        if gate.verdict != GateVerdict::Block {
            let mut done = finished(&call, failing.is_empty(), ProvenEffects::default());
            (done.exit, done.check) = (Some(i32::from(!failing.is_empty())), true);
            done.result = Some(crate::result_digest(&failing.join("\n"), !failing.is_empty()));
            self.feed(SupervisorFact::ToolFinished(done));
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

    pub(crate) fn mode(&self) -> ContractForce {
        self.state.mode()
    }

    pub(crate) fn phase(&self) -> TakeoverPhase {
        self.state.phase()
    }

    /// The rule behind the last answer.
    pub(crate) fn gate_rule(&self) -> crate::effect::GateRule {
        let rule = |effect: &SupervisorEffect| {
            if let SupervisorEffect::Gate(gate) = effect { Some(gate.rule) } else { None }
        };
        self.effects.iter().rev().find_map(rule).expect("an answer")
    }

    pub(crate) fn logs(&self) -> Vec<&TimelineRecord> {
        self.effects
            .iter()
            .filter_map(|effect| if let SupervisorEffect::Log(record) = effect { Some(record) } else { None })
            .collect()
    }

    pub(crate) fn logged(&self, event: TimelineKind, reason: &str) -> bool {
        self.logs().iter().any(|record| record.event == event && record.reason.starts_with(reason))
    }

    /// Whether the last event led to a record of that reason.
    pub(crate) fn logged_last(&self, reason: &str) -> bool {
        self.last
            .iter()
            .any(|effect| matches!(effect, SupervisorEffect::Log(record) if record.reason == reason))
    }

    pub(crate) fn stops(&self) -> Vec<StopKind> {
        let stop = |effect: &SupervisorEffect| {
            if let SupervisorEffect::Stop(stop) = effect { Some(stop.kind) } else { None }
        };
        self.effects.iter().filter_map(stop).collect()
    }

    /// All texts that went to the model through the port.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.effects
            .iter()
            .filter_map(|effect| {
                if let SupervisorEffect::Correct(correction) = effect {
                    Some(correction.text())
                } else {
                    None
                }
            })
            .collect()
    }

    pub(crate) fn phases(&self) -> Vec<TakeoverPhase> {
        let to = |effect: &SupervisorEffect| {
            if let SupervisorEffect::Phase(change) = effect { Some(change.to) } else { None }
        };
        self.effects.iter().filter_map(to).collect()
    }
}
