//! What runs of one check on different trees say about the change between them.

use std::collections::BTreeSet;

use holon_core::manifest::{CaseCounts, CaseDifferences, CheckVerdict};
use serde::{Deserialize, Serialize};

use crate::runner::{CaseState, Report, Runner};
use crate::told::Told;

/// Most names told of each kind.
const NAMES: usize = 50;

/// One run of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Its exit code; none when it was ended.
    pub exit: Option<i32>,
    /// What it said.
    pub report: Report,
    /// Files that define checks and were changed or removed while it ran.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub rewritten: BTreeSet<String>,
    /// Its lines, for a check whose cases nobody can count.
    #[serde(default)]
    pub told: Told,
}

impl Ran {
    /// Whether it passed: it ended well, and no case of it failed by its own account.
    pub fn is_green(&self) -> bool {
        self.exit == Some(0) && self.report.failed == 0
    }

    /// Its counts, where cases were counted.
    pub fn counts(&self) -> Option<CaseCounts> {
        let Report { passed, failed, skipped, .. } = self.report;
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
    pub result: Ran,
    /// On the result, a second time.
    pub again: Option<Ran>,
    /// On the tree before the change.
    pub baseline: Option<Ran>,
    /// With what defines checks from before the change.
    pub as_it_was: Option<Ran>,
    /// The same, a second time.
    pub as_it_was_again: Option<Ran>,
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
    pub runner: Option<Runner>,
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
    fn old_tests(&self) -> &Ran {
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
                    || self.as_it_was_again.as_ref().is_some_and(Ran::is_green);
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
    fn lost_cases(&self, before: &Ran) -> bool {
        if self.tells_failures_alone(before) {
            return false;
        }
        let ran = |ran: &Ran| ran.report.passed.saturating_add(ran.report.failed);
        let (now, then) = (self.old_tests(), ran(before));
        let fewer = ran(now) < before.ran_at_least();
        (now.is_empty() && then > 0) || fewer || (self.ends_process && ran(now) < then)
    }

    /// Whether a check whose cases nobody counts does not say any more what it said before: somewhere on the way it ended.
    fn lost_words(&self, before: &Ran) -> bool {
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
        self.runner.is_some_and(|runner| !matches!(runner, Runner::Make | Runner::Other))
    }

    /// Whether this is a check of somebody's own that named what failed, nothing else, and now has nothing to name.
    fn tells_failures_alone(&self, before: &Ran) -> bool {
        let silent = self.old_tests().is_empty() && self.result.is_green();
        silent && before.report.passed == 0 && !before.is_green() && !self.counts() && !self.ends_process
    }

    /// Whether the old checks ran nothing although the new ones ran something, or the runner counts and said nothing.
    fn went_quiet(&self, before: &Ran) -> bool {
        before.is_empty() && self.result.report.passed > 0
    }

    fn red(&self, differences: &CaseDifferences) -> CheckVerdict {
        if self.again.as_ref().is_some_and(Ran::is_green) {
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
    fn each(&self, holds: impl Fn(&Ran) -> bool) -> bool {
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
            let runs = |ran: &Ran, name: &str| {
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
mod tests {
    use super::*;

    fn ran(exit: i32, cases: &[(&str, CaseState)]) -> Ran {
        let of = |state| cases.iter().filter(|(_, known)| *known == state).count() as u32;
        let report = Report {
            passed: of(CaseState::Passed),
            failed: of(CaseState::Failed),
            skipped: of(CaseState::Skipped),
            failing: cases
                .iter()
                .filter(|(_, s)| *s == CaseState::Failed)
                .map(|(n, _)| (*n).to_owned())
                .collect(),
            cases: cases.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect(),
            diagnostics: 0,
        };
        Ran { exit: Some(exit), report, ..Ran::default() }
    }

    const P: CaseState = CaseState::Passed;
    const F: CaseState = CaseState::Failed;
    const S: CaseState = CaseState::Skipped;

    fn changed(result: Ran) -> CheckEvidence {
        CheckEvidence { result, changed: true, ..CheckEvidence::default() }
    }

    #[test]
    fn a_green_check_whose_definitions_are_untouched_needs_nothing_else() {
        let evidence = changed(ran(0, &[("a", P)]));
        assert_eq!((evidence.needed(), evidence.verdict().0), (None, CheckVerdict::Passed));
    }

    #[test]
    fn inv_18_a_check_that_falls_silent_on_the_way_has_not_passed() {
        let said = |exit: i32, text: &str| Ran { told: Told::of(text), ..ran(exit, &[]) };
        let verdict = |before: &Ran, now: &str, ends_process: bool| {
            let baseline = Some(before.clone());
            CheckEvidence { baseline, ends_process, ..changed(said(0, now)) }.verdict().0
        };
        let (green, red) = (said(0, "ok a\nok b\n"), said(1, "FAILED a\nok b\n"));
        for before in [&green, &red] {
            assert_eq!(verdict(before, "ok a\nok b\nok c\n", true), CheckVerdict::Passed);
            assert_eq!(verdict(before, "ok a\n", false), CheckVerdict::NoLongerRun);
            assert_eq!(verdict(before, "", false), CheckVerdict::NoLongerRun);
        }
        let failures = said(1, "a.c:3: wrong\n");
        assert_eq!(verdict(&failures, "", false), CheckVerdict::Passed, "it tells failures alone");
        assert_eq!(verdict(&failures, "", true), CheckVerdict::NoLongerRun);
        let quiet = said(1, "");
        let ends_well = CheckEvidence {
            baseline: Some(quiet.clone()),
            ends_process: true,
            ends_well: true,
            ..changed(said(0, ""))
        };
        assert_eq!(ends_well.verdict().0, CheckVerdict::NoLongerRun);
        assert_eq!(verdict(&quiet, "", true), CheckVerdict::Passed);
        let ended = said(0, "building\nthe end\n");
        assert_eq!(verdict(&ended, "building\n", true), CheckVerdict::NoLongerRun);
        assert_eq!(verdict(&ended, "building\n", false), CheckVerdict::Passed);
    }

    #[test]
    fn inv_18_green_only_as_changed_is_not_passed() {
        let mut evidence = CheckEvidence { touched: true, ..changed(ran(0, &[("a", P)])) };
        assert_eq!(evidence.needed(), Some(NeededRun::AsItWas));
        assert_eq!(evidence.verdict().0, CheckVerdict::OnlyAsChanged, "not before it ran");
        evidence.as_it_was = Some(ran(0, &[("a", P), ("b", P)]));
        let (verdict, differences) = evidence.verdict();
        assert_eq!((evidence.needed(), verdict), (None, CheckVerdict::Passed));
        assert_eq!(differences.no_longer_run, ["b"], "said, although the old test passes");
        evidence.as_it_was = Some(ran(1, &[]));
        assert_eq!((evidence.needed(), evidence.verdict().0), (None, CheckVerdict::OnlyAsChanged));
        evidence.as_it_was = Some(ran(0, &[]));
        assert_eq!(evidence.verdict().0, CheckVerdict::OnlyAsChanged, "the old tests did not run at all");
        evidence.as_it_was = Some(ran(0, &[("a", P)]));
        evidence.doubt = true;
        assert_eq!(evidence.verdict().0, CheckVerdict::OnlyAsChanged);
    }

    #[test]
    fn inv_18_a_runner_that_went_quiet_is_not_passed() {
        let mut evidence = CheckEvidence { runner: Some(Runner::Pytest), ..changed(ran(0, &[])) };
        assert_eq!(evidence.needed(), Some(NeededRun::Baseline));
        evidence.baseline = Some(ran(1, &[("a", F), ("b", P)]));
        assert_eq!(evidence.verdict().0, CheckVerdict::NoLongerRun);
        evidence.baseline = Some(ran(0, &[]));
        assert_eq!(evidence.verdict().0, CheckVerdict::Passed, "it was quiet before");
        // Also where a touched test hides it: the old ones are quiet with the new code.
        let mut evidence = CheckEvidence { touched: true, ..evidence };
        evidence.as_it_was = Some(ran(0, &[]));
        evidence.baseline = None;
        assert_eq!(evidence.needed(), Some(NeededRun::Baseline));
        evidence.baseline = Some(ran(1, &[("a", F)]));
        assert_eq!(evidence.verdict().0, CheckVerdict::NoLongerRun);
    }

    #[test]
    fn a_check_that_names_only_what_fails_is_silent_when_nothing_does() {
        for runner in [None, Some(Runner::Make)] {
            let mut evidence = CheckEvidence { runner, ..changed(ran(0, &[])) };
            evidence.baseline = Some(ran(1, &[("a", F)]));
            let (verdict, differences) = evidence.verdict();
            assert_eq!(verdict, CheckVerdict::Passed);
            assert_eq!((differences.fixed, differences.no_longer_run.len()), (vec!["a".to_owned()], 0));
            // One that also names what passes is not believed to fall silent.
            evidence.baseline = Some(ran(1, &[("a", F), ("b", P)]));
            assert_eq!(evidence.verdict().0, CheckVerdict::NoLongerRun);
        }
    }

    #[test]
    fn inv_18_code_that_ends_the_process_is_counted_against_the_tree_before() {
        let mut evidence = CheckEvidence { ends_process: true, ..changed(ran(0, &[])) };
        assert_eq!(evidence.needed(), Some(NeededRun::Baseline), "whatever the runner is");
        evidence.baseline = Some(ran(1, &[("a", F), ("b", P)]));
        assert_eq!(evidence.verdict().0, CheckVerdict::NoLongerRun);
        evidence.result = ran(0, &[("a", P), ("b", P)]);
        assert_eq!(evidence.verdict().0, CheckVerdict::Passed, "all of them ran");
    }

    #[test]
    fn inv_18_a_runner_that_says_failed_and_ends_well_has_not_passed() {
        let mut evidence = changed(ran(0, &[("a", F), ("b", P)]));
        assert_eq!(evidence.needed(), Some(NeededRun::Baseline));
        evidence.baseline = Some(ran(1, &[("a", F), ("b", P)]));
        assert_eq!(evidence.verdict().0, CheckVerdict::Failed);
        evidence.baseline = Some(ran(0, &[("a", F), ("b", P)]));
        assert_eq!(evidence.verdict().0, CheckVerdict::FailingAsBefore, "the command has always been so");
        let unchanged = CheckEvidence { result: ran(0, &[("a", F)]), ..CheckEvidence::default() };
        assert_eq!(unchanged.verdict().0, CheckVerdict::Failed);
    }

    #[test]
    fn inv_18_fewer_cases_or_more_left_out_than_before_is_said() {
        let mut evidence = changed(ran(0, &[("a", S), ("b", P)]));
        assert_eq!(evidence.needed(), Some(NeededRun::Baseline), "something is left out");
        evidence.baseline = Some(ran(1, &[("a", F), ("b", P)]));
        assert_eq!(evidence.verdict().0, CheckVerdict::NoLongerRun);
        evidence.baseline = Some(ran(0, &[("a", S), ("b", P)]));
        assert_eq!(evidence.verdict().0, CheckVerdict::Passed, "it was left out before");
        // Where the tree before is known anyway, counts are compared; one case may fail more than once.
        let counted = |exit, passed, failed| Ran {
            exit: Some(exit),
            report: Report { passed, failed, ..Report::default() },
            ..Ran::default()
        };
        let mut evidence = changed(counted(0, 1, 0));
        evidence.baseline = Some(counted(1, 1, 1));
        assert_eq!(evidence.verdict().0, CheckVerdict::NoLongerRun);
        evidence.baseline = Some(counted(1, 0, 3));
        assert_eq!(evidence.verdict().0, CheckVerdict::Passed);
    }

    #[test]
    fn inv_18_a_check_that_is_rewritten_while_it_runs_decides_nothing() {
        let rewrites = |mut ran: Ran| {
            ran.rewritten.insert("test.sh".to_owned());
            ran
        };
        let mut evidence = changed(rewrites(ran(0, &[("a", P)])));
        assert_eq!(evidence.needed(), Some(NeededRun::Baseline));
        evidence.baseline = Some(ran(1, &[("a", F)]));
        assert_eq!((evidence.needed(), evidence.verdict().0), (None, CheckVerdict::OnlyAsChanged));
        evidence.baseline = Some(rewrites(ran(1, &[("a", F)])));
        assert_eq!(evidence.verdict().0, CheckVerdict::Passed, "the check itself does so");
    }

    #[test]
    fn red_before_and_after_is_nobodys_fault() {
        let mut evidence = changed(ran(1, &[("a", F), ("b", P)]));
        assert_eq!(evidence.needed(), Some(NeededRun::Baseline));
        evidence.baseline = Some(ran(1, &[("a", F), ("b", P)]));
        let (verdict, differences) = evidence.verdict();
        assert_eq!((evidence.needed(), verdict), (None, CheckVerdict::FailingAsBefore));
        assert_eq!(differences.failing_as_before, ["a"]);
        evidence.baseline = Some(ran(1, &[("a", P), ("b", F)]));
        evidence.again = Some(evidence.result.clone());
        let (verdict, differences) = evidence.verdict();
        assert_eq!(verdict, CheckVerdict::Broken);
        assert_eq!(
            (differences.fixed.as_slice(), differences.broken.as_slice()),
            (&["b".to_owned()][..], &["a".to_owned()][..])
        );
        let unknown = CheckEvidence { baseline: Some(ran(2, &[])), ..changed(ran(2, &[])) };
        assert_eq!(unknown.verdict().0, CheckVerdict::FailingAsBefore);
        let other = CheckEvidence { baseline: Some(ran(2, &[])), ..changed(ran(1, &[])) };
        assert_eq!(other.verdict().0, CheckVerdict::Broken);
        let ended = CheckEvidence { baseline: Some(Ran::default()), ..changed(ran(1, &[])) };
        assert_eq!(ended.verdict().0, CheckVerdict::Failed);
    }

    #[test]
    fn more_failures_than_before_are_broken_also_where_nobody_names_them() {
        let counted = |passed, failed| Ran {
            exit: Some(1),
            report: Report { passed, failed, ..Report::default() },
            ..Ran::default()
        };
        let mut evidence = CheckEvidence { baseline: Some(counted(2, 1)), ..changed(counted(1, 2)) };
        assert_eq!(evidence.needed(), Some(NeededRun::Again), "it may be luck");
        evidence.again = Some(counted(1, 2));
        assert_eq!((evidence.needed(), evidence.verdict().0), (None, CheckVerdict::Broken));
        evidence.again = Some(counted(2, 1));
        assert_eq!(evidence.verdict().0, CheckVerdict::FailingAsBefore, "not each time");
        evidence.baseline = Some(counted(1, 2));
        assert_eq!(evidence.verdict().0, CheckVerdict::FailingAsBefore);
    }

    #[test]
    fn what_was_well_and_is_not_said_any_more_is_broken_also_where_something_else_was_red() {
        let said = |text: &str| Ran { told: Told::of(text), ..ran(1, &[]) };
        let before = said("ok high\nok low\nnot right: name\n");
        let verdict =
            |now: &str| CheckEvidence { baseline: Some(before.clone()), ..changed(said(now)) }.verdict().0;
        assert_eq!(verdict("ok high\nnot right: low\nnot right: name\n"), CheckVerdict::Broken);
        for same in ["ok low\nok high\nok more\nnot right: name\n", "ok high\nok low\nnot right: other\n"] {
            assert_eq!(verdict(same), CheckVerdict::FailingAsBefore, "{same}");
        }
    }

    #[test]
    fn a_case_that_does_not_run_any_more_is_not_fixed() {
        let mut evidence = changed(ran(1, &[("b", F)]));
        evidence.baseline = Some(ran(1, &[("a", F), ("b", F)]));
        let (_, differences) = evidence.verdict();
        assert_eq!((differences.fixed.len(), differences.no_longer_run), (0, vec!["a".to_owned()]));
    }

    #[test]
    fn luck_decides_nothing() {
        let mut evidence = changed(ran(1, &[("a", F), ("b", P)]));
        evidence.baseline = Some(ran(0, &[("a", P), ("b", P)]));
        assert_eq!(evidence.needed(), Some(NeededRun::Again));
        evidence.again = Some(ran(0, &[("a", P), ("b", P)]));
        let (verdict, differences) = evidence.verdict();
        assert_eq!((verdict, differences.flaky.as_slice()), (CheckVerdict::Flaky, &["a".to_owned()][..]));
        assert!(differences.broken.is_empty());
        let mut evidence = CheckEvidence { touched: true, ..changed(ran(0, &[("a", P)])) };
        evidence.as_it_was = Some(ran(1, &[("a", F)]));
        assert_eq!(evidence.needed(), Some(NeededRun::AsItWasAgain));
        evidence.as_it_was_again = Some(ran(0, &[("a", P)]));
        assert_eq!(evidence.verdict().0, CheckVerdict::Passed);
        assert_eq!(evidence.verdict().1.flaky, ["a"]);
    }

    #[test]
    fn a_case_that_is_skipped_now_does_not_run_any_more() {
        let mut evidence = changed(ran(0, &[("a", S), ("b", P)]));
        evidence.baseline = Some(ran(0, &[("a", P), ("b", P)]));
        let (verdict, differences) = evidence.verdict();
        assert_eq!(
            (verdict, differences.no_longer_run.as_slice()),
            (CheckVerdict::NoLongerRun, &["a".to_owned()][..])
        );
    }

    #[test]
    fn never_more_than_two_further_runs() {
        let greens = [ran(0, &[("a", P)]), ran(0, &[]), ran(1, &[("a", F)]), ran(1, &[]), Ran::default()];
        for (touched, ends_process) in [(false, false), (true, false), (false, true), (true, true)] {
            for first in &greens {
                for other in &greens {
                    let mut evidence = CheckEvidence {
                        touched,
                        ends_process,
                        runner: Some(Runner::Cargo),
                        ..changed(first.clone())
                    };
                    let mut runs = 0;
                    while let Some(needed) = evidence.needed() {
                        runs += 1;
                        let slot = match needed {
                            NeededRun::Baseline => &mut evidence.baseline,
                            NeededRun::AsItWas => &mut evidence.as_it_was,
                            NeededRun::Again => &mut evidence.again,
                            NeededRun::AsItWasAgain => &mut evidence.as_it_was_again,
                        };
                        *slot = Some(other.clone());
                        assert!(runs <= 2, "{evidence:?}");
                    }
                }
            }
        }
    }
}
