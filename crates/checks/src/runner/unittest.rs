//! Python's unittest.

use super::{RunnerReport, count_after, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut ran = None;
    let mut verdict = String::new();
    for line in output.lines().map(plain) {
        let line = line.trim_end();
        if let Some(rest) = line.strip_prefix("Ran ").filter(|rest| rest.contains(" test")) {
            ran = rest.split(' ').next().and_then(|n| n.parse::<u32>().ok());
        } else if let Some(case) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            report.fail(case);
        } else if let Some((case, state)) = line.rsplit_once(" ... ") {
            match state {
                "ok" => report.pass(case),
                _ if state.starts_with("skipped") || state == "expected failure" => report.skip(case),
                "unexpected success" => report.fail(case),
                _ => {}
            }
        } else if ran.is_some() && is_verdict(line) {
            verdict = line.to_owned();
        }
    }
    // Without both lines it was something else that printed.
    let (Some(ran), false) = (ran, verdict.is_empty()) else { return RunnerReport::default() };
    let expected = count_after(&verdict, "expected failures=").unwrap_or(0);
    let verdict = verdict.replace("expected failures=", "");
    let count = |label: &str| count_after(&verdict, label).unwrap_or(0);
    let surprises = count("unexpected successes=");
    report.failed = count("failures=").saturating_add(count("errors=")).saturating_add(surprises);
    report.skipped = count("skipped=").saturating_add(expected);
    // One case may fail in several parts, each with its own line.
    let parts =
        |name: &&String| name.split(" [").next().unwrap_or(name).split(") (").next().map(str::to_owned);
    let failed: std::collections::BTreeSet<_> =
        report.failing.iter().filter_map(|name| parts(&name)).collect();
    let failed =
        u32::try_from(failed.len()).unwrap_or(u32::MAX).min(report.failed).max(u32::from(report.failed > 0));
    report.passed = ran.saturating_sub(failed).saturating_sub(report.skipped);
    report
}

fn is_verdict(line: &str) -> bool {
    ["OK", "FAILED", "NO TESTS RAN"]
        .iter()
        .any(|word| line.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(" (")))
}
