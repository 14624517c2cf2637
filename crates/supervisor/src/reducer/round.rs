//! Rounds: what is said at their beginning, what is decided at their end.

use serde_json::json;

use super::Step;
use crate::correction::CorrectionKind;
use crate::deviation::Reading;
use crate::event::{Fact, RoundEnd, Workspace};
use crate::goal::PATH;
use crate::graph::When;
use crate::key::clip_path;
use crate::mode::{RoundFacts, Signal};
use crate::phase::{Observation, Phase, name};
use crate::risk;
use crate::timeline::Kind;
use crate::wording;

/// Most tests that lost lines kept.
const SHRUNK: usize = 8;

impl Step<'_> {
    pub(super) fn round_started(&mut self, round: u32) {
        if self.s.stopped.is_some() {
            return;
        }
        self.s.round = round.max(self.s.round);
        self.s.in_round = true;
        let config = &self.s.config;
        let wants_graph = config.level.graph_at_first_round(config.strict.first_round_graph);
        if round == 1 && self.s.graph.is_none() && wants_graph && self.s.intent.uses_graph() {
            self.first_graph();
            self.decide_mode(None);
        }
        self.say_the_step();
    }

    fn say_the_step(&mut self) {
        let s = &*self.s;
        if s.phase.is_recovering() {
            // Without belief in the snapshot one strong hint was given, and no plan text.
            if s.tier.tier() == crate::tier::Tier::Graph {
                let text = wording::takeover(s, &s.why);
                self.say(CorrectionKind::Takeover, text);
            } else {
                let text = wording::recovery(s, "One thing at a time.");
                self.say(CorrectionKind::Recovery, text);
            }
            return;
        }
        let text = match s.graph.as_ref().and_then(|graph| Some((graph, graph.current()?))) {
            Some((graph, node)) => wording::hint(graph, node, &s.named),
            None if self.is_forced() => wording::step_hint(s),
            None => return,
        };
        self.say(CorrectionKind::GraphHint, text);
    }

    pub(super) fn round_ended(&mut self, fact: &Fact, end: &RoundEnd) {
        let brought = self.s.known.absorb(fact, self.s.round, &self.s.named);
        self.s.pending.clear();
        for change in end.changed.iter().filter(|change| change.is_real()) {
            self.s.budget.edited(&change.path);
            self.s.watch.edited(&change.path, self.s.round);
        }
        self.s.in_round = false;
        if self.s.stopped.is_some() {
            if brought.mutations > 0 {
                self.graph_outdated();
            }
            return;
        }
        if brought.mutations > 0 {
            self.graph_mutated();
        }
        self.s.diff_lines = end.diff_lines;
        self.look(end.workspace.as_ref());
        let s = &mut *self.s;
        let checkable = !s.checks.is_empty() || !s.known.checks().is_empty();
        let evidence = s.known.end_round(s.round, checkable);
        if evidence.written.len() > s.config.mode.write_targets as usize {
            s.mode.raise(Signal::MultiWrite);
        }
        let is_new = evidence.is_new(s.round);
        let progress = evidence.greener || evidence.verified;
        let wrote = !evidence.written.is_empty();
        s.watch.end_round(&evidence, s.round, s.known.changed_count());
        let step_before = s.graph.as_ref().map(|graph| graph.cursor.node_id.clone());
        self.tick(When::RoundEnd { wrote });
        if self.s.stopped.is_none() {
            self.observe(end, is_new, progress);
        }
        if self.s.stopped.is_none() && self.s.tier.end_round() {
            self.lower_tier();
        }
        let stepped =
            self.s.graph.as_ref().is_some_and(|graph| Some(&graph.cursor.node_id) != step_before.as_ref());
        let task_bearing = !end.text_only && (evidence.succeeded || wrote || stepped);
        self.decide_mode(Some(RoundFacts { task_bearing, evidence: is_new }));
    }

    fn look(&mut self, workspace: Option<&Workspace>) {
        let s = &mut *self.s;
        s.hashed = workspace.is_some_and(|workspace| workspace.verified);
        s.git = workspace.map(|workspace| workspace.git).unwrap_or_default();
        let Some(workspace) = workspace else { return };
        for file in &workspace.changed {
            s.known.adopt(&file.path, &file.hash);
        }
        let shrunk = workspace.shrunk_tests.iter().take(SHRUNK);
        s.known.shrunk_tests = shrunk.map(|path| clip_path(path, PATH)).collect();
    }

    /// L2: what deviates is told, and acted on where the level allows.
    fn observe(&mut self, end: &RoundEnd, evidence: bool, progress: bool) {
        if !self.s.config.level.observes() {
            return;
        }
        let readings = self.readings();
        self.tell_deviations(&readings);
        let s = &mut *self.s;
        let seen = Observation {
            readings: &readings,
            risk: risk::risk(&s.known),
            critical: s.domain.is_critical(),
            evidence,
            verified: progress,
            tokens: end.tokens,
            token_limit: s.token_limit,
        };
        let outcome = s.phase.end_round(&seen, &s.config);
        self.follow(outcome);
    }

    pub(super) fn readings(&self) -> Vec<Reading> {
        let s = &*self.s;
        let named = u32::try_from(s.named.len()).unwrap_or(u32::MAX);
        s.watch.readings(&s.config.triggers, named, s.known.changed_count())
    }

    /// An observation for the timeline, once while it lasts.
    fn tell_deviations(&mut self, readings: &[Reading]) {
        let mut up = 0;
        for reading in readings {
            let bit = 1 << reading.signal as u8;
            up |= bit;
            if self.s.told & bit == 0 {
                let payload = json!({"signal": reading.signal, "value": reading.value,
                    "threshold": reading.threshold, "risk": risk::risk(&self.s.known)});
                self.log(Kind::Drift, &format!("drift:{}", name(reading.signal)), payload);
            }
        }
        self.s.told = up;
    }

    pub(super) fn is_supervised(&self) -> bool {
        self.s.phase.phase() == Phase::Takeover
    }
}
