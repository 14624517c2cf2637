//! What must never happen, over ten thousand random runs each.
//!
//! The promises share one pass over the streams: each looks after every event of every stream.

use std::collections::{BTreeMap, BTreeSet};

use super::streams::{DEVIATIONS, RandomRun, StreamCoverage, level_of, proposal_of};
use crate::correction::CorrectionKind;
use crate::effect::{GateSubject, GateVerdict, GraphChange, SupervisorEffect};
use crate::event::SupervisorFact;
use crate::graph::{NodeKind, NodeStatus};
use crate::ledger::EvidenceFact;
use crate::level::SupervisorLevel;
use crate::phase::TakeoverPhase;
use crate::replay::{decisions, replay};
use crate::scene::SupervisedScene;
use crate::state::SupervisorState;
use crate::timeline::{ContractForce, TimelineKind};

/// Streams per promise.
const STREAMS: u64 = 10_000;

/// Fewer where somebody only wants to see whether anything is noticed at all.
fn streams() -> u64 {
    std::env::var("HOLON_STREAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(STREAMS)
}
const ROUNDS: u32 = 24;

/// The fact the scene was last told.
fn last_fact(scene: &SupervisedScene) -> &SupervisorFact {
    &scene.events[scene.events.len() - 1].fact
}

#[test]
fn what_must_never_happen_does_not() {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..streams() {
        let mut run = RandomRun::new(seed, level_of(seed));
        let mut all = StreamPromises::default();
        all.after(&run.scene);
        run.play(ROUNDS, &mut |scene| all.after(scene));
        all.seen.names().into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
    }
    every_phase_and_signal_came_up_often_enough(&counts);
}

#[derive(Default)]
struct StreamPromises {
    gate: GatePromises,
    port: PortPromises,
    budget: BudgetPromises,
    phase: TakeoverPhase,
    stopped: bool,
    seen: StreamCoverage,
}

impl StreamPromises {
    fn after(&mut self, scene: &SupervisedScene) {
        self.seen.note(scene);
        self.gate.a_blocked_call_is_never_executed(scene);
        self.port.corrections_come_through_the_port_alone(scene);
        self.budget.budgets_never_grow(scene);
        self.no_takeover_without_being_told_and_none_by_words_alone(scene);
        every_sentence_is_true(scene);
        nothing_is_denied_without_proof(scene);
        self.after_a_stop_nothing_is_decided(scene);
        no_node_is_done_without_fresh_evidence(scene);
        the_state_and_the_ledger_agree(scene);
    }

    fn no_takeover_without_being_told_and_none_by_words_alone(&mut self, scene: &SupervisedScene) {
        let changes: Vec<(TakeoverPhase, TakeoverPhase)> = scene
            .last
            .iter()
            .filter_map(|effect| {
                if let SupervisorEffect::Phase(change) = effect {
                    Some((change.from, change.to))
                } else {
                    None
                }
            })
            .collect();
        let person = matches!(last_fact(scene), SupervisorFact::UserForceTakeover { .. });
        for (_, to) in &changes {
            let by_itself = *to == TakeoverPhase::Takeover && self.phase == TakeoverPhase::Free && !person;
            assert!(!by_itself || scene.state.level().acts(), "{:?}", scene.state.level());
        }
        for (from, to) in changes {
            assert_eq!(from, self.phase, "told without a gap");
            let known = matches!(
                (from, to),
                (TakeoverPhase::Free, TakeoverPhase::Takeover)
                    | (TakeoverPhase::Takeover, TakeoverPhase::HandoffPending)
                    | (TakeoverPhase::HandoffPending, TakeoverPhase::Takeover | TakeoverPhase::Cooldown)
                    | (TakeoverPhase::Cooldown, TakeoverPhase::Free)
            );
            let event = last_fact(scene);
            let asked =
                matches!(event, SupervisorFact::CheckpointResumed | SupervisorFact::UserForceTakeover { .. });
            assert!(known || asked, "{from:?} to {to:?} by {event:?}");
            self.phase = to;
        }
        assert_eq!(self.phase, scene.phase());
    }

    fn after_a_stop_nothing_is_decided(&mut self, scene: &SupervisedScene) {
        let event = last_fact(scene);
        if self.stopped && !matches!(event, SupervisorFact::CheckpointResumed) {
            assert!(scene.state.stopped().is_some());
            for effect in &scene.last {
                let quiet = match effect {
                    SupervisorEffect::Gate(gate) => {
                        gate.verdict == GateVerdict::Block || gate.subject == GateSubject::Done
                    }
                    SupervisorEffect::Log(_) => true,
                    _ => false,
                };
                assert!(quiet, "{effect:?} by {event:?}");
            }
        }
        self.stopped = scene.state.stopped().is_some();
        if !scene.state.level().acts() {
            assert!(!self.stopped);
        }
    }
}

#[derive(Default)]
struct GatePromises {
    blocked: BTreeSet<String>,
    open: Option<String>,
}

impl GatePromises {
    fn a_blocked_call_is_never_executed(&mut self, scene: &SupervisedScene) {
        let event = last_fact(scene);
        if let Some(proposal) = proposal_of(event) {
            self.open = Some(proposal.call.to_string());
        }
        let gates: Vec<_> = scene
            .last
            .iter()
            .filter_map(|effect| if let SupervisorEffect::Gate(gate) = effect { Some(gate) } else { None })
            .collect();
        let done = matches!(event, SupervisorFact::ModelDone | SupervisorFact::ModelGaveUp);
        let expected = usize::from(proposal_of(event).is_some() || done);
        assert_eq!(gates.len(), expected, "one answer to each question and none else");
        for gate in gates {
            if let GateSubject::Call(call) = &gate.subject {
                assert_eq!(Some(call.to_string()), self.open.take());
                assert_eq!(gate.permit().is_none(), gate.verdict == GateVerdict::Block);
                assert!(gate.verdict == GateVerdict::Allow || !gate.why.is_empty(), "a reason is given");
                if gate.verdict == GateVerdict::Block {
                    self.blocked.insert(call.to_string());
                }
            }
        }
        if let SupervisorFact::ToolFinished(done) = event {
            assert!(!self.blocked.contains(done.call.as_str()));
        }
        assert!(!scene.logged_last("engine:blocked_call_executed"));
    }
}

#[derive(Default)]
struct PortPromises {
    stands: String,
}

impl PortPromises {
    fn corrections_come_through_the_port_alone(&mut self, scene: &SupervisedScene) {
        let said: Vec<_> = scene
            .last
            .iter()
            .filter_map(|effect| if let SupervisorEffect::Correct(said) = effect { Some(said) } else { None })
            .collect();
        assert!(said.len() <= 1, "one text at a time");
        for correction in said {
            let (kind, text) = (correction.kind(), correction.text());
            let tag = match kind {
                CorrectionKind::Silence => "",
                CorrectionKind::GraphHint => crate::GRAPH_TAG,
                _ => crate::RECOVERY_TAG,
            };
            assert!(text.starts_with(tag) && text.is_empty() == (kind == CorrectionKind::Silence), "{text}");
            let supervised = matches!(scene.phase(), TakeoverPhase::Takeover | TakeoverPhase::HandoffPending);
            assert!(kind == CorrectionKind::Silence || supervised == (kind == CorrectionKind::Takeover));
            assert_ne!(self.stands, text, "said twice");
            text.clone_into(&mut self.stands);
        }
    }
}

/// What a text says about checks, files and the goal is what the ledger knows.
fn every_sentence_is_true(scene: &SupervisedScene) {
    for effect in &scene.last {
        let SupervisorEffect::Correct(said) = effect else { continue };
        let text = said.text();
        assert!(text.matches("Next step:").count() <= 1, "one next step: {text}");
        let checks = |green: bool| {
            let last = scene.ledger.entries().iter().rev().find_map(|entry| match &entry.what {
                EvidenceFact::Check(check) => Some((entry, check)),
                _ => None,
            });
            last.is_some_and(|(entry, check)| {
                check.passed_whole() == green && scene.ledger.is_fresh(entry.id)
            })
        };
        let changed = scene.ledger.version() > 0;
        if text.contains("repair what makes `cargo test` fail") {
            assert!(checks(false), "{text}");
        }
        if text.contains("`cargo test` passes") {
            assert!(checks(true), "{text}");
        }
        assert!(!(text.contains("no file was changed") && changed), "{text}");
        let ran = scene.ledger.entries().iter().any(|entry| matches!(entry.what, EvidenceFact::Check(_)));
        assert!(!(text.contains("no check that is known has run") && ran), "{text}");
        if let Some(goal) = text.lines().find_map(|line| line.strip_prefix("Goal: ")) {
            assert_eq!(goal, scene.state.goal());
        }
    }
}

/// A call is denied only where it failed before on the very state that is there now.
fn nothing_is_denied_without_proof(scene: &SupervisedScene) {
    let Some(proposal) = proposal_of(last_fact(scene)) else { return };
    let gate = scene.gate();
    if gate.verdict != GateVerdict::Block || gate.rule == crate::GateRule::Stopped {
        return;
    }
    assert_eq!(gate.rule, crate::GateRule::Futile);
    let mut failures = 0;
    for event in scene.events.iter().rev().skip(1) {
        match &event.fact {
            SupervisorFact::ToolProposed(other) if other.arguments == proposal.arguments => failures += 1,
            SupervisorFact::ToolFinished(done)
                if done.evidence.changed.iter().any(|change| change.is_real()) =>
            {
                break;
            }
            _ => {}
        }
    }
    assert!(failures >= 2, "{gate:?}");
}

#[derive(Default)]
struct BudgetPromises {
    takeover: (u32, u32, u64),
    most: u32,
}

impl BudgetPromises {
    /// The recovery budget: used only ever rises within a takeover, and the limit at most by half.
    fn budgets_never_grow(&mut self, scene: &SupervisedScene) {
        let phase = scene.state.phase_state();
        let (rounds, tokens) = phase.used();
        let most = phase.most_rounds(scene.state.config());
        assert!([8, 12, 6, 9].contains(&most));
        if phase.takeovers() == self.takeover.0 && phase.is_recovering() {
            assert!(rounds >= self.takeover.1 && tokens >= self.takeover.2 && most >= self.most);
        }
        assert!(rounds <= most || !scene.state.level().acts(), "{rounds} of {most}");
        self.takeover = (phase.takeovers(), rounds, tokens);
        self.most = most;
    }
}

fn no_node_is_done_without_fresh_evidence(scene: &SupervisedScene) {
    let Some(graph) = scene.state.graph() else { return };
    let done_now: Vec<&str> = scene
        .last
        .iter()
        .filter_map(|effect| match effect {
            SupervisorEffect::Graph(GraphChange::Node { node, status: NodeStatus::Done, .. }) => {
                Some(node.as_str())
            }
            _ => None,
        })
        .collect();
    let whole = scene.last.iter().any(|effect| {
        matches!(effect, SupervisorEffect::Graph(GraphChange::Init { .. } | GraphChange::Replaced { .. }))
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
                NodeKind::Inspect => matches!(what, EvidenceFact::Read { .. } | EvidenceFact::Changed { .. }),
                NodeKind::Search => {
                    matches!(
                        what,
                        EvidenceFact::Read { .. }
                            | EvidenceFact::Searched { .. }
                            | EvidenceFact::Changed { .. }
                    )
                }
                NodeKind::Edit | NodeKind::Fallback => {
                    matches!(what, EvidenceFact::Changed { .. })
                        || matches!(what, EvidenceFact::Check(check) if check.passed_whole() && !node.cases.is_empty())
                }
                NodeKind::Verify => matches!(what, EvidenceFact::Check(check) if check.passed_whole()),
                NodeKind::Summarize => matches!(what, EvidenceFact::Said),
                NodeKind::Delegate => matches!(what, EvidenceFact::Child),
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

fn the_state_and_the_ledger_agree(scene: &SupervisedScene) {
    let known = scene.state.known();
    assert_eq!(known.entries(), scene.ledger.entries().len() as u64);
    assert_eq!(known.version(), scene.ledger.version());
    for check in known.checks() {
        assert_eq!(known.is_fresh(check), scene.ledger.is_fresh(check.entry));
    }
}

fn every_phase_and_signal_came_up_often_enough(counts: &BTreeMap<String, u64>) {
    let mut wanted: Vec<String> = Vec::new();
    wanted.extend(
        [
            TakeoverPhase::Free,
            TakeoverPhase::Takeover,
            TakeoverPhase::HandoffPending,
            TakeoverPhase::Cooldown,
        ]
        .map(|p| format!("{p:?}")),
    );
    wanted.extend(DEVIATIONS.map(|deviation| format!("drift {}", deviation.name())));
    wanted.extend(
        [
            TimelineKind::Switch,
            TimelineKind::Recover,
            TimelineKind::Rollback,
            TimelineKind::Handoff,
            TimelineKind::Failure,
            TimelineKind::Drift,
            TimelineKind::Timeout,
            TimelineKind::TaskGraphInit,
            TimelineKind::TaskGraphNode,
            TimelineKind::TaskGraphUpdate,
            TimelineKind::TaskGraphBranch,
            TimelineKind::TaskGraphDone,
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
        let mut run = RandomRun::new(seed ^ 3 << 32, level_of(seed));
        let mut gates = GatePromises::default();
        run.play(ROUNDS / 3, &mut |scene| gates.a_blocked_call_is_never_executed(scene));
    }
}

#[test]
fn a_takeover_can_be_left_too() {
    for seed in 0..streams() {
        let mut run = RandomRun::new(seed ^ 2 << 32, SupervisorLevel::Adaptive);
        run.play(ROUNDS / 3, &mut |_| {});
        run.tell(SupervisorFact::CheckpointResumed, &mut |_| {});
        run.tell(SupervisorFact::UserForceTakeover { by: "test".into() }, &mut |_| {});
        assert_eq!((run.scene.phase(), run.scene.mode()), (TakeoverPhase::Takeover, ContractForce::Free));
        let free = (0..60).any(|_| {
            run.behave(&mut |_| {});
            run.scene.phase() == TakeoverPhase::Free
        });
        let state = &run.scene.state;
        assert!(free, "{:?} {:?} {:?}", state.noticed(), state.phase_state(), state.stopped());
    }
}

#[test]
fn inv_09_replay_is_byte_identical() {
    for seed in 0..streams() {
        let mut run = RandomRun::new(seed ^ 12 << 32, level_of(seed));
        run.play(ROUNDS / 4, &mut |_| {});
        let recorded = decisions(&run.scene.effects);
        // From the stored events.
        let stored: Vec<crate::SupervisorEvent> = run
            .scene
            .events
            .iter()
            .map(|event| serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap())
            .collect();
        assert_eq!(stored, run.scene.events);
        let config = run.scene.state.config().clone();
        let (state, effects) = replay(SupervisorState::new(config.clone()), &stored);
        assert_eq!(decisions(&effects), recorded);
        assert_eq!(state, run.scene.state);
        // And over a checkpoint in the middle.
        let (first, second) = stored.split_at(stored.len() / 2);
        let (state, before) = replay(SupervisorState::new(config), first);
        let state: SupervisorState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        let (_, after) = replay(state, second);
        assert_eq!(decisions(&before) + &decisions(&after), recorded);
    }
}
