//! PHPUnit.

use super::{RunnerReport, count_after, count_before, plain, untimed};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut summed = false;
    let mut group = String::new();
    for line in output.lines().map(plain) {
        let text = line.trim();
        if let Some((mark, case)) = told(text) {
            let case = format!("{group}: {}", untimed(case));
            match mark {
                '✔' => report.pass(&case),
                '✘' => report.fail(&case),
                _ => report.skip(&case),
            }
            continue;
        }
        if !text.is_empty() && !line.starts_with(char::is_whitespace) {
            group = text.to_owned();
        }
        if text.starts_with("OK (") && text.contains("assertion") {
            summed = true;
            report.passed = count_before(text, "tests").or_else(|| count_before(text, "test")).unwrap_or(0);
        } else if text.starts_with("Tests:") && text.contains("Assertions:") {
            let count = |label: &str| count_after(text, label).unwrap_or(0);
            summed = true;
            report.failed = count("Failures:").saturating_add(count("Errors:"));
            report.skipped = count("Skipped:").saturating_add(count("Incomplete:"));
            report.passed = count("Tests:").saturating_sub(report.failed).saturating_sub(report.skipped);
        } else if let Some((number, case)) = text.split_once(") ")
            && number.bytes().all(|b| b.is_ascii_digit())
            && !number.is_empty()
            && case.contains("::")
        {
            report.fail(case);
        }
    }
    if summed { report } else { RunnerReport::default() }
}

/// A line of `--testdox`: ` ✔ Good`, under the heading of its class.
fn told(text: &str) -> Option<(char, &str)> {
    let mark = text.chars().next().filter(|mark| "✔✘↩∅☢⚠".contains(*mark))?;
    text[mark.len_utf8()..].strip_prefix(' ').map(|case| (mark, case))
}
