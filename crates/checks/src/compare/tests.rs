//! What each combination of runs comes to.

use super::*;

fn ran(exit: i32, cases: &[(&str, CaseState)]) -> CheckExecution {
    let of = |state| cases.iter().filter(|(_, known)| *known == state).count() as u32;
    let report = RunnerReport {
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
    CheckExecution { exit: Some(exit), report, ..CheckExecution::default() }
}

const P: CaseState = CaseState::Passed;
const F: CaseState = CaseState::Failed;
const S: CaseState = CaseState::Skipped;

fn changed(result: CheckExecution) -> CheckEvidence {
    CheckEvidence { result, changed: true, ..CheckEvidence::default() }
}

#[test]
fn a_green_check_whose_definitions_are_untouched_needs_nothing_else() {
    let evidence = changed(ran(0, &[("a", P)]));
    assert_eq!((evidence.needed(), evidence.verdict().0), (None, CheckVerdict::Passed));
}

#[test]
fn inv_18_a_check_that_falls_silent_on_the_way_has_not_passed() {
    let said = |exit: i32, text: &str| CheckExecution { told: PrintedLines::of(text), ..ran(exit, &[]) };
    let verdict = |before: &CheckExecution, now: &str, ends_process: bool| {
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
    let mut evidence = CheckEvidence { runner: Some(TestRunner::Pytest), ..changed(ran(0, &[])) };
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
    for runner in [None, Some(TestRunner::Make)] {
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
    let counted = |exit, passed, failed| CheckExecution {
        exit: Some(exit),
        report: RunnerReport { passed, failed, ..RunnerReport::default() },
        ..CheckExecution::default()
    };
    let mut evidence = changed(counted(0, 1, 0));
    evidence.baseline = Some(counted(1, 1, 1));
    assert_eq!(evidence.verdict().0, CheckVerdict::NoLongerRun);
    evidence.baseline = Some(counted(1, 0, 3));
    assert_eq!(evidence.verdict().0, CheckVerdict::Passed);
}

#[test]
fn inv_18_a_check_that_is_rewritten_while_it_runs_decides_nothing() {
    let rewrites = |mut ran: CheckExecution| {
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
    let ended = CheckEvidence { baseline: Some(CheckExecution::default()), ..changed(ran(1, &[])) };
    assert_eq!(ended.verdict().0, CheckVerdict::Failed);
}

#[test]
fn more_failures_than_before_are_broken_also_where_nobody_names_them() {
    let counted = |passed, failed| CheckExecution {
        exit: Some(1),
        report: RunnerReport { passed, failed, ..RunnerReport::default() },
        ..CheckExecution::default()
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
    let said = |text: &str| CheckExecution { told: PrintedLines::of(text), ..ran(1, &[]) };
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
    let greens =
        [ran(0, &[("a", P)]), ran(0, &[]), ran(1, &[("a", F)]), ran(1, &[]), CheckExecution::default()];
    for (touched, ends_process) in [(false, false), (true, false), (false, true), (true, true)] {
        for first in &greens {
            for other in &greens {
                let mut evidence = CheckEvidence {
                    touched,
                    ends_process,
                    runner: Some(TestRunner::Cargo),
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
