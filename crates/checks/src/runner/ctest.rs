//! CMake's ctest.

use super::{RunnerReport, count_before, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut summed = false;
    let (mut skipped, mut disabled): (u32, u32) = (0, 0);
    for line in output.lines().map(plain) {
        if let Some((_, rest)) = line.split_once("% tests passed, ") {
            // 50% tests passed, 1 tests failed out of 2
            summed = true;
            report.failed = count_before(rest, "tests").unwrap_or(0);
            let all: u32 = rest.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            // Those that say so themselves are among those that passed, those that are switched off are in no sum.
            report.passed = all.saturating_sub(report.failed).saturating_sub(skipped);
            report.skipped = skipped.saturating_add(disabled);
        } else if let Some((name, state)) = case(&line) {
            match state {
                "Passed" => report.pass(name),
                "Skipped" => {
                    skipped = skipped.saturating_add(1);
                    report.skip(name);
                }
                "Disabled" => {
                    disabled = disabled.saturating_add(1);
                    report.skip(name);
                }
                _ => report.fail(name),
            }
        }
    }
    if !summed { RunnerReport::default() } else { report }
}

/// `1/2 Test #1: parse ....***Failed  0.00 sec`
fn case(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(" Test ").filter(|(count, _)| count.contains('/'))?;
    let (_, rest) = rest.trim_start().strip_prefix('#')?.split_once(": ")?;
    let (name, rest) = rest.split_once(" .")?;
    let state = rest.trim_start_matches(['.', ' ', '*']);
    // One that cannot be found is not run, and has failed.
    let disabled = state.starts_with("Not Run (Disabled)");
    let state = state.split(|c: char| c.is_whitespace() || c == '(').next()?;
    Some((name.trim(), if disabled { "Disabled" } else { state }))
}
