//! Gradle's test task.

use super::{RunnerReport, count_before, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut sum = None;
    for line in output.lines().map(plain) {
        let line = line.trim();
        if line.contains(" > ") {
            if let Some(case) = line.strip_suffix(" FAILED") {
                report.fail(case);
            } else if let Some(case) = line.strip_suffix(" PASSED") {
                report.pass(case);
            } else if let Some(case) = line.strip_suffix(" SKIPPED") {
                report.skip(case);
            }
        } else if line.contains("completed")
            && let Some(all) = count_before(line, "tests").or_else(|| count_before(line, "test"))
        {
            let count = |word: &str| count_before(line, word).unwrap_or(0);
            sum = Some((all, count("failed"), count("skipped")));
        }
    }
    report.count_cases();
    if let Some((all, failed, skipped)) = sum {
        report.passed = all.saturating_sub(failed).saturating_sub(skipped);
        (report.failed, report.skipped) = (failed, skipped);
    }
    report
}
