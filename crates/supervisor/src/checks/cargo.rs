//! `cargo test` and `cargo nextest`.

use super::{Report, count_before, plain};

/// The plain harness: one `test result:` line per binary.
pub(super) fn test(output: &str) -> Report {
    let mut report = Report::default();
    for line in output.lines().map(plain) {
        if let Some(result) = line.trim_start().strip_prefix("test result:") {
            report.passed = report.passed.saturating_add(count_before(result, "passed").unwrap_or(0));
            report.failed = report.failed.saturating_add(count_before(result, "failed").unwrap_or(0));
            report.skipped = report.skipped.saturating_add(count_before(result, "ignored").unwrap_or(0));
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
            && outcome.trim_end().starts_with("FAILED")
        {
            report.fail(name.trim_end_matches(" - should panic"));
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
            report.passed = count_before(line, "passed").unwrap_or(0);
            let failed = count_before(line, "failed").unwrap_or(0);
            report.failed = failed.saturating_add(count_before(line, "timed").unwrap_or(0));
            report.skipped = count_before(line, "skipped").unwrap_or(0);
            continue;
        }
        let outcomes = ["FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV [", "TRY 2 FAIL [", "TRY 3 FAIL ["];
        if outcomes.iter().any(|outcome| line.starts_with(outcome))
            && let Some((_, case)) = line.split_once(']')
        {
            let case = case.trim_start();
            // Newer ones count: (3/9) name.
            let case =
                case.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(case, |(_, rest)| rest);
            report.fail(case);
        }
    }
    report
}
