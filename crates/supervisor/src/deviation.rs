//! Signals that a run is getting lost, each over a sliding window, each cleared by new evidence.

use serde::{Deserialize, Serialize};

use crate::config::Triggers;
use crate::key::{clip, key, push_bounded};
use crate::known::RoundEvidence;

/// What is older than so many rounds is forgotten.
const WINDOW: u32 = 12;
const REPEATS: usize = 8;
const LOOPS: usize = 16;

/// A way of being lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deviation {
    /// The same failure again and again.
    ToolRepeatFail,
    /// Rounds in which nothing new came to be known.
    NoProgress,
    /// The same file edited with no check turning greener.
    FileLoop,
    /// Two calls in turn.
    Alternation,
    /// Changes outside of what was named.
    GoalDrift,
    /// Far more files changed than were named.
    ScopeCreep,
    /// A person said so.
    UserForceTakeover,
}

/// A signal that is up, with how far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Which.
    pub signal: Deviation,
    /// Its measure.
    pub value: u32,
    /// Where it begins.
    pub threshold: u32,
}

impl Reading {
    /// At twice its threshold a signal is risk enough by itself; so is a person's word.
    pub const fn is_double(&self) -> bool {
        matches!(self.signal, Deviation::UserForceTakeover) || self.value >= self.threshold.saturating_mul(2)
    }

    /// Strong enough to end a cooldown.
    pub const fn is_strong(&self) -> bool {
        match self.signal {
            Deviation::ToolRepeatFail => self.value >= 5,
            Deviation::NoProgress => self.value >= 6,
            Deviation::UserForceTakeover => true,
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Repeat {
    key: u64,
    label: String,
    count: u32,
    round: u32,
}

/// The watcher's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    failures: Vec<Repeat>,
    loops: Vec<Repeat>,
    idle: u32,
    turns: u32,
    last_calls: (u64, u64),
    drift: u32,
    spread: u32,
    asked: bool,
}

impl Watch {
    /// A call or check failed with this signature.
    pub(crate) fn failed(&mut self, signature: &str, round: u32) {
        bump(&mut self.failures, signature, round, REPEATS);
    }

    /// A file got another content.
    pub(crate) fn edited(&mut self, path: &str, round: u32) {
        bump(&mut self.loops, path, round, LOOPS);
    }

    /// A call was proposed.
    pub(crate) fn called(&mut self, call: u64) {
        let (before, last) = self.last_calls;
        self.turns = match (call == before, call == last) {
            (true, false) => self.turns.saturating_add(1),
            (false, false) => 2,
            (_, true) => 1,
        };
        self.last_calls = (last, call);
    }

    /// A person wants the supervisor to take over.
    pub(crate) fn ask(&mut self) {
        self.asked = true;
    }

    /// The person's word has been acted on, or cannot be.
    pub(crate) fn asked_and_answered(&mut self) {
        self.asked = false;
    }

    /// The round is over.
    pub(crate) fn end_round(&mut self, evidence: &RoundEvidence, round: u32, changed_files: u32) {
        let greener = evidence.greener || evidence.verified;
        if evidence.is_new(round) {
            self.idle = 0;
            self.turns = 0;
            self.failures.clear();
        } else {
            self.idle = self.idle.saturating_add(1);
        }
        // Editing is what a loop consists of: only a check that turns greener ends it.
        if greener {
            self.loops.clear();
            self.spread = changed_files;
        }
        if greener || evidence.inside {
            self.drift = 0;
        } else if evidence.outside {
            self.drift = self.drift.saturating_add(1);
        }
        for list in [&mut self.failures, &mut self.loops] {
            list.retain(|repeat| round.saturating_sub(repeat.round) < WINDOW);
        }
    }

    /// Forgets everything: somebody has looked.
    pub(crate) fn clear(&mut self, changed_files: u32) {
        *self = Self { spread: changed_files, ..Self::default() };
    }

    /// The signals that are up.
    pub(crate) fn readings(&self, triggers: &Triggers, named: u32, changed_files: u32) -> Vec<Reading> {
        let top = |list: &[Repeat]| list.iter().map(|repeat| repeat.count).max().unwrap_or(0);
        let most_files = (f64::from(named) * triggers.scope_creep_factor) as u32;
        let spread = if named == 0 { 0 } else { changed_files.saturating_sub(self.spread) };
        [
            (Deviation::ToolRepeatFail, top(&self.failures), triggers.tool_repeat_fail),
            (Deviation::NoProgress, self.idle, triggers.no_progress),
            (Deviation::FileLoop, top(&self.loops), triggers.file_loop),
            (Deviation::Alternation, self.turns / 2, triggers.alternation),
            (Deviation::GoalDrift, self.drift, triggers.goal_drift_rounds),
            (Deviation::ScopeCreep, spread, most_files.saturating_add(1)),
            (Deviation::UserForceTakeover, u32::from(self.asked), 1),
        ]
        .into_iter()
        .filter(|(_, value, threshold)| value >= threshold)
        .map(|(signal, value, threshold)| Reading { signal, value, threshold })
        .collect()
    }

    /// The failures seen more than once, worst first.
    pub(crate) fn repeated(&self) -> Vec<(&str, u32)> {
        worst(&self.failures)
    }

    /// The files edited more than once, worst first.
    pub(crate) fn looped(&self) -> Vec<(&str, u32)> {
        worst(&self.loops)
    }
}

fn worst(list: &[Repeat]) -> Vec<(&str, u32)> {
    let mut list: Vec<(&str, u32)> = list
        .iter()
        .filter(|repeat| repeat.count > 1)
        .map(|repeat| (repeat.label.as_str(), repeat.count))
        .collect();
    list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    list
}

fn bump(list: &mut Vec<Repeat>, what: &str, round: u32, most: usize) {
    let key = key([what]);
    match list.iter_mut().find(|repeat| repeat.key == key) {
        Some(repeat) => {
            repeat.count = repeat.count.saturating_add(1);
            repeat.round = round;
        }
        None => push_bounded(list, Repeat { key, label: clip(what, 120), count: 1, round }, most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: RoundEvidence = RoundEvidence {
        read: false,
        named_change: false,
        greener: false,
        verified: false,
        inside: false,
        outside: false,
        succeeded: false,
        written: Vec::new(),
        drought: false,
    };

    fn up(watch: &Watch, named: u32, changed: u32) -> Vec<(Deviation, u32)> {
        let readings = watch.readings(&Triggers::default(), named, changed);
        readings.iter().map(|reading| (reading.signal, reading.value)).collect()
    }

    /// Does something `limit` times: quiet before, up at the limit, and down after `clearing`.
    #[track_caller]
    fn check(act: impl Fn(&mut Watch, u32), limit: u32, signal: Deviation, clearing: &RoundEvidence) {
        let mut watch = Watch::default();
        for i in 1..=limit {
            assert_eq!(up(&watch, 0, 0), [], "{signal:?} after {}", i - 1);
            act(&mut watch, i);
        }
        assert_eq!(up(&watch, 0, 0), [(signal, limit)]);
        watch.end_round(clearing, limit, 0);
        assert_eq!(up(&watch, 0, 0), [], "{signal:?} is cleared");
    }

    #[test]
    fn each_signal_is_up_at_its_threshold_and_cleared_by_evidence() {
        let change = RoundEvidence { named_change: true, inside: true, ..NOTHING };
        let green = RoundEvidence { greener: true, ..NOTHING };
        check(|w, i| w.failed("same", i), 3, Deviation::ToolRepeatFail, &change);
        check(|w, i| w.end_round(&NOTHING, i, 0), 4, Deviation::NoProgress, &change);
        check(|w, i| w.edited("a.rs", i), 4, Deviation::FileLoop, &green);
        check(
            |w, _| {
                w.called(1);
                w.called(2);
            },
            3,
            Deviation::Alternation,
            &change,
        );
        let outside = RoundEvidence { outside: true, read: true, ..NOTHING };
        check(|w, i| w.end_round(&outside, i, 0), 3, Deviation::GoalDrift, &change);
    }

    #[test]
    fn edits_do_not_end_their_own_loop() {
        let change = RoundEvidence { named_change: true, inside: true, ..NOTHING };
        let mut watch = Watch::default();
        for round in 1..=4 {
            watch.edited("a.rs", round);
            watch.end_round(&change, round, 1);
        }
        assert_eq!(up(&watch, 0, 0), [(Deviation::FileLoop, 4)]);
        watch.end_round(&RoundEvidence { verified: true, ..NOTHING }, 5, 1);
        assert_eq!(up(&watch, 0, 0), []);
    }

    #[test]
    fn different_things_do_not_add_up() {
        let mut watch = Watch::default();
        for (i, name) in ["a", "b", "c", "d", "e"].iter().enumerate() {
            watch.failed(name, 1);
            watch.edited(name, 1);
            watch.called(i as u64 + 1);
        }
        assert_eq!(up(&watch, 0, 0), []);
        for call in [1, 1, 1, 1, 1, 1, 1, 1] {
            watch.called(call);
        }
        assert_eq!(up(&watch, 0, 0), [], "the same call is no alternation");
        for call in [1, 2, 1, 2, 1, 3, 1, 2] {
            watch.called(call);
        }
        assert_eq!(up(&watch, 0, 0), [], "interrupted");
    }

    #[test]
    fn scope_creep_counts_files_against_named_ones() {
        let mut watch = Watch::default();
        assert_eq!(up(&watch, 2, 4), []);
        assert_eq!(up(&watch, 2, 5), [(Deviation::ScopeCreep, 5)]);
        assert_eq!(up(&watch, 0, 50), [], "nothing is named");
        watch.end_round(&RoundEvidence { greener: true, ..NOTHING }, 1, 5);
        assert_eq!(up(&watch, 2, 9), []);
        assert_eq!(up(&watch, 2, 10), [(Deviation::ScopeCreep, 5)]);
    }

    #[test]
    fn drift_needs_rounds_that_only_change_elsewhere() {
        let mut watch = Watch::default();
        let outside = RoundEvidence { outside: true, ..NOTHING };
        watch.end_round(&outside, 1, 1);
        watch.end_round(&outside, 2, 1);
        watch.end_round(&RoundEvidence { outside: true, inside: true, ..NOTHING }, 3, 1);
        watch.end_round(&outside, 4, 1);
        watch.end_round(&NOTHING, 5, 1);
        watch.end_round(&outside, 6, 1);
        assert!(!up(&watch, 0, 0).iter().any(|(signal, _)| *signal == Deviation::GoalDrift));
        watch.end_round(&outside, 7, 1);
        assert!(up(&watch, 0, 0).contains(&(Deviation::GoalDrift, 3)));
    }

    #[test]
    fn a_person_is_heard_at_once_and_once() {
        let mut watch = Watch::default();
        watch.ask();
        assert_eq!(up(&watch, 0, 0), [(Deviation::UserForceTakeover, 1)]);
        watch.asked_and_answered();
        assert_eq!(up(&watch, 0, 0), []);
    }

    #[test]
    fn what_is_old_leaves_the_window() {
        let mut watch = Watch::default();
        watch.failed("same", 1);
        watch.failed("same", 1);
        watch.end_round(&NOTHING, WINDOW, 0);
        watch.failed("same", WINDOW);
        assert!(up(&watch, 0, 0).contains(&(Deviation::ToolRepeatFail, 3)));
        let mut watch = Watch::default();
        watch.failed("same", 1);
        watch.failed("same", 1);
        watch.end_round(&NOTHING, WINDOW + 1, 0);
        watch.failed("same", WINDOW + 1);
        assert_eq!(up(&watch, 0, 0), []);
    }

    #[test]
    fn double_and_strong() {
        let reading = |signal, value, threshold| Reading { signal, value, threshold };
        let check = |r: Reading, double: bool, strong: bool| {
            assert_eq!((r.is_double(), r.is_strong()), (double, strong), "{r:?}");
        };
        check(reading(Deviation::ToolRepeatFail, 4, 3), false, false);
        check(reading(Deviation::ToolRepeatFail, 5, 3), false, true);
        check(reading(Deviation::ToolRepeatFail, 6, 3), true, true);
        check(reading(Deviation::NoProgress, 5, 4), false, false);
        check(reading(Deviation::NoProgress, 6, 4), false, true);
        check(reading(Deviation::NoProgress, 8, 4), true, true);
        check(reading(Deviation::FileLoop, 8, 4), true, false);
        check(reading(Deviation::UserForceTakeover, 1, 1), true, true);
    }

    #[test]
    fn the_worst_is_told_first() {
        let mut watch = Watch::default();
        for (name, times) in [("a", 2), ("b", 3), ("c", 1)] {
            (0..times).for_each(|_| watch.failed(name, 1));
        }
        (0..2).for_each(|_| watch.edited("f", 1));
        assert_eq!(watch.repeated(), [("b", 3), ("a", 2)]);
        assert_eq!(watch.looped(), [("f", 2)]);
        watch.clear(3);
        assert_eq!(watch, Watch { spread: 3, ..Watch::default() });
    }
}
