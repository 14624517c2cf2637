//! `dotnet test`.

use super::{RunnerReport, count_after, plain, untimed};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut summed = false;
    for line in output.lines().map(plain) {
        let text = line.trim();
        if (text.starts_with("Failed!") || text.starts_with("Passed!")) && text.contains("Total:") {
            let count = |label: &str| count_after(text, label).unwrap_or(0);
            summed = true;
            report.add(count("Passed:"), count("Failed:"), count("Skipped:"));
        } else if let Some(case) = named(text, "Failed ") {
            report.fail(untimed(case));
        } else if let Some(case) = named(text, "Passed ") {
            report.pass(untimed(case));
        } else if let Some(case) = named(text, "Skipped ") {
            report.skip(untimed(case));
        }
    }
    if summed { report } else { RunnerReport::default() }
}

/// `Failed Calc.Tests.Adds [3 ms]`: the time tells it from prose.
fn named<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.strip_prefix(word).filter(|rest| rest.ends_with(']') && rest.contains(" ["))
}
