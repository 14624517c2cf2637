//! bats, in its pretty form; its TAP form is TAP.

use super::{RunnerReport, count_before, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut summed = false;
    for line in output.lines().map(plain) {
        let text = line.trim();
        if let Some(name) = text.strip_prefix("✓ ") {
            report.pass(name);
        } else if let Some(name) = text.strip_prefix("✗ ") {
            report.fail(name);
        } else if let Some(name) = text.strip_prefix("- ").filter(|name| name.contains("(skipped")) {
            report.skip(name.split(" (skipped").next().unwrap_or(name));
        } else if let Some(all) = count_before(text, "tests").or_else(|| count_before(text, "test"))
            && (text.contains("failure"))
            && text.starts_with(|c: char| c.is_ascii_digit())
        {
            let count = |one: &str, more: &str| {
                count_before(text, more).or_else(|| count_before(text, one)).unwrap_or(0)
            };
            summed = true;
            report.failed = count("failure", "failures");
            report.skipped = count("skipped", "skipped");
            report.passed = all.saturating_sub(report.failed).saturating_sub(report.skipped);
        }
    }
    if summed { report } else { RunnerReport::default() }
}
