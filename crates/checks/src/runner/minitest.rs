//! Minitest and test-unit.

use super::{RunnerReport, count_before, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut summed = false;
    let mut names_next = false;
    for line in output.lines().map(plain) {
        let text = line.trim();
        let all = count_before(text, "runs").or_else(|| count_before(text, "tests"));
        if let (Some(all), true) = (all, text.contains("assertions,") && text.contains("failures,")) {
            let count = |word: &str| count_before(text, word).unwrap_or(0);
            summed = true;
            report.failed = count("failures").saturating_add(count("errors"));
            let left_out = count("pendings").saturating_add(count("omissions"));
            report.skipped = count("skips").saturating_add(left_out);
            report.passed = all.saturating_sub(report.failed).saturating_sub(report.skipped);
        } else if let Some((case, mark)) = verbose(text) {
            match mark {
                "." => report.pass(case),
                "S" => report.skip(case),
                _ => report.fail(case),
            }
        } else if text.ends_with(") Failure:") || text.ends_with(") Error:") {
            names_next = true;
        } else if names_next {
            names_next = false;
            // `CalcTest#test_adds [test/calc_test.rb:5]:`
            report.fail(text.split(" [").next().unwrap_or(text).trim_end_matches(':'));
        } else if let Some(case) = text.strip_prefix("Failure: ").or_else(|| text.strip_prefix("Error: ")) {
            report.fail(case.split(": ").next().unwrap_or(case));
        }
    }
    if summed { report } else { RunnerReport::default() }
}

/// `CalcTest#test_adds = 0.00 s = .`
fn verbose(line: &str) -> Option<(&str, &str)> {
    let (rest, mark) = line.rsplit_once(" s = ").filter(|(_, mark)| [".", "F", "E", "S"].contains(mark))?;
    let (case, time) = rest.rsplit_once(" = ")?;
    (case.contains('#') && time.parse::<f64>().is_ok()).then_some((case, mark))
}
