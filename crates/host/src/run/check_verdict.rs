//! From what checks say to what the run is worth.

use holon_checks::goal;
use holon_core::manifest::{
    CheckOrigin, CheckRecord, CheckVerdict, ErrorInfo, VerificationReport, VerificationState,
};
use holon_core::outcome::RunOutcome;

use super::ActiveRun;
use super::check_tree::CheckedChange;
use super::verdict::RunVerdict;

/// Most names in one sentence.
const NAMES: usize = 5;

impl ActiveRun<'_> {
    /// Sums up what checks say, lowers the outcome where one demands it, and says everything else.
    pub(super) fn judge_checks(
        &mut self,
        change: &CheckedChange<'_>,
        known: &mut VerificationReport,
        verdict: &mut RunVerdict,
    ) {
        if known.checks.iter().any(|check| check.told() == CheckVerdict::NoLongerRun) {
            // What keeps cases from running may be what ends the process.
            known.definitions.extend(change.as_it_was.ending_definitions());
        }
        known.settle();
        for (number, check) in known.checks.iter().enumerate() {
            self.judge_check(change, (number + 1, check), known, verdict);
        }
        // What was asked for and is not there is a failure, whether it was there before or not.
        if known.checks.iter().any(|check| self.is_held(change, check)) {
            known.state = VerificationState::Failed;
        }
    }

    fn judge_check(
        &mut self,
        change: &CheckedChange<'_>,
        (number, check): (usize, &CheckRecord),
        known: &VerificationReport,
        verdict: &mut RunVerdict,
    ) {
        let command = &check.command;
        if !check.differences.flaky.is_empty() {
            let cases = named(&check.differences.flaky);
            self.warn(format!(
                "`{command}` ends differently on the same tree, so these decide nothing: {cases}"
            ));
        }
        match check.told() {
            CheckVerdict::Passed => {
                if !check.differences.no_longer_run.is_empty() {
                    let cases = named(&check.differences.no_longer_run);
                    self.warn(format!("`{command}`: cases that ran before do not run any more: {cases}"));
                }
            }
            CheckVerdict::OnlyAsChanged | CheckVerdict::NoLongerRun => {
                self.judge_changed(check, known, verdict);
            }
            CheckVerdict::FailingAsBefore if !self.is_held(change, check) => {
                let cases = &check.differences.failing_as_before;
                let cases = if cases.is_empty() { String::new() } else { format!(": {}", named(cases)) };
                self.warn(format!("`{command}` fails as it did before the change{cases}"));
            }
            CheckVerdict::Flaky => {
                self.warn(format!(
                    "`{command}` failed and then passed on the same tree: that proves nothing"
                ));
            }
            CheckVerdict::FailingAsBefore | CheckVerdict::Broken | CheckVerdict::Failed => {
                self.judge_failed((number, check), verdict);
            }
        }
    }

    /// Green, but not by the checks that were there before the change.
    fn judge_changed(&mut self, check: &CheckRecord, known: &VerificationReport, verdict: &mut RunVerdict) {
        let command = &check.command;
        let files: Vec<String> = known.definitions.iter().map(ToString::to_string).collect();
        let message = if !check.rewritten.is_empty() {
            format!(
                "`{command}` passes, but what defines it was changed while it ran: {}",
                named(&check.rewritten)
            )
        } else if check.told() == CheckVerdict::OnlyAsChanged {
            format!("`{command}` passes only with checks as this change makes them: {}", named(&files))
        } else {
            let cases = &check.differences.no_longer_run;
            let cases = if cases.is_empty() { "all of them".to_owned() } else { named(cases) };
            let files = if files.is_empty() { String::new() } else { format!("; see {}", named(&files)) };
            format!("`{command}` passes, but cases that ran before do not run any more: {cases}{files}")
        };
        if self.plan.tests_may_change {
            self.warn(message);
            return;
        }
        let hint = "look at these files in the patch; when tests are meant to change, say so beforehand with --tests-may-change";
        verdict.worsen(RunOutcome::NeedsHuman, ErrorInfo::new("changed_checks", message).with_hint(hint));
    }

    fn judge_failed(&mut self, (number, check): (usize, &CheckRecord), verdict: &mut RunVerdict) {
        let command = &check.command;
        let failed = check.cases.map_or(0, |cases| cases.failed);
        let how = match check.exit_code {
            None => "was ended".to_owned(),
            Some(0) if failed == 1 => "did not pass: exit code 0, but 1 case failed".to_owned(),
            Some(0) if failed > 1 => format!("did not pass: exit code 0, but {failed} cases failed"),
            Some(code) => format!("exited with {code}"),
        };
        let before = match check.told() {
            CheckVerdict::Broken if !check.differences.broken.is_empty() => {
                format!("; broken by this change: {}", named(&check.differences.broken))
            }
            CheckVerdict::Broken if (1..failed).contains(&failed_before(check)) => {
                format!("; {failed} cases fail, {} did before this change", failed_before(check))
            }
            CheckVerdict::Broken if check.baseline.as_ref().is_some_and(|run| run.exit_code != Some(0)) => {
                "; it failed before this change, too, but not like this".to_owned()
            }
            CheckVerdict::Broken => "; it did not before this change".to_owned(),
            CheckVerdict::FailingAsBefore => "; it did before this change, too".to_owned(),
            _ => String::new(),
        };
        let log = format!("its output is in evidence/check-{number}.log");
        if check.origin == CheckOrigin::Asked && verdict.is_checkpoint() {
            // The release gate holds it for the check; why it was stopped is what a person needs first.
            self.warn(format!("the check `{command}` {how}{before}; {log}"));
        } else if check.origin == CheckOrigin::Asked {
            let error = ErrorInfo::new("check_failed", format!("the check `{command}` {how}{before}"));
            verdict.worsen(RunOutcome::Failure, error.with_hint(log));
        } else {
            self.warn(format!("`{command}`, which fits this repository, {how} on the result{before}; {log}"));
        }
    }

    /// Whether a check that fails as before fails the run all the same: it was asked for, and the goal is about it, or
    /// nothing of it passes although the change could have made it.
    fn is_held(&self, change: &CheckedChange<'_>, check: &CheckRecord) -> bool {
        let failing = &check.differences.failing_as_before;
        let named = goal::names_check(&self.plan.spec.goal.description, &check.command, failing);
        let some_pass = check.cases.is_some_and(|cases| cases.passed > 0);
        let as_before = check.told() == CheckVerdict::FailingAsBefore;
        as_before
            && check.origin == CheckOrigin::Asked
            && (named || (!some_pass && !change.is_documentation()))
    }
}

/// How many cases failed before the change.
fn failed_before(check: &CheckRecord) -> u32 {
    check.baseline.as_ref().and_then(|run| run.cases).map_or(0, |cases| cases.failed)
}

/// A few names, and how many more there are.
fn named(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMES);
    let mut text = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
