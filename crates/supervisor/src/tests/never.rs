//! What must never happen, over ten thousand random runs each.

use std::collections::{BTreeMap, BTreeSet};

use super::streams::{DEVIATIONS, Run, Seen, level_of, proposal_of};
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
const ROUNDS: u32 = 30;

fn each(salt: u64, mut check: impl FnMut(&mut Run, &mut dyn FnMut(&mut Run))) {
    for seed in 0..STREAMS {
        let mut run = Run::new(seed ^ salt << 32, level_of(seed));
        check(&mut run, &mut |_| {});
    }
}

/// Plays every stream and lets `after` look after every event; `fresh` makes what it remembers of one stream.
fn watch<T>(salt: u64, fresh: impl Fn() -> T, mut after: impl FnMut(&mut T, &mut Scene)) {
    each(salt, |run, _| {
        let mut memory = fresh();
        run.play(ROUNDS, &mut |scene| after(&mut memory, scene));
    });
}

#[test]
fn every_phase_tier_and_signal_comes_up_often_enough() {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..STREAMS {
        let mut run = Run::new(seed, level_of(seed));
        let mut seen = Seen::default();
        run.play(ROUNDS, &mut |scene| seen.note(scene));
        let phases = seen.phases.iter().map(|phase| format!("{phase:?}"));
        let tiers = seen.tiers.iter().map(|tier| format!("tier {tier:?}"));
        let signals = seen.signals.iter().map(|signal| format!("signal {signal:?}"));
        let deviations = seen.deviations.iter().map(|name| format!("drift {name}"));
        let kinds = seen.kinds.iter().map(|kind| format!("event {kind:?}"));
        for name in phases.chain(tiers).chain(signals).chain(deviations).chain(kinds) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let mut wanted: Vec<String> = Vec::new();
    wanted.extend([Phase::Free, Phase::Takeover, Phase::HandoffPending, Phase::Cooldown].map(|p| format!("{p:?}")));
    wanted.extend([Tier::Graph, Tier::StepQueue, Tier::WriteIntent, Tier::Human].map(|t| format!("tier {t:?}")));
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
        assert!(count >= STREAMS / 100, "{name}: {count} of {STREAMS}\n{counts:#?}");
    }
}

#[test]
fn forced_can_be_left_when_its_causes_are_gone() {
    each(1, |run, _| {
        if run.scene.state.level() != Level::Adaptive {
            return;
        }
        run.play(ROUNDS / 2, &mut |_| {});
        run.tell(Fact::CheckpointResumed, &mut |_| {});
        assert_eq!(run.scene.mode(), Mode::Forced);
        let free = (0..60).any(|_| {
            run.behave(&mut |_| {});
            run.scene.mode() == Mode::Free
        });
        let state = &run.scene.state;
        assert!(free, "{:?} debt {} graph {:?}", state.entered_by(), state.budget().debt(), state.graph());
    });
}

#[test]
fn takeover_forced_can_be_left_too() {
    each(2, |run, _| {
        if run.scene.state.level() != Level::Adaptive {
            return;
        }
        run.play(ROUNDS / 3, &mut |_| {});
        run.tell(Fact::CheckpointResumed, &mut |_| {});
        run.tell(Fact::UserForceTakeover { by: "test".into() }, &mut |_| {});
        assert_eq!((run.scene.phase(), run.scene.mode()), (Phase::Takeover, Mode::Forced));
        let free = (0..60).any(|_| {
            run.behave(&mut |_| {});
            run.scene.mode() == Mode::Free && run.scene.phase() == Phase::Free
        });
        let state = &run.scene.state;
        assert!(free || state.stopped().is_some(), "{:?} {:?}", state.phase_state(), state.graph());
    });
}

#[test]
fn inv_10_a_blocked_call_is_never_executed() {
    struct Memory {
        blocked: BTreeSet<String>,
        open: Option<String>,
    }
    watch(3, || Memory { blocked: BTreeSet::new(), open: None }, |memory, scene| {
        let event = &scene.events[scene.events.len() - 1].fact;
        if let Some(proposal) = proposal_of(event) {
            memory.open = Some(proposal.call.to_string());
        }
        let gates: Vec<_> = scene
            .last
            .iter()
            .filter_map(|effect| if let Effect::Gate(gate) = effect { Some(gate) } else { None })
            .collect();
        let expected = usize::from(proposal_of(event).is_some() || *event == Fact::ModelDone);
        assert_eq!(gates.len(), expected, "one answer to each question and none else");
        for gate in gates {
            if let Subject::Call(call) = &gate.subject {
                assert_eq!(Some(call.to_string()), memory.open.take());
                assert_eq!(gate.permit().is_none(), gate.verdict == Verdict::Block);
                assert!(gate.verdict == Verdict::Allow || !gate.why.is_empty(), "a reason is given");
                if gate.verdict == Verdict::Block {
                    memory.blocked.insert(call.to_string());
                }
            }
        }
        if let Fact::ToolFinished(done) = event {
            assert!(!memory.blocked.contains(done.call.as_str()));
        }
        assert!(!scene.logged_last("engine:blocked_call_executed"));
    });
}

#[test]
fn corrections_come_through_the_port_alone() {
    struct Memory {
        free_hints: u32,
        last: BTreeMap<crate::CorrectionKind, String>,
    }
    watch(4, || Memory { free_hints: 0, last: BTreeMap::new() }, |memory, scene| {
        let renewed = scene.last.iter().any(|effect| matches!(effect, Effect::Log(r) if r.event == Kind::Recover));
        if renewed {
            memory.last.clear();
        }
        for effect in &scene.last {
            let Effect::Correct(correction) = effect else { continue };
            let (kind, text) = (correction.kind(), correction.text());
            let tag = if kind == crate::CorrectionKind::GraphHint { crate::GRAPH_TAG } else { crate::RECOVERY_TAG };
            assert!(text.starts_with(tag), "{text}");
            let supervised = matches!(scene.phase(), Phase::Takeover | Phase::HandoffPending);
            match kind {
                crate::CorrectionKind::GraphHint => assert!(!supervised),
                crate::CorrectionKind::Takeover => assert!(supervised),
                crate::CorrectionKind::Recovery => {}
            }
            let bound = scene.mode() == Mode::Forced && scene.state.graph_active();
            memory.free_hints += u32::from(kind == crate::CorrectionKind::GraphHint && !bound);
            assert!(memory.free_hints <= 3);
            assert_ne!(memory.last.insert(kind, text.to_owned()).as_deref(), Some(text), "said twice");
        }
    });
}

#[test]
fn budgets_never_grow() {
    struct Memory {
        branch: u32,
        debt: u32,
        used: BTreeMap<(crate::budget::Counted, String), u32>,
        takeover: (u32, u32, u64),
        most: u32,
    }
    let fresh = || Memory { branch: 0, debt: 0, used: BTreeMap::new(), takeover: (0, 0, 0), most: 8 };
    watch(5, fresh, |memory, scene| {
        let budget = scene.state.budget();
        let used: BTreeMap<_, u32> =
            budget.used().into_iter().map(|(kind, label, used)| ((kind, label.to_owned()), used)).collect();
        let event = &scene.events[scene.events.len() - 1].fact;
        let green = matches!(event, Fact::CheckRan(check) if check.passed_whole());
        let passed = matches!(event, Fact::ToolFinished(done) if done.ok && done.exit == Some(0));
        if budget.branch() == memory.branch && !green {
            for (key, before) in &memory.used {
                let now = used.get(key).copied().unwrap_or(0);
                let made_good = passed && key.0 == crate::budget::Counted::CommandRetries;
                assert!(now >= *before || made_good || memory.used.len() >= 24, "{key:?} {before} {now} {event:?}");
            }
            assert!(budget.debt() >= memory.debt);
        }
        assert!(budget.branch() >= memory.branch);
        memory.used = used;
        (memory.branch, memory.debt) = (budget.branch(), budget.debt());
        // The recovery budget: used only ever rises within a takeover, and the limit at most by half.
        let phase = scene.state.phase_state();
        let (rounds, tokens) = phase.used();
        let most = phase.most_rounds(scene.state.config());
        assert!(most == 8 || most == 12);
        if phase.takeovers() == memory.takeover.0 && phase.is_recovering() {
            assert!(rounds >= memory.takeover.1 && tokens >= memory.takeover.2 && most >= memory.most);
        }
        assert!(rounds <= most, "{rounds} of {most}");
        memory.takeover = (phase.takeovers(), rounds, tokens);
        memory.most = most;
    });
}

#[test]
fn the_mode_has_one_writer() {
    watch(6, || Mode::Free, |before, scene| {
        let switches: Vec<Mode> = scene
            .effects
            .iter()
            .rev()
            .take(scene.last.len())
            .filter_map(|effect| if let Effect::Mode(switch) = effect { Some(switch.mode) } else { None })
            .collect();
        assert!(switches.len() <= 1, "one decision per event");
        let expect = switches.first().copied().unwrap_or(*before);
        assert_eq!(scene.mode(), expect, "the mode changes by a decision that is told");
        assert!(switches.first() != Some(&*before), "a switch is a change");
        let logged = scene.last.iter().filter(|effect| matches!(effect, Effect::Log(r) if r.reason.starts_with("mode:")));
        assert_eq!(logged.count(), switches.len());
        *before = scene.mode();
        match scene.state.level() {
            Level::Off => assert_eq!(scene.mode(), Mode::Free),
            Level::Strict => assert_eq!(scene.mode(), Mode::Forced),
            Level::Adaptive => {}
        }
        if scene.phase() == Phase::Takeover {
            assert_eq!(scene.mode(), Mode::Forced, "takeover implies forced");
        }
    });
}

#[test]
fn no_node_is_done_without_fresh_evidence() {
    watch(7, || (), |(), scene| {
        let Some(graph) = scene.state.graph() else { return };
        let done_now: Vec<&str> = scene
            .last
            .iter()
            .filter_map(|effect| match effect {
                Effect::Graph(GraphChange::Node { node, status: NodeStatus::Done, .. }) => Some(node.as_str()),
                _ => None,
            })
            .collect();
        let whole = scene
            .last
            .iter()
            .any(|effect| matches!(effect, Effect::Graph(GraphChange::Init { .. } | GraphChange::Replaced { .. })));
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
            for node in graph.steps().filter(|node| node.kind == NodeKind::Verify && node.status == NodeStatus::Done) {
                assert!(node.evidence.iter().all(|entry| scene.ledger.is_fresh(*entry)), "{node:?}");
            }
        }
    });
}

#[test]
fn the_state_and_the_ledger_agree() {
    watch(8, || (), |(), scene| {
        let known = scene.state.known();
        assert_eq!(known.entries(), scene.ledger.entries().len() as u64);
        assert_eq!(known.version(), scene.ledger.version());
        for check in known.checks() {
            assert_eq!(known.is_fresh(check), scene.ledger.is_fresh(check.entry));
        }
    });
}

#[test]
fn no_takeover_in_off_or_strict() {
    watch(9, || Phase::Free, |before, scene| {
        let changes: Vec<(Phase, Phase)> = scene
            .last
            .iter()
            .filter_map(|effect| if let Effect::Phase(change) = effect { Some((change.from, change.to)) } else { None })
            .collect();
        if scene.state.level() != Level::Adaptive {
            assert!(changes.is_empty() && scene.phase() == Phase::Free);
        }
        for (from, to) in changes {
            assert_eq!(from, *before, "told without a gap");
            let known = matches!(
                (from, to),
                (Phase::Free, Phase::Takeover)
                    | (Phase::Takeover, Phase::HandoffPending)
                    | (Phase::HandoffPending, Phase::Takeover | Phase::Cooldown)
                    | (Phase::Cooldown, Phase::Free)
            );
            let event = &scene.events[scene.events.len() - 1].fact;
            let asked = matches!(event, Fact::CheckpointResumed | Fact::UserForceTakeover { .. });
            assert!(known || asked, "{from:?} to {to:?} by {event:?}");
            *before = to;
        }
        assert_eq!(*before, scene.phase());
    });
}

#[test]
fn no_flip_within_the_lock() {
    watch(10, || None::<u32>, |entered, scene| {
        for effect in &scene.last {
            let Effect::Mode(switch) = effect else { continue };
            match switch.mode {
                Mode::Forced => *entered = Some(scene.state.round()),
                Mode::Free => {
                    let since = scene.state.round() - entered.take().expect("was forced");
                    assert!(since >= scene.state.config().mode.lock_rounds, "{since}");
                }
            }
        }
    });
}

#[test]
fn after_a_stop_nothing_is_decided() {
    watch(11, || false, |stopped, scene| {
        let event = &scene.events[scene.events.len() - 1].fact;
        if *stopped && !matches!(event, Fact::CheckpointResumed) {
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
        *stopped = scene.state.stopped().is_some();
        if scene.state.level() == Level::Off {
            assert!(!*stopped);
        }
    });
}

#[test]
fn inv_09_replay_is_byte_identical() {
    each(12, |run, _| {
        run.play(ROUNDS / 3, &mut |_| {});
        let recorded = decisions(&run.scene.effects);
        // From the stored events.
        let stored: Vec<crate::Event> =
            run.scene.events.iter().map(|event| serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap()).collect();
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
    });
}
