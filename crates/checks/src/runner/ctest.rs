//! CMake's ctest.

use super::{Report, count_before, plain};

pub(super) fn read(output: &str) -> Report {
    let mut report = Report::default();
    let mut summed = false;
    for line in output.lines().map(plain) {
        if let Some((_, rest)) = line.split_once("% tests passed, ") {
            // 50% tests passed, 1 tests failed out of 2
            summed = true;
            report.failed = count_before(rest, "tests").unwrap_or(0);
            let all: u32 = rest.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            report.passed = all.saturating_sub(report.failed);
        } else if let Some((name, state)) = case(&line) {
            match state {
                "Passed" => report.pass(name),
                "Skipped" | "Disabled" => report.skip(name),
                _ => report.fail(name),
            }
        }
    }
    if !summed { Report::default() } else { report }
}

/// `1/2 Test #1: parse ....***Failed  0.00 sec`
fn case(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(" Test ").filter(|(count, _)| count.contains('/'))?;
    let (_, rest) = rest.trim_start().strip_prefix('#')?.split_once(": ")?;
    let (name, rest) = rest.split_once(" .")?;
    let state = rest.trim_start_matches(['.', ' ', '*']);
    let state = state.split(|c: char| c.is_whitespace() || c == '(').next()?;
    let state = if state == "Not" { "Disabled" } else { state };
    Some((name.trim(), state))
}
