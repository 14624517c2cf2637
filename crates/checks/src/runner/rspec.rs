//! RSpec.

use super::{RunnerReport, count_before, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut summed = false;
    for line in output.lines().map(plain) {
        let line = line.trim();
        if let Some(all) = count_before(line, "examples").or_else(|| count_before(line, "example"))
            && line.starts_with(|c: char| c.is_ascii_digit())
        {
            let count = |one: &str, more: &str| {
                count_before(line, more).or_else(|| count_before(line, one)).unwrap_or(0)
            };
            summed = true;
            let failures = count("failure", "failures");
            report.skipped = count("pending", "pending");
            report.passed = all.saturating_sub(failures).saturating_sub(report.skipped);
            // Files that cannot be loaded: `1 error occurred outside of examples`.
            report.failed = failures.saturating_add(count("error", "errors"));
        } else if let Some((_, case)) = line.strip_prefix("rspec ").and_then(|rest| rest.split_once(" # ")) {
            report.fail(case);
        }
    }
    if summed { report } else { RunnerReport::default() }
}
