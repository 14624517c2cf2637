//! What must never happen, over ten thousand random runs each.
//!
//! The promises share one pass over the streams: each looks after every event of every stream.

use std::collections::{BTreeMap, BTreeSet};

use super::streams::{DEVIATIONS, Run, Seen, level_of, proposal_of};
use crate::budget::Counted;
use crate::correction::CorrectionKind;
use crate::effect::{Effect, GraphChange, Subject, Verdict};
use crate::event::Fact;
use crate::graph::{NodeKind, NodeStatus};
use crate::ledger::What;
use crate::level::Level;
use crate::mode::{Mode, Signal};
use crate::phase::{Phase, name};
use crate::replay::{decisions, replay};
use crate::scene::Scene;
use crate::state::State;
use crate::tier::Tier;
use crate::timeline::Kind;

/// Streams per promise.
const STREAMS: u64 = 10_000;

/// Fewer where somebody only wants to see whether anything is noticed at all.
fn streams() -> u64 {
    std::env::var("HOLON_STREAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(STREAMS)
}
const ROUNDS: u32 = 24;

/// The fact the scene was last told.
fn last_fact(scene: &Scene) -> &Fact {
    &scene.events[scene.events.len() - 1].fact
}

#[test]
fn what_must_never_happen_does_not() {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..streams() {
        let mut run = Run::new(seed, level_of(seed));
        let mut all = Promises::default();
        all.after(&run.scene);
        run.play(ROUNDS, &mut |scene| all.after(scene));
        all.seen.names().into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
    }
    every_phase_tier_and_signal_came_up_often_enough(&counts);
}

#[derive(Default)]
struct Promises {
    gate: Gates,
    port: Ports,
    budget: Budgets,
    mode: Option<Mode>,
    phase: Phase,
    entered: Option<u32>,
    stopped: bool,
    seen: Seen,
}

impl Promises {
    fn after(&mut self, scene: &Scene) {
        self.seen.note(scene);
        self.gate.a_blocked_call_is_never_executed(scene);
        self.port.corrections_come_through_the_port_alone(scene);
        self.budget.budgets_never_grow(scene);
        self.the_mode_has_one_writer(scene);
        self.no_takeover_in_off_or_strict(scene);
        self.no_flip_within_the_lock(scene);
        self.after_a_stop_nothing_is_decided(scene);
        no_node_is_done_without_fresh_evidence(scene);
        the_state_and_the_ledger_agree(scene);
    }

    fn the_mode_has_one_writer(&mut self, scene: &Scene) {
        let switches: Vec<Mode> = scene
            .last
            .iter()
            .filter_map(|effect| if let Effect::Mode(switch) = effect { Some(switch.mode) } else { None })
            .collect();
        assert!(switches.len() <= 1, "one decision per event");
        if let Some(before) = self.mode {
            let expect = switches.first().copied().unwrap_or(before);
            assert_eq!(scene.mode(), expect, "the mode changes by a decision that is told");
            assert!(switches.first() != Some(&before), "a switch is a change");
        }
        let logged = scene
            .last
            .iter()
            .filter(|effect| matches!(effect, Effect::Log(r) if r.reason.starts_with("mode:")));
        assert_eq!(logged.count(), switches.len());
        self.mode = Some(scene.mode());
        match scene.state.level() {
            Level::Off => assert_eq!(scene.mode(), Mode::Free),
            Level::Strict => assert_eq!(scene.mode(), Mode::Forced),
            Level::Adaptive => {}
        }
        if scene.phase() == Phase::Takeover {
            assert_eq!(scene.mode(), Mode::Forced, "takeover implies forced");
        }
    }

    fn no_takeover_in_off_or_strict(&mut self, scene: &Scene) {
        let changes: Vec<(Phase, Phase)> = scene
            .last
            .iter()
            .filter_map(|effect| {
                if let Effect::Phase(change) = effect { Some((change.from, change.to)) } else { None }
            })
            .collect();
        if scene.state.level() != Level::Adaptive {
            assert!(changes.is_empty() && scene.phase() == Phase::Free);
        }
        for (from, to) in changes {
            assert_eq!(from, self.phase, "told without a gap");
            let known = matches!(
                (from, to),
                (Phase::Free, Phase::Takeover)
                    | (Phase::Takeover, Phase::HandoffPending)
                    | (Phase::HandoffPending, Phase::Takeover | Phase::Cooldown)
                    | (Phase::Cooldown, Phase::Free)
            );
            let event = last_fact(scene);
            let asked = matches!(event, Fact::CheckpointResumed | Fact::UserForceTakeover { .. });
            assert!(known || asked, "{from:?} to {to:?} by {event:?}");
            self.phase = to;
        }
        assert_eq!(self.phase, scene.phase());
    }

    fn no_flip_within_the_lock(&mut self, scene: &Scene) {
        for effect in &scene.last {
            let Effect::Mode(switch) = effect else { continue };
            match switch.mode {
                Mode::Forced => self.entered = Some(scene.state.round()),
                Mode::Free => {
                    let since = scene.state.round() - self.entered.take().expect("was forced");
                    assert!(since >= scene.state.config().mode.lock_rounds, "{since}");
                }
            }
        }
    }

    fn after_a_stop_nothing_is_decided(&mut self, scene: &Scene) {
        let event = last_fact(scene);
        if self.stopped && !matches!(event, Fact::CheckpointResumed) {
            assert!(scene.state.stopped().is_some());
            for effect in &scene.last {
                let quiet = match effect {
                    Effect::Gate(gate) => gate.verdict == Verdict::Block || gate.subject == Subject::Done,
                    Effect::Log(_) => true,
                    Effect::Mode(_) => matches!(event, Fact::EngineError { .. }),
                    _ => false,
                };
                assert!(quiet, "{effect:?} by {event:?}");
            }
        }
        self.stopped = scene.state.stopped().is_some();
        if scene.state.level() == Level::Off {
            assert!(!self.stopped);
        }
    }
}

#[derive(Default)]
struct Gates {
    blocked: BTreeSet<String>,
    open: Option<String>,
}

impl Gates {
    fn a_blocked_call_is_never_executed(&mut self, scene: &Scene) {
        let event = last_fact(scene);
        if let Some(proposal) = proposal_of(event) {
            self.open = Some(proposal.call.to_string());
        }
        let gates: Vec<_> = scene
            .last
            .iter()
            .filter_map(|effect| if let Effect::Gate(gate) = effect { Some(gate) } else { None })
            .collect();
        let done = matches!(event, Fact::ModelDone | Fact::ModelGaveUp);
        let expected = usize::from(proposal_of(event).is_some() || done);
        assert_eq!(gates.len(), expected, "one answer to each question and none else");
        for gate in gates {
            if let Subject::Call(call) = &gate.subject {
                assert_eq!(Some(call.to_string()), self.open.take());
                assert_eq!(gate.permit().is_none(), gate.verdict == Verdict::Block);
                assert!(gate.verdict == Verdict::Allow || !gate.why.is_empty(), "a reason is given");
                if gate.verdict == Verdict::Block {
                    self.blocked.insert(call.to_string());
                }
            }
        }
        if let Fact::ToolFinished(done) = event {
            assert!(!self.blocked.contains(done.call.as_str()));
        }
        assert!(!scene.logged_last("engine:blocked_call_executed"));
    }
}

#[derive(Default)]
struct Ports {
    free_hints: u32,
    last: BTreeMap<CorrectionKind, String>,
}

impl Ports {
    fn corrections_come_through_the_port_alone(&mut self, scene: &Scene) {
        let renewed =
            scene.last.iter().any(|effect| matches!(effect, Effect::Log(r) if r.event == Kind::Recover));
        if renewed {
            self.last.clear();
        }
        for effect in &scene.last {
            let Effect::Correct(correction) = effect else { continue };
            let (kind, text) = (correction.kind(), correction.text());
            let tag = if kind == CorrectionKind::GraphHint { crate::GRAPH_TAG } else { crate::RECOVERY_TAG };
            assert!(text.starts_with(tag), "{text}");
            let supervised = matches!(scene.phase(), Phase::Takeover | Phase::HandoffPending);
            match kind {
                CorrectionKind::GraphHint => assert!(!supervised),
                CorrectionKind::Takeover => assert!(supervised),
                CorrectionKind::Recovery => {}
            }
            let bound = scene.mode() == Mode::Forced && scene.state.graph_active();
            self.free_hints += u32::from(kind == CorrectionKind::GraphHint && !bound);
            assert!(self.free_hints <= 3);
            assert_ne!(self.last.insert(kind, text.to_owned()).as_deref(), Some(text), "said twice");
        }
    }
}

#[derive(Default)]
struct Budgets {
    branch: u32,
    debt: u32,
    used: BTreeMap<(Counted, String), u32>,
    takeover: (u32, u32, u64),
    most: u32,
}

impl Budgets {
    fn budgets_never_grow(&mut self, scene: &Scene) {
        let budget = scene.state.budget();
        let used: BTreeMap<_, u32> =
            budget.used().into_iter().map(|(kind, label, used)| ((kind, label.to_owned()), used)).collect();
        let event = last_fact(scene);
        let green = matches!(event, Fact::CheckRan(check) if check.passed_whole());
        let passed = matches!(event, Fact::ToolFinished(done) if done.ok && done.exit == Some(0));
        if budget.branch() == self.branch && !green {
            for (key, before) in &self.used {
                let now = used.get(key).copied().unwrap_or(0);
                let made_good = passed && key.0 == Counted::CommandRetries;
                assert!(
                    now >= *before || made_good || self.used.len() >= 24,
                    "{key:?} {before} {now} {event:?}"
                );
            }
            assert!(budget.debt() >= self.debt);
        }
        assert!(budget.branch() >= self.branch);
        self.used = used;
        (self.branch, self.debt) = (budget.branch(), budget.debt());
        // The recovery budget: used only ever rises within a takeover, and the limit at most by half.
        let phase = scene.state.phase_state();
        let (rounds, tokens) = phase.used();
        let most = phase.most_rounds(scene.state.config());
        assert!(most == 8 || most == 12);
        if phase.takeovers() == self.takeover.0 && phase.is_recovering() {
            assert!(rounds >= self.takeover.1 && tokens >= self.takeover.2 && most >= self.most);
        }
        assert!(rounds <= most, "{rounds} of {most}");
        self.takeover = (phase.takeovers(), rounds, tokens);
        self.most = most;
    }
}

fn no_node_is_done_without_fresh_evidence(scene: &Scene) {
    let Some(graph) = scene.state.graph() else { return };
    let done_now: Vec<&str> = scene
        .last
        .iter()
        .filter_map(|effect| match effect {
            Effect::Graph(GraphChange::Node { node, status: NodeStatus::Done, .. }) => Some(node.as_str()),
            _ => None,
        })
        .collect();
    let whole = scene.last.iter().any(|effect| {
        matches!(effect, Effect::Graph(GraphChange::Init { .. } | GraphChange::Replaced { .. }))
    });
    for node in graph.nodes.values().filter(|node| node.status == NodeStatus::Done) {
        assert!(!node.evidence.is_empty(), "{node:?}");
        if !whole && !done_now.contains(&node.id.as_str()) {
            continue;
        }
        for entry in &node.evidence {
            assert!(scene.ledger.is_fresh(*entry), "{node:?} cites {:?}", scene.ledger.get(*entry));
            let what = &scene.ledger.get(*entry).unwrap().what;
            let fits = match node.kind {
                NodeKind::Inspect => matches!(what, What::Read { .. } | What::Changed { .. }),
                NodeKind::Search => {
                    matches!(what, What::Read { .. } | What::Searched { .. } | What::Changed { .. })
                }
                NodeKind::Edit | NodeKind::Fallback => {
                    matches!(what, What::Changed { .. })
                        || matches!(what, What::Check(check) if check.passed_whole() && !node.cases.is_empty())
                }
                NodeKind::Verify => matches!(what, What::Check(check) if check.passed_whole()),
                NodeKind::Summarize => matches!(what, What::Said),
                NodeKind::Delegate => matches!(what, What::Child),
            };
            assert!(fits, "{node:?} cites {what:?}");
        }
    }
    // A verification that is done stays fresh, or is taken back.
    if graph.is_active() {
        for node in
            graph.steps().filter(|node| node.kind == NodeKind::Verify && node.status == NodeStatus::Done)
        {
            assert!(node.evidence.iter().all(|entry| scene.ledger.is_fresh(*entry)), "{node:?}");
        }
    }
}

fn the_state_and_the_ledger_agree(scene: &Scene) {
    let known = scene.state.known();
    assert_eq!(known.entries(), scene.ledger.entries().len() as u64);
    assert_eq!(known.version(), scene.ledger.version());
    for check in known.checks() {
        assert_eq!(known.is_fresh(check), scene.ledger.is_fresh(check.entry));
    }
}

fn every_phase_tier_and_signal_came_up_often_enough(counts: &BTreeMap<String, u64>) {
    let mut wanted: Vec<String> = Vec::new();
    wanted.extend(
        [Phase::Free, Phase::Takeover, Phase::HandoffPending, Phase::Cooldown].map(|p| format!("{p:?}")),
    );
    wanted.extend(
        [Tier::Graph, Tier::StepQueue, Tier::WriteIntent, Tier::Human].map(|t| format!("tier {t:?}")),
    );
    wanted.extend(
        [
            Signal::CheckpointResumed,
            Signal::TaskGraphActive,
            Signal::BranchSwitched,
            Signal::PendingSteps,
            Signal::ToolFailure,
            Signal::MultiWrite,
            Signal::LargeDiff,
            Signal::ExplicitImpl,
            Signal::Takeover,
            Signal::EngineFailSafe,
        ]
        .map(|signal| format!("signal {signal:?}")),
    );
    wanted.extend(DEVIATIONS.map(|deviation| format!("drift {}", name(deviation))));
    wanted.extend(
        [
            Kind::Switch,
            Kind::Recover,
            Kind::Rollback,
            Kind::Handoff,
            Kind::Failure,
            Kind::Drift,
            Kind::Timeout,
            Kind::TaskGraphInit,
            Kind::TaskGraphNode,
            Kind::TaskGraphUpdate,
            Kind::TaskGraphBranch,
            Kind::TaskGraphDone,
        ]
        .map(|kind| format!("event {kind:?}")),
    );
    for name in wanted {
        let count = counts.get(&name).copied().unwrap_or(0);
        assert!(count >= streams() / 100, "{name}: {count} of {}\n{counts:#?}", streams());
    }
}

#[test]
fn inv_10_a_blocked_call_is_never_executed() {
    for seed in 0..streams() {
        let mut run = Run::new(seed ^ 3 << 32, level_of(seed));
        let mut gates = Gates::default();
        run.play(ROUNDS / 3, &mut |scene| gates.a_blocked_call_is_never_executed(scene));
    }
}

#[test]
fn forced_can_be_left_when_its_causes_are_gone() {
    for seed in 0..streams() {
        let mut run = Run::new(seed ^ 1 << 32, Level::Adaptive);
        run.play(ROUNDS / 2, &mut |_| {});
        run.tell(Fact::CheckpointResumed, &mut |_| {});
        assert_eq!(run.scene.mode(), Mode::Forced);
        let free = (0..60).any(|_| {
            run.behave(&mut |_| {});
            run.scene.mode() == Mode::Free
        });
        let state = &run.scene.state;
        assert!(free, "{:?} debt {} graph {:?}", state.entered_by(), state.budget().debt(), state.graph());
    }
}

#[test]
fn a_takeover_can_be_left_too() {
    for seed in 0..streams() {
        let mut run = Run::new(seed ^ 2 << 32, Level::Adaptive);
        run.play(ROUNDS / 3, &mut |_| {});
        run.tell(Fact::CheckpointResumed, &mut |_| {});
        run.tell(Fact::UserForceTakeover { by: "test".into() }, &mut |_| {});
        assert_eq!((run.scene.phase(), run.scene.mode()), (Phase::Takeover, Mode::Forced));
        let free = (0..60).any(|_| {
            run.behave(&mut |_| {});
            run.scene.mode() == Mode::Free && run.scene.phase() == Phase::Free
        });
        let state = &run.scene.state;
        assert!(free, "{:?} {:?} {:?}", state.phase_state(), state.graph(), state.stopped());
    }
}

#[test]
fn inv_09_replay_is_byte_identical() {
    for seed in 0..streams() {
        let mut run = Run::new(seed ^ 12 << 32, level_of(seed));
        run.play(ROUNDS / 4, &mut |_| {});
        let recorded = decisions(&run.scene.effects);
        // From the stored events.
        let stored: Vec<crate::Event> = run
            .scene
            .events
            .iter()
            .map(|event| serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap())
            .collect();
        assert_eq!(stored, run.scene.events);
        let config = run.scene.state.config().clone();
        let (state, effects) = replay(State::new(config.clone()), &stored);
        assert_eq!(decisions(&effects), recorded);
        assert_eq!(state, run.scene.state);
        // And over a checkpoint in the middle.
        let (first, second) = stored.split_at(stored.len() / 2);
        let (state, before) = replay(State::new(config), first);
        let state: State = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        let (_, after) = replay(state, second);
        assert_eq!(decisions(&before) + &decisions(&after), recorded);
    }
}
