//! Random runs: agents of several temperaments, so that every phase and signal comes up often enough.

use std::collections::BTreeSet;

use holon_core::policy::ToolClass;

use crate::config::SupervisorConfig;
use crate::deviation::Deviation;
use crate::effect::{GateVerdict, SupervisorEffect};
use crate::event::{
    CallProposal, FileHash, FinishedCall, GitState, HashedFileChange, ProvenEffects, RoundEnd,
    SupervisorFact, WorkspaceState,
};
use crate::level::SupervisorLevel;
use crate::phase::TakeoverPhase;
use crate::scene::{SupervisedScene, check_ran, of_call, setup};
use crate::timeline::TimelineKind;

/// SplitMix64: small, seeded, the same everywhere.
pub(super) struct StreamDice(pub(super) u64);

impl StreamDice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u32) -> u32 {
        u32::try_from(self.roll() % u64::from(n)).unwrap_or(0)
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u32) as usize]
    }
}

/// How an agent behaves; each leans towards one way of being lost, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentTemper {
    Healthy,
    Repeats,
    Reads,
    Circles,
    Alternates,
    Drifts,
    Spreads,
    Silent,
    Wild,
}

const TEMPERS: [AgentTemper; 9] = [
    AgentTemper::Healthy,
    AgentTemper::Repeats,
    AgentTemper::Reads,
    AgentTemper::Circles,
    AgentTemper::Alternates,
    AgentTemper::Drifts,
    AgentTemper::Spreads,
    AgentTemper::Silent,
    AgentTemper::Wild,
];

const GOALS: [&str; 4] = [
    "improve src/a.rs",
    "improve the parser so that it reads every file there is in the folder and tells what is wrong with each of them",
    "improve src/a.rs src/b.rs and src/c.rs step by step",
    "improve:\n1. src/a.rs\n2. src/b.rs\n3. src/c.rs\n4. src/d.rs\n5. src/e.rs\n6. src/f.rs\n7. src/g.rs\n8. src/h.rs\n",
];

/// A run under way.
pub(super) struct RandomRun {
    pub(super) scene: SupervisedScene,
    pub(super) dice: StreamDice,
    temper: AgentTemper,
    calls: u32,
    contents: u32,
    /// Whether decisions are obeyed; a loop that does not would be a broken one.
    obeys: bool,
    failing: u32,
    /// Whether it does what a takeover tells it.
    reacts: bool,
}

impl RandomRun {
    pub(super) fn new(seed: u64, level: SupervisorLevel) -> Self {
        let mut dice = StreamDice(seed);
        let mut start = setup(
            ["execute", "execute", "execute", "debug", "plan"][dice.below(5) as usize],
            GOALS[dice.below(4) as usize],
        );
        start.token_limit = [0, 0, 20_000][dice.below(3) as usize];
        start.round_limit = [0, 30][dice.below(2) as usize];
        start.monorepo = dice.one_in(4);
        if dice.one_in(8) {
            start.checks.clear();
        }
        let mut config = SupervisorConfig { level, ..SupervisorConfig::default() };
        if dice.one_in(3) {
            config.triggers.tool_repeat_fail = 2;
            config.ladder.takeover = 1;
            config.triggers.polishing = 1;
            config.triggers.unhealed = 3;
        }
        let temper = *dice.pick(&TEMPERS);
        let reacts = dice.one_in(3);
        let mut scene = SupervisedScene::with(config, start);
        if dice.one_in(6) {
            scene.workspace = None;
        } else if dice.one_in(10) {
            scene.workspace =
                Some(WorkspaceState { git: GitState::Conflict, verified: true, ..WorkspaceState::default() });
        }
        Self { scene, dice, temper, calls: 0, contents: 0, obeys: true, failing: 3, reacts }
    }

    /// Plays a number of rounds; `after` sees the run after every event.
    pub(super) fn play(&mut self, rounds: u32, after: &mut dyn FnMut(&mut SupervisedScene)) {
        for _ in 0..rounds {
            // Tempers change: the lost find their way, the healthy lose it.
            if self.dice.one_in(12) {
                self.temper = *self.dice.pick(&TEMPERS);
            }
            let told = self.reacts && self.scene.phase() != TakeoverPhase::Free;
            if told && !self.dice.one_in(8) {
                self.behave(after);
            } else {
                self.round(after);
            }
        }
    }

    pub(super) fn tell(&mut self, fact: SupervisorFact, after: &mut dyn FnMut(&mut SupervisedScene)) {
        self.scene.feed(fact);
        after(&mut self.scene);
        let wanted = self.scene.last.iter().any(|effect| matches!(effect, SupervisorEffect::Check { .. }));
        if wanted && self.scene.state.stopped().is_none() {
            // The loop runs it, and tells.
            let cases = &["one", "two", "three"][..self.failing.min(3) as usize];
            self.scene.feed(check_ran("cargo test", i32::from(!cases.is_empty()), cases));
            after(&mut self.scene);
        }
    }

    fn round(&mut self, after: &mut dyn FnMut(&mut SupervisedScene)) {
        let round = self.scene.state.round() + 1;
        self.tell(SupervisorFact::RoundStarted { round }, after);
        let calls = match self.temper {
            AgentTemper::Silent => 0,
            AgentTemper::Alternates => 2,
            _ => 1 + self.dice.below(3),
        };
        for i in 0..calls {
            self.act(i, after);
        }
        if self.dice.one_in(40) {
            self.rare(after);
        }
        if self.temper == AgentTemper::Wild {
            self.tell(SupervisorFact::CallMalformed { tool: "x".into(), why: "no JSON".into() }, after);
        }
        let text = if calls == 0 { self.dice.one_in(2) } else { self.dice.one_in(3) };
        if text && self.dice.one_in(15) {
            let word =
                if self.dice.one_in(4) { SupervisorFact::ModelGaveUp } else { SupervisorFact::ModelDone };
            self.tell(word, after);
        }
        let end = RoundEnd {
            tokens: u64::from(self.dice.below(800)),
            text,
            text_only: calls == 0,
            diff_lines: self.contents * [5, 30, 90][self.dice.below(3) as usize],
            gone_lines: self.contents / 16,
            changed: self.job(),
            workspace: self.scene.workspace.clone(),
        };
        self.tell(SupervisorFact::RoundEnded(end), after);
    }

    /// Sometimes a background job has changed something.
    fn job(&mut self) -> Vec<HashedFileChange> {
        if !self.dice.one_in(20) {
            return Vec::new();
        }
        self.contents += 1;
        let (before, after) = ((self.contents - 1).to_string(), self.contents.to_string());
        vec![HashedFileChange { path: "src/job.rs".into(), before, after }]
    }

    fn rare(&mut self, after: &mut dyn FnMut(&mut SupervisedScene)) {
        let fact = match self.dice.below(4) {
            0 => SupervisorFact::UserForceTakeover { by: "cli".into() },
            1 => SupervisorFact::EngineError { what: "hiccup".into() },
            _ => SupervisorFact::CheckpointResumed,
        };
        self.tell(fact, after);
    }

    fn act(&mut self, i: u32, after: &mut dyn FnMut(&mut SupervisedScene)) {
        let n = self.dice.below(1000);
        let letter = format!("src/{}.rs", self.dice_letter());
        match self.temper {
            AgentTemper::Healthy => match n % 4 {
                0 => self.read(&letter, after),
                1 => self.write(&letter, after),
                2 => self.check(after),
                _ => self.search(after),
            },
            AgentTemper::Repeats => self.exec(&format!("./run {}", n % 2), true, after),
            AgentTemper::Reads => self.read(&format!("lib/{n}.rs"), after),
            AgentTemper::Circles if i == 0 => self.write("src/a.rs", after),
            AgentTemper::Circles => self.check(after),
            AgentTemper::Alternates if i == 0 => self.read("src/a.rs", after),
            AgentTemper::Alternates => self.search(after),
            AgentTemper::Drifts => self.write(&format!("docs/{}.md", n % 3), after),
            AgentTemper::Spreads => self.write(&format!("src/{n}.rs"), after),
            AgentTemper::Silent => {}
            AgentTemper::Wild => match n % 6 {
                0 => self.exec("rm -rf target", n.is_multiple_of(5), after),
                1 => self.exec(&format!("./tool {n}"), true, after),
                2 => self.write(&letter, after),
                3 => self.check(after),
                4 => self.read(&format!("{n}.md"), after),
                _ => self.propose_only(after),
            },
        }
    }

    fn dice_letter(&mut self) -> char {
        *self.dice.pick(&['a', 'b', 'c', 'd', 'e'])
    }

    /// Proposes; the call's name if it may be executed.
    fn propose(
        &mut self,
        class: ToolClass,
        target: &str,
        after: &mut dyn FnMut(&mut SupervisedScene),
    ) -> Option<String> {
        self.calls += 1;
        let call = format!("k{}", self.calls);
        let proposal = crate::scene::proposal(&call, class, target);
        self.tell(SupervisorFact::ToolProposed(proposal), after);
        let blocked = self.scene.gate().verdict == GateVerdict::Block;
        (!blocked || !self.obeys).then_some(call)
    }

    fn propose_only(&mut self, after: &mut dyn FnMut(&mut SupervisedScene)) {
        let class =
            *self.dice.pick(&[ToolClass::Ask, ToolClass::Unknown, ToolClass::Delegate, ToolClass::Control]);
        if let Some(call) = self.propose(class, "x", after) {
            let child = class == ToolClass::Delegate;
            let evidence = ProvenEffects { child, ..ProvenEffects::default() };
            self.tell(SupervisorFact::ToolFinished(crate::scene::finished(&call, true, evidence)), after);
        }
    }

    fn read(&mut self, path: &str, after: &mut dyn FnMut(&mut SupervisedScene)) {
        if let Some(call) = self.propose(ToolClass::Read, path, after) {
            let hash = format!("{}", self.contents % 3);
            let evidence = ProvenEffects {
                read: vec![FileHash { path: path.into(), hash }],
                ..ProvenEffects::default()
            };
            self.tell(SupervisorFact::ToolFinished(crate::scene::finished(&call, true, evidence)), after);
        }
    }

    fn write(&mut self, path: &str, after: &mut dyn FnMut(&mut SupervisedScene)) {
        if let Some(call) = self.propose(ToolClass::Write, path, after) {
            let before = self.contents.to_string();
            self.contents += self.dice.below(2) + u32::from(self.temper == AgentTemper::Healthy);
            let change = HashedFileChange { path: path.into(), before, after: self.contents.to_string() };
            let evidence = ProvenEffects { changed: vec![change], ..ProvenEffects::default() };
            self.tell(SupervisorFact::ToolFinished(crate::scene::finished(&call, true, evidence)), after);
        }
    }

    fn search(&mut self, after: &mut dyn FnMut(&mut SupervisedScene)) {
        if let Some(call) = self.propose(ToolClass::Search, "x", after) {
            let evidence = ProvenEffects { results: self.dice.below(3), ..ProvenEffects::default() };
            self.tell(SupervisorFact::ToolFinished(crate::scene::finished(&call, true, evidence)), after);
        }
    }

    fn exec(&mut self, command: &str, fails: bool, after: &mut dyn FnMut(&mut SupervisedScene)) {
        if let Some(call) = self.propose(ToolClass::Exec, command, after) {
            let mut done = crate::scene::finished(&call, !fails, ProvenEffects::default());
            done.exit = Some(i32::from(fails));
            done.error = fails.then(|| "error: no such option in line 3".to_owned());
            self.tell(SupervisorFact::ToolFinished(done), after);
        }
    }

    fn check(&mut self, after: &mut dyn FnMut(&mut SupervisedScene)) {
        let failing = match self.temper {
            AgentTemper::Healthy => {
                self.failing = self.failing.saturating_sub(self.dice.below(3));
                if self.dice.one_in(8) { 2 } else { self.failing }
            }
            AgentTemper::Circles => 2,
            _ => self.dice.below(3),
        };
        let cases = &["one", "two", "three", "four"][..failing.min(4) as usize];
        let exit = i32::from(failing > 0);
        if let Some(call) = self.propose(ToolClass::Exec, "cargo test", after) {
            let done = FinishedCall {
                check: true,
                exit: Some(exit),
                ok: exit == 0,
                ..crate::scene::finished(&call, true, ProvenEffects::default())
            };
            self.tell(SupervisorFact::ToolFinished(done), after);
            self.tell(of_call(&call, check_ran("cargo test", exit, cases)), after);
        }
    }

    fn green(&mut self, after: &mut dyn FnMut(&mut SupervisedScene)) {
        if let Some(call) = self.propose(ToolClass::Exec, "cargo test", after) {
            let done = FinishedCall {
                check: true,
                exit: Some(0),
                ..crate::scene::finished(&call, true, ProvenEffects::default())
            };
            self.tell(SupervisorFact::ToolFinished(done), after);
            self.tell(of_call(&call, check_ran("cargo test", 0, &[])), after);
        }
    }

    /// From here on everything goes well: what held the run back is made good, obeying every gate.
    pub(super) fn behave(&mut self, after: &mut dyn FnMut(&mut SupervisedScene)) {
        let temper = std::mem::replace(&mut self.temper, AgentTemper::Healthy);
        self.failing = 0;
        let round = self.scene.state.round() + 1;
        self.tell(SupervisorFact::RoundStarted { round }, after);
        self.read(&format!("new/{round}.rs"), after);
        if let Some(call) = self.propose(ToolClass::Delegate, "x", after) {
            let evidence = ProvenEffects { child: true, ..ProvenEffects::default() };
            self.tell(SupervisorFact::ToolFinished(crate::scene::finished(&call, true, evidence)), after);
        }
        if let Some(call) = self.propose(ToolClass::Search, "x", after) {
            let evidence = ProvenEffects { results: 2, ..ProvenEffects::default() };
            self.tell(SupervisorFact::ToolFinished(crate::scene::finished(&call, true, evidence)), after);
        }
        self.contents += 1;
        let named = self.scene.state.named().first().cloned().unwrap_or_else(|| "src/a.rs".to_owned());
        for path in [named, format!("src/fresh{round}.rs")] {
            if !self.scene.state.known().round.wrote {
                self.write(&path, after);
            }
        }
        self.failing = 0;
        self.green(after);
        let end = RoundEnd {
            tokens: 1,
            text: true,
            diff_lines: 100_000 + round * 10,
            workspace: self.scene.workspace.clone(),
            ..RoundEnd::default()
        };
        self.tell(SupervisorFact::RoundEnded(end), after);
        self.temper = temper;
    }
}

/// What came up in a run.
#[derive(Debug, Default, Clone)]
pub(super) struct StreamCoverage {
    pub(super) phases: BTreeSet<TakeoverPhase>,
    pub(super) deviations: BTreeSet<String>,
    pub(super) kinds: BTreeSet<TimelineKind>,
}

impl StreamCoverage {
    pub(super) fn names(&self) -> Vec<String> {
        let phases = self.phases.iter().map(|phase| format!("{phase:?}"));
        let deviations = self.deviations.iter().map(|name| format!("drift {name}"));
        let kinds = self.kinds.iter().map(|kind| format!("event {kind:?}"));
        phases.chain(deviations).chain(kinds).collect()
    }

    pub(super) fn note(&mut self, scene: &SupervisedScene) {
        self.phases.insert(scene.phase());
        for effect in &scene.last {
            if let SupervisorEffect::Log(record) = effect {
                self.kinds.insert(record.event);
                if let Some(name) = record.reason.strip_prefix("drift:") {
                    self.deviations.insert(name.to_owned());
                }
            }
        }
    }
}

pub(super) const DEVIATIONS: [Deviation; 9] = [
    Deviation::ToolRepeatFail,
    Deviation::NoProgress,
    Deviation::FileLoop,
    Deviation::Unhealed,
    Deviation::Polishing,
    Deviation::Malformed,
    Deviation::EmptyReplies,
    Deviation::BudgetEnding,
    Deviation::UserForceTakeover,
];

/// The level of a stream, by its number.
pub(super) fn level_of(seed: u64) -> SupervisorLevel {
    [
        SupervisorLevel::Adaptive,
        SupervisorLevel::Adaptive,
        SupervisorLevel::Strict,
        SupervisorLevel::Advise,
        SupervisorLevel::Off,
    ][(seed % 5) as usize]
}

pub(super) fn proposal_of(event: &SupervisorFact) -> Option<&CallProposal> {
    if let SupervisorFact::ToolProposed(proposal) = event { Some(proposal) } else { None }
}
