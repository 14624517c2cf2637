//! Signals that a run is getting lost: counts of what brought nothing, each cleared by information.

use serde::{Deserialize, Serialize};

use crate::key::{clip, key, push_bounded};
use crate::known::RoundEvidence;
pub use crate::signal::Deviation;
use crate::signal::Triggers;

const REPEATS: usize = 8;
/// So many rounds something may be waited for.
const PATIENCE: u32 = 30;

/// A signal that is up, with how far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DeviationReading {
    /// Which.
    pub signal: Deviation,
    /// Its measure.
    pub value: u32,
    /// Where it begins.
    pub threshold: u32,
}

impl DeviationReading {
    /// Strong enough to end a cooldown.
    pub const fn is_strong(&self) -> bool {
        match self.signal {
            Deviation::UserForceTakeover => true,
            Deviation::BudgetEnding => false,
            _ => self.value >= self.threshold.saturating_add(self.threshold.div_ceil(2)),
        }
    }

    /// Whether more than words may come of it.
    pub const fn leads_on(&self) -> bool {
        !matches!(self.signal, Deviation::BudgetEnding)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RepeatedFailure {
    key: u64,
    label: String,
    count: u32,
    /// The call that failed last.
    #[serde(default)]
    call: u64,
    /// Twice for the same call again, once for another: that is another question.
    #[serde(default)]
    weight: u32,
    /// Whether it was several calls.
    #[serde(default)]
    several: bool,
}

/// What the watcher has to know of the run beside a round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct RoundContext {
    /// Whether something is to be repaired.
    pub repair: bool,
    /// Whether everything was green when something was last known about it.
    pub green: bool,
    /// Whether the reply said and did nothing.
    pub empty: bool,
    /// Rounds or tokens used, of 1000.
    pub used: u32,
}

/// The watcher's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviationWatch {
    failures: Vec<RepeatedFailure>,
    idle: u32,
    waited: u32,
    reds: u32,
    /// Whether changes reached further since a check was last red.
    reached: bool,
    unhealed: u32,
    polished: u32,
    /// Rounds that only added lines after everything was green.
    #[serde(default)]
    padded: u32,
    malformed: u32,
    empty: u32,
    used: u32,
    asked: bool,
    /// Whether something is to be repaired.
    repair: bool,
}

impl DeviationWatch {
    /// A call or check failed with this signature, and nothing was changed since it last did.
    pub(crate) fn failed(&mut self, signature: &str, call: u64) {
        let key = key([signature]);
        if let Some(repeat) = self.failures.iter_mut().find(|repeat| repeat.key == key) {
            let same = repeat.call == call;
            repeat.count = repeat.count.saturating_add(1);
            repeat.weight = repeat.weight.saturating_add(if same { 2 } else { 1 });
            repeat.several |= !same;
            repeat.call = call;
            return;
        }
        let label = clip(signature, 120);
        let first = RepeatedFailure { key, label, count: 1, call, weight: 2, several: false };
        push_bounded(&mut self.failures, first, REPEATS);
    }

    /// What failed passes.
    pub(crate) fn passed(&mut self, call: u64) {
        self.failures.retain(|repeat| repeat.call != call || repeat.several);
    }

    /// A call could not be read.
    pub(crate) fn malformed(&mut self) {
        self.malformed = self.malformed.saturating_add(1);
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
    pub(crate) fn end_round(&mut self, round: &RoundEvidence, around: RoundContext) {
        let changed = round.fresh && round.wrote;
        let patient = round.waited && self.waited < PATIENCE;
        if round.is_new() {
            (self.idle, self.waited) = (0, 0);
        } else if patient {
            self.waited = self.waited.saturating_add(1);
        } else {
            self.idle = self.idle.saturating_add(1);
        }
        // What was tried before the workspace changed may well be tried again.
        if round.is_progress() || changed {
            self.failures.clear();
        }
        // Whoever asks other questions and is answered in between is on a way.
        if round.succeeded && round.news {
            self.failures.iter_mut().filter(|repeat| repeat.several).for_each(|repeat| repeat.weight = 0);
        }
        let reaches = round.reaches(around.repair);
        self.reached |= reaches;
        if round.is_progress() {
            (self.reds, self.unhealed) = (0, 0);
        } else if round.red_again && !self.reached {
            self.reds = self.reds.saturating_add(1);
        }
        self.reached &= !(round.red_again || round.red_new);
        if reaches {
            self.unhealed = 0;
        } else if changed && !round.news && !around.green {
            self.unhealed = self.unhealed.saturating_add(1);
        }
        let elsewhere = round.touched || round.created || round.red_new || round.red_again;
        if !around.green || elsewhere || round.grew {
            self.polished = 0;
        } else if changed {
            self.polished = self.polished.saturating_add(1);
        }
        // Where something was to be repaired, more lines after it is are hardly more of it.
        if !around.green || elsewhere || !around.repair {
            self.padded = 0;
        } else if changed && round.grew && !round.news {
            self.padded = self.padded.saturating_add(1);
        }
        // A call that is read and brings what was known before is no way out of calls that cannot be read.
        if round.malformed == 0 && (round.news || round.wrote || round.greener || round.verified) {
            self.malformed = 0;
        }
        self.empty = if around.empty { self.empty.saturating_add(1) } else { 0 };
        self.used = around.used;
        self.repair = around.repair;
    }

    /// Forgets everything: somebody has looked.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The signals that are up.
    pub(crate) fn readings(&self, triggers: &Triggers) -> Vec<DeviationReading> {
        // Where nothing is to be repaired, going over what is there may well be the work.
        let patience = if self.repair { 1 } else { 3 };
        let (unhealed, polishing) =
            (triggers.unhealed.saturating_mul(patience), triggers.polishing.saturating_mul(patience));
        let padded = if self.padded >= polishing.saturating_add(polishing / 2) { self.padded } else { 0 };
        let polished = self.polished.max(padded);
        let proven = |repeat: &&RepeatedFailure| repeat.weight / 2 >= triggers.tool_repeat_fail;
        let repeated = self.failures.iter().filter(proven).map(|repeat| repeat.count).max().unwrap_or(0);
        [
            (Deviation::ToolRepeatFail, repeated, triggers.tool_repeat_fail),
            (Deviation::NoProgress, self.idle, triggers.no_progress),
            (Deviation::FileLoop, self.reds, triggers.file_loop),
            (Deviation::Unhealed, self.unhealed, unhealed),
            (Deviation::Polishing, polished, polishing),
            (Deviation::Malformed, self.malformed, triggers.malformed),
            (Deviation::EmptyReplies, self.empty, triggers.empty_replies),
            (Deviation::BudgetEnding, self.used / 10, (triggers.budget_share * 100.0 + 0.5) as u32),
            (Deviation::UserForceTakeover, u32::from(self.asked), 1),
        ]
        .into_iter()
        .filter(|(_, value, threshold)| value >= threshold)
        .map(|(signal, value, threshold)| DeviationReading { signal, value, threshold })
        .collect()
    }

    /// The failures seen more than once, worst first.
    pub(crate) fn repeated(&self) -> Vec<(&str, u32)> {
        let mut list: Vec<(&str, u32)> = self
            .failures
            .iter()
            .filter(|repeat| repeat.count > 1)
            .map(|repeat| (repeat.label.as_str(), repeat.count))
            .collect();
        list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: RoundEvidence = RoundEvidence {
        news: false,
        fresh: false,
        touched: false,
        created: false,
        wrote: false,
        grew: false,
        replaced: false,
        greener: false,
        verified: false,
        green_again: false,
        red_new: false,
        red_again: false,
        succeeded: false,
        waited: false,
        malformed: 0,
    };
    const NEWS: RoundEvidence = RoundEvidence { news: true, ..NOTHING };
    const REWRITE: RoundEvidence = RoundEvidence { fresh: true, wrote: true, succeeded: true, ..NOTHING };
    const FREE: RoundContext = RoundContext { repair: false, green: false, empty: false, used: 0 };
    const REPAIR: RoundContext = RoundContext { repair: true, ..FREE };
    const GREEN: RoundContext = RoundContext { green: true, ..REPAIR };

    fn up(watch: &DeviationWatch) -> Vec<(Deviation, u32)> {
        watch.readings(&Triggers::default()).iter().map(|r| (r.signal, r.value)).collect()
    }

    /// Does something `limit` times: quiet before, up at the limit, and down after `clearing`.
    #[track_caller]
    fn check(
        act: impl Fn(&mut DeviationWatch),
        limit: u32,
        signal: Deviation,
        clearing: (&RoundEvidence, RoundContext),
    ) {
        let mut watch = DeviationWatch::default();
        for i in 1..=limit {
            assert_eq!(up(&watch), [], "{signal:?} after {}", i - 1);
            act(&mut watch);
        }
        assert_eq!(up(&watch), [(signal, limit)]);
        watch.end_round(clearing.0, clearing.1);
        assert_eq!(up(&watch), [], "{signal:?} is cleared");
    }

    #[test]
    fn more_and_more_lines_after_a_repair_are_told_and_before_it_are_not() {
        let longer = RoundEvidence { grew: true, ..REWRITE };
        let free = RoundContext { green: true, ..FREE };
        for (around, told) in [(GREEN, true), (REPAIR, false), (free, false)] {
            let mut watch = DeviationWatch::default();
            (0..40).for_each(|_| watch.end_round(&longer, around));
            let polishes = up(&watch).iter().any(|(signal, _)| *signal == Deviation::Polishing);
            assert_eq!(polishes, told);
        }
    }

    #[test]
    fn other_questions_with_the_same_failure_weigh_half_and_nothing_once_one_is_answered() {
        let (mut same, mut others) = (DeviationWatch::default(), DeviationWatch::default());
        for call in 0..5 {
            same.failed("cannot add up", 1);
            others.failed("cannot add up", call);
        }
        assert_eq!(
            (up(&same), up(&others)),
            (vec![(Deviation::ToolRepeatFail, 5)], vec![(Deviation::ToolRepeatFail, 5)])
        );
        let answered = RoundEvidence { succeeded: true, ..NEWS };
        same.end_round(&answered, FREE);
        others.end_round(&answered, FREE);
        assert_eq!((up(&same), up(&others)), (vec![(Deviation::ToolRepeatFail, 5)], vec![]));
        same.passed(2);
        assert_eq!(up(&same), [(Deviation::ToolRepeatFail, 5)], "another call passed");
        same.passed(1);
        assert_eq!(up(&same), []);
        let mut few = DeviationWatch::default();
        (0..4).for_each(|call| few.failed("cannot add up", call));
        assert_eq!(up(&few), []);
    }

    #[test]
    fn each_signal_is_up_at_its_threshold_and_cleared_by_information() {
        let green = RoundEvidence { greener: true, ..NOTHING };
        let again = RoundEvidence { red_again: true, ..REWRITE };
        let touched = RoundEvidence { touched: true, ..REWRITE };
        let ok = RoundEvidence { succeeded: true, news: true, ..NOTHING };
        check(|w| w.failed("same", 1), 3, Deviation::ToolRepeatFail, (&REWRITE, FREE));
        check(|w| w.end_round(&NOTHING, FREE), 5, Deviation::NoProgress, (&NEWS, FREE));
        check(|w| w.end_round(&again, REPAIR), 3, Deviation::FileLoop, (&green, REPAIR));
        check(|w| w.end_round(&REWRITE, REPAIR), 10, Deviation::Unhealed, (&touched, REPAIR));
        check(|w| w.end_round(&REWRITE, GREEN), 8, Deviation::Polishing, (&touched, GREEN));
        let free = RoundContext { repair: false, ..GREEN };
        check(|w| w.end_round(&REWRITE, free), 24, Deviation::Polishing, (&touched, free));
        check(DeviationWatch::malformed, 3, Deviation::Malformed, (&ok, FREE));
        let empty = RoundContext { empty: true, ..FREE };
        check(|w| w.end_round(&NEWS, empty), 2, Deviation::EmptyReplies, (&NEWS, FREE));
    }

    #[test]
    fn calls_that_cannot_be_read_are_not_forgotten_for_one_that_brings_nothing() {
        let old = RoundEvidence { succeeded: true, ..NOTHING };
        let unread =
            |watch: &DeviationWatch| up(watch).iter().any(|(signal, _)| *signal == Deviation::Malformed);
        let mut watch = DeviationWatch::default();
        for _ in 0..3 {
            assert!(!unread(&watch));
            watch.malformed();
            watch.end_round(&RoundEvidence { malformed: 1, ..NOTHING }, FREE);
            watch.end_round(&old, FREE);
        }
        assert!(unread(&watch));
    }

    #[test]
    fn work_that_reaches_further_is_no_loop() {
        let again = RoundEvidence { red_again: true, ..REWRITE };
        let more = [
            (RoundEvidence { touched: true, ..again.clone() }, REPAIR, true),
            (RoundEvidence { touched: true, ..again.clone() }, FREE, true),
            (RoundEvidence { created: true, ..again.clone() }, FREE, true),
            (RoundEvidence { grew: true, ..again.clone() }, FREE, true),
            (RoundEvidence { created: true, ..again.clone() }, REPAIR, false),
            (RoundEvidence { grew: true, ..again }, REPAIR, false),
        ];
        for (round, around, quiet) in more {
            let mut watch = DeviationWatch::default();
            (0..20).for_each(|_| watch.end_round(&round, around));
            assert_eq!(up(&watch).is_empty(), quiet, "{round:?} {around:?}");
        }
        let mut watch = DeviationWatch::default();
        let (free, more) = (RoundContext { repair: false, ..GREEN }, RoundEvidence { grew: true, ..REWRITE });
        (0..40).for_each(|_| watch.end_round(&more, free));
        assert_eq!(up(&watch), [], "more and more, and green");
        (0..40).for_each(|_| watch.end_round(&RoundEvidence { red_new: true, ..REWRITE }, REPAIR));
        assert_eq!(up(&watch), [], "red in ever new ways");
        (0..40).for_each(|_| watch.end_round(&RoundEvidence { news: true, ..REWRITE }, REPAIR));
        assert_eq!(up(&watch), [], "something new each time");
    }

    #[test]
    fn waiting_takes_patience_and_not_for_ever() {
        let mut watch = DeviationWatch::default();
        let waits = RoundEvidence { waited: true, ..NOTHING };
        (0..PATIENCE).for_each(|_| watch.end_round(&waits, FREE));
        assert_eq!(up(&watch), []);
        (0..5).for_each(|_| watch.end_round(&waits, FREE));
        assert_eq!(up(&watch), [(Deviation::NoProgress, 5)]);
    }

    #[test]
    fn different_failures_do_not_add_up() {
        let mut watch = DeviationWatch::default();
        ["a", "b", "c", "d", "e"].iter().for_each(|name| watch.failed(name, 1));
        assert_eq!(up(&watch), []);
        watch.failed("b", 1);
        watch.failed("b", 1);
        assert_eq!((up(&watch), watch.repeated()), (vec![(Deviation::ToolRepeatFail, 3)], vec![("b", 3)]));
        watch.clear();
        assert_eq!(watch, DeviationWatch::default());
    }

    #[test]
    fn a_budget_that_ends_is_told_and_leads_nowhere() {
        let mut watch = DeviationWatch::default();
        watch.end_round(&NEWS, RoundContext { used: 799, ..FREE });
        assert_eq!(up(&watch), []);
        watch.end_round(&NEWS, RoundContext { used: 800, ..FREE });
        let readings = watch.readings(&Triggers::default());
        assert!(readings.len() == 1 && !readings[0].leads_on() && !readings[0].is_strong());
    }

    #[test]
    fn a_person_is_heard_at_once_and_once() {
        let mut watch = DeviationWatch::default();
        watch.ask();
        assert_eq!(up(&watch), [(Deviation::UserForceTakeover, 1)]);
        watch.asked_and_answered();
        assert_eq!(up(&watch), []);
    }

    #[test]
    fn strong_is_half_as_much_again() {
        let check = |signal, value, threshold, strong: bool| {
            assert_eq!(
                DeviationReading { signal, value, threshold }.is_strong(),
                strong,
                "{signal:?} {value}"
            );
        };
        check(Deviation::ToolRepeatFail, 4, 3, false);
        check(Deviation::ToolRepeatFail, 5, 3, true);
        check(Deviation::NoProgress, 7, 5, false);
        check(Deviation::NoProgress, 8, 5, true);
        check(Deviation::UserForceTakeover, 1, 1, true);
    }
}
