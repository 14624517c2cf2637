//! make, CMake's ctest, compilers and linters: targets and diagnostics.

use super::{Report, count_before, plain};

pub(super) fn read(output: &str) -> Report {
    let mut report = Report::default();
    for line in output.lines().map(plain) {
        if let Some(target) = target(&line) {
            report.fail(&target);
        } else if let Some((_, rest)) = line.split_once("% tests passed, ") {
            // ctest: 50% tests passed, 1 tests failed out of 2
            report.failed = count_before(rest, "tests").unwrap_or(0);
            let all: u32 = rest.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            report.passed = all.saturating_sub(report.failed);
        } else if let Some(case) = line.strip_suffix("(Failed)").and_then(|rest| rest.split_once(" - ")) {
            report.fail(case.1);
        }
    }
    report
}

/// `make: *** [Makefile:3: check] Error 1` and `make[1]: *** [check] Error 2`
fn target(line: &str) -> Option<String> {
    let rest = line.strip_prefix("make")?;
    let (_, rest) = rest.split_once("*** [")?;
    let (inside, after) = rest.split_once(']')?;
    after.trim_start().starts_with("Error").then(|| inside.rsplit(": ").next().unwrap_or(inside).to_owned())
}

/// How many errors compilers and linters report, in the forms most of them use.
pub(super) fn diagnostics(output: &str) -> u32 {
    let mut count: u32 = 0;
    for line in output.lines().map(plain) {
        let line = line.trim_start();
        let rustc = line.starts_with("error[") || (line.starts_with("error: ") && !is_summary(line));
        let placed = line
            .split_once(": error")
            .is_some_and(|(place, rest)| place.contains(':') && rest.starts_with([':', ' ', '[']));
        let placed = placed || [" - error TS", "): error TS"].iter().any(|form| line.contains(form));
        count = count.saturating_add(u32::from(rustc || placed));
    }
    count
}

/// Lines that only sum up what was told before.
fn is_summary(line: &str) -> bool {
    ["could not compile", "aborting due to", "test failed", "test run failed", "process didn't exit"]
        .iter()
        .any(|part| line.contains(part))
}
