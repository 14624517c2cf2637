//! `cargo test` and `cargo nextest`.

use super::{Report, count_before, plain};

/// The plain harness: one `test result:` line per binary.
pub(super) fn test(output: &str) -> Report {
    let mut report = Report::default();
    for line in output.lines().map(plain) {
        if let Some(result) = line.trim_start().strip_prefix("test result:") {
            let count = |word: &str| count_before(result, word).unwrap_or(0);
            report.add(count("passed"), count("failed"), count("ignored"));
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        {
            let name = name.trim_end_matches(" - should panic");
            let outcome = outcome.trim_end();
            if outcome.starts_with("FAILED") {
                report.fail(name);
            } else if outcome.starts_with("ignored") {
                report.skip(name);
            } else if outcome.starts_with("ok") {
                report.pass(name);
            }
        }
    }
    report
}

/// Nextest: a line per case, a summary at the end.
pub(super) fn nextest(output: &str) -> Report {
    let mut report = Report::default();
    for line in output.lines().map(plain) {
        let line = line.trim_start();
        if line.starts_with("Summary [") {
            let count = |word: &str| count_before(line, word).unwrap_or(0);
            (report.passed, report.skipped) = (count("passed"), count("skipped"));
            report.failed = count("failed").saturating_add(count("timed"));
            continue;
        }
        let Some((outcome, case)) = line
            .split_once(" [")
            .and_then(|(outcome, rest)| rest.split_once(']').map(|(_, case)| (outcome, case.trim_start())))
        else {
            continue;
        };
        // Newer ones count: (3/9) name.
        let case =
            case.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(case, |(_, rest)| rest);
        match outcome.trim_end() {
            "FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" | "TRY 2 FAIL" | "TRY 3 FAIL" => report.fail(case),
            "PASS" | "SLOW PASS" | "LEAK" => report.pass(case),
            _ => {}
        }
    }
    report
}
