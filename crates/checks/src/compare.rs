//! What runs of one check on different trees say about the change between them.

use std::collections::BTreeSet;

use holon_core::manifest::{CaseCounts, CaseDifferences, CheckVerdict};
use serde::{Deserialize, Serialize};

use crate::printed_lines::PrintedLines;
use crate::runner::{CaseState, RunnerReport, TestRunner};

/// Most names told of each kind.
const NAMES: usize = 50;

/// One run of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckExecution {
    /// Its exit code; none when it was ended.
    pub exit: Option<i32>,
    /// What it said.
    pub report: RunnerReport,
    /// Files that define checks and were changed or removed while it ran.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub rewritten: BTreeSet<String>,
    /// Its lines, for a check whose cases nobody can count.
    #[serde(default)]
    pub told: PrintedLines,
}

impl CheckExecution {
    /// Whether it passed: it ended well, and no case of it failed by its own account.
    pub fn is_green(&self) -> bool {
        self.exit == Some(0) && self.report.failed == 0
    }

    /// Its counts, where cases were counted.
    pub fn counts(&self) -> Option<CaseCounts> {
        let RunnerReport { passed, failed, skipped, .. } = self.report;
        self.report.is_counted().then_some(CaseCounts { passed, failed, skipped })
    }

    /// Whether its cases can tell what is flaky and what is not.
    fn names_failures(&self) -> bool {
        !self.report.failing.is_empty()
    }

    /// Whether nothing of it ran, although it passed.
    fn is_empty(&self) -> bool {
        self.is_green() && self.report.passed == 0 && self.report.failed == 0
    }

    /// How many cases ran at least: one case may fail in several ways, and be counted for each.
    fn ran_at_least(&self) -> u32 {
        self.report.passed.saturating_add(u32::from(self.report.failed > 0))
    }

    /// Whether more cases fail than in another run, though nobody may know which.
    fn fails_more_than(&self, other: &Self) -> bool {
        other.report.is_counted() && self.report.failed > other.report.failed
    }

    /// Whether lines that said that something is well are missing, where nobody can count cases.
    fn says_less_than(&self, other: &Self) -> bool {
        let counted = self.report.is_counted() || other.report.is_counted();
        !counted && !self.told.says_all_of(&other.told)
    }

    fn failing(&self) -> BTreeSet<&str> {
        self.report.failing.iter().map(String::as_str).collect()
    }
}

/// A run that has to be made before anything can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededRun {
    /// On the tree before the change.
    Baseline,
    /// On the result, with what defines checks from before the change.
    AsItWas,
    /// On the result, once more.
    Again,
    /// As it was, once more.
    AsItWasAgain,
}

/// Everything known of one check.
#[derive(Debug, Clone, Default)]
pub struct CheckEvidence {
    /// On the result.
    pub result: CheckExecution,
    /// On the result, a second time.
    pub again: Option<CheckExecution>,
    /// On the tree before the change.
    pub baseline: Option<CheckExecution>,
    /// With what defines checks from before the change.
    pub as_it_was: Option<CheckExecution>,
    /// The same, a second time.
    pub as_it_was_again: Option<CheckExecution>,
    /// Whether the change touches what defines checks.
    pub touched: bool,
    /// Whether something of that could not be put back.
    pub doubt: bool,
    /// Whether the change adds code that ends a process.
    pub ends_process: bool,
    /// Whether it does so as if all were well.
    pub ends_well: bool,
    /// Whether there is a change at all: without one the result is the tree before it.
    pub changed: bool,
    /// The runner the command names.
    pub runner: Option<TestRunner>,
}

impl CheckEvidence {
    /// What has to run next. At most two runs are asked for besides the one on the result.
    pub fn needed(&self) -> Option<NeededRun> {
        let result = &self.result;
        if !self.changed {
            // The same tree: a second look only tells luck from failure.
            let luck = !result.is_green() && result.names_failures();
            return (luck && self.again.is_none()).then_some(NeededRun::Again);
        }
        if result.is_green() {
            return self.needed_for_green();
        }
        let Some(baseline) = &self.baseline else { return Some(NeededRun::Baseline) };
        let broken = result.failing().difference(&baseline.failing()).next().is_some();
        let broken = (broken && result.names_failures())
            || result.fails_more_than(baseline)
            || result.says_less_than(baseline);
        let luck = broken && baseline.exit.is_some();
        (luck && self.again.is_none()).then_some(NeededRun::Again)
    }

    fn needed_for_green(&self) -> Option<NeededRun> {
        if self.touched && !self.doubt {
            let Some(before) = &self.as_it_was else { return Some(NeededRun::AsItWas) };
            if !before.is_green() && before.names_failures() && self.as_it_was_again.is_none() {
                return Some(NeededRun::AsItWasAgain);
            }
        }
        if self.baseline.is_some() || self.as_it_was.as_ref().is_some_and(|before| !before.is_green()) {
            return None;
        }
        // A runner that counts and counted nothing: did it before?
        let quiet = self.counts() && self.old_tests().is_empty();
        // Cases that are left out, and definitions that change while they are used: was it so before?
        let left_out = self.old_tests().report.skipped > 0;
        let odd = quiet || left_out || self.ends_process || !self.rewritten().is_empty();
        (odd && !self.doubt).then_some(NeededRun::Baseline)
    }

    /// Definitions that a run changed while it used them, and that the check does not change by itself.
    pub fn rewritten(&self) -> BTreeSet<&str> {
        let known = |path: &&String| {
            self.baseline.as_ref().is_some_and(|before| before.rewritten.contains(path.as_str()))
        };
        let runs = [Some(&self.result), self.as_it_was.as_ref()];
        let all = runs.into_iter().flatten().flat_map(|ran| &ran.rewritten);
        all.filter(|path| !known(path)).map(String::as_str).collect()
    }

    /// The tests that were there before on the code that is there now.
    fn old_tests(&self) -> &CheckExecution {
        self.as_it_was.as_ref().unwrap_or(&self.result)
    }

    /// What the check says about the change.
    pub fn verdict(&self) -> (CheckVerdict, CaseDifferences) {
        let mut differences = self.differences();
        let verdict =
            if self.result.is_green() { self.green(&mut differences) } else { self.red(&differences) };
        bound(&mut differences);
        (verdict, differences)
    }

    fn green(&self, differences: &mut CaseDifferences) -> CheckVerdict {
        if !self.rewritten().is_empty() {
            return CheckVerdict::OnlyAsChanged;
        }
        if self.touched {
            let held =
                self.as_it_was.as_ref().is_some_and(|before| before.is_green() && !self.went_quiet(before))
                    || self.as_it_was_again.as_ref().is_some_and(CheckExecution::is_green);
            if self.doubt || !held {
                return CheckVerdict::OnlyAsChanged;
            }
        }
        if self.baseline.as_ref().is_some_and(|before| self.lost_cases(before)) {
            return CheckVerdict::NoLongerRun;
        }
        if self.baseline.as_ref().is_some_and(|before| self.lost_words(before)) {
            return CheckVerdict::NoLongerRun;
        }
        // Fewer cases without a touched test: something keeps them from running.
        if !self.touched && !differences.no_longer_run.is_empty() {
            return CheckVerdict::NoLongerRun;
        }
        CheckVerdict::Passed
    }

    /// Whether tests that ran before the change do not run with it, though nothing of them was touched.
    fn lost_cases(&self, before: &CheckExecution) -> bool {
        if self.tells_failures_alone(before) {
            return false;
        }
        let ran = |ran: &CheckExecution| ran.report.passed.saturating_add(ran.report.failed);
        let (now, then) = (self.old_tests(), ran(before));
        let fewer = ran(now) < before.ran_at_least();
        (now.is_empty() && then > 0) || fewer || (self.ends_process && ran(now) < then)
    }

    /// Whether a check whose cases nobody counts does not say any more what it said before: somewhere on the way it ended.
    fn lost_words(&self, before: &CheckExecution) -> bool {
        let now = self.old_tests();
        // Nobody can tell whether a check that says nothing came to its end.
        if self.ends_well && now.told.is_silent() && !now.report.is_counted() {
            return true;
        }
        if now.report.is_counted() || before.report.is_counted() {
            return false;
        }
        let silent = now.told.is_silent() && !before.told.is_silent();
        let green = before.is_green();
        !now.told.says_all_of(&before.told)
            || (silent && (green || self.ends_process))
            || (self.ends_process && green && !now.told.closes_as(&before.told))
    }

    /// Whether the runner is one that counts what it runs.
    fn counts(&self) -> bool {
        self.runner.is_some_and(|runner| !matches!(runner, TestRunner::Make | TestRunner::Other))
    }

    /// Whether this is a check of somebody's own that named what failed, nothing else, and now has nothing to name.
    fn tells_failures_alone(&self, before: &CheckExecution) -> bool {
        let silent = self.old_tests().is_empty() && self.result.is_green();
        silent && before.report.passed == 0 && !before.is_green() && !self.counts() && !self.ends_process
    }

    /// Whether the old checks ran nothing although the new ones ran something, or the runner counts and said nothing.
    fn went_quiet(&self, before: &CheckExecution) -> bool {
        before.is_empty() && self.result.report.passed > 0
    }

    fn red(&self, differences: &CaseDifferences) -> CheckVerdict {
        if self.again.as_ref().is_some_and(CheckExecution::is_green) {
            return CheckVerdict::Flaky;
        }
        if !self.changed {
            return CheckVerdict::Failed;
        }
        match &self.baseline {
            None => CheckVerdict::Failed,
            Some(before) if before.exit.is_none() => CheckVerdict::Failed,
            // It ends well although cases fail, and did not before: whatever makes it do so is no repair.
            Some(before) if self.result.exit == Some(0) && before.exit != Some(0) => CheckVerdict::Failed,
            Some(before) if before.is_green() => CheckVerdict::Broken,
            Some(_) if !differences.broken.is_empty() => CheckVerdict::Broken,
            Some(before) if self.each(|ran| ran.fails_more_than(before)) => CheckVerdict::Broken,
            Some(before) if self.each(|ran| ran.says_less_than(before)) => CheckVerdict::Broken,
            Some(before) if before.names_failures() && self.result.names_failures() => {
                CheckVerdict::FailingAsBefore
            }
            // No case is known by name: the same end is all that can be compared.
            Some(before)
                if before.exit == self.result.exit
                    && !before.names_failures()
                    && !self.result.names_failures() =>
            {
                CheckVerdict::FailingAsBefore
            }
            Some(_) => CheckVerdict::Broken,
        }
    }

    /// Whether something holds each time the check was tried on the result: else it is luck.
    fn each(&self, holds: impl Fn(&CheckExecution) -> bool) -> bool {
        [Some(&self.result), self.again.as_ref()].into_iter().flatten().all(holds)
    }

    fn differences(&self) -> CaseDifferences {
        let mut found = CaseDifferences::default();
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
        found.flaky = owned(self.flaky());
        // With tests as they were and without a baseline, the old tests on the new code are what to compare with.
        let Some(before) = self.baseline.as_ref().or(self.as_it_was.as_ref()) else { return found };
        let (old, new) = (before.failing(), self.result.failing());
        let is_flaky = |name: &&&str| !found.flaky.iter().any(|known| known == **name);
        if self.baseline.is_some() {
            let known = self.result.report.names_all();
            let gone = |name: &&&str| match self.result.report.cases.get(**name) {
                Some(state) => *state == CaseState::Passed,
                // Where every case is named, one that is not did not run.
                None => !known && !new.contains(**name),
            };
            found.fixed = old.iter().filter(gone).map(|name| (*name).to_owned()).collect();
            let broken: BTreeSet<&str> =
                new.difference(&old).filter(|name| is_flaky(name)).copied().collect();
            found.failing_as_before = owned(new.intersection(&old).copied().collect());
            found.broken = owned(broken);
        }
        let both = before.report.names_all() && self.result.report.names_all();
        if both && !self.tells_failures_alone(before) {
            let runs = |ran: &CheckExecution, name: &str| {
                ran.report.cases.get(name).is_some_and(|state| *state != CaseState::Skipped)
            };
            let lost =
                before.report.cases.keys().filter(|name| runs(before, name) && !runs(&self.result, name));
            found.no_longer_run = lost.cloned().collect();
            let new = self.result.report.cases.keys().filter(|name| !before.report.cases.contains_key(*name));
            found.new = new.cloned().collect();
        }
        found
    }

    /// Cases that ended differently on the same tree.
    fn flaky(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let pairs = [
            (Some(&self.result), self.again.as_ref()),
            (self.as_it_was.as_ref(), self.as_it_was_again.as_ref()),
        ];
        for (one, other) in pairs {
            if let (Some(one), Some(other)) = (one, other) {
                found.extend(one.failing().symmetric_difference(&other.failing()).copied());
            }
        }
        found
    }
}

fn bound(differences: &mut CaseDifferences) {
    let CaseDifferences { fixed, broken, failing_as_before, no_longer_run, new, flaky } = differences;
    for list in [fixed, broken, failing_as_before, no_longer_run, new, flaky] {
        list.truncate(NAMES);
    }
}

#[cfg(test)]
mod tests;
