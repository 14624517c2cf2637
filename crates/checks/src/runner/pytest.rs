//! pytest, by its short summary, its verbose lines and its last line.

use super::{RunnerReport, count_before, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    for line in output.lines().map(plain) {
        let line = line.trim();
        if let Some((outcome, case)) = told(line) {
            match outcome {
                "PASSED" | "XPASS" => report.pass(case),
                "XFAIL" => report.skip(case),
                _ => report.fail(case),
            }
        } else if let Some((case, outcome)) = verbose(line) {
            match outcome {
                "PASSED" | "XPASS" => report.pass(case),
                "SKIPPED" | "XFAIL" => report.skip(case),
                _ => report.fail(case),
            }
        } else if is_last(line) {
            let count = |word: &str| count_before(line, word).unwrap_or(0);
            let errors = count_before(line, "errors").or_else(|| count_before(line, "error")).unwrap_or(0);
            report.passed = count("passed").saturating_add(count("xpassed"));
            report.failed = count("failed").saturating_add(errors);
            report.skipped = count("skipped").saturating_add(count("xfailed"));
        }
    }
    report
}

/// `FAILED path::case[a - b] - reason`, in the summary; a collection error names a file only.
fn told(line: &str) -> Option<(&str, &str)> {
    let (outcome, rest) = line.split_once(' ')?;
    // `SUBFAILED(n=2)`
    let outcome = outcome.split('(').next().unwrap_or(outcome);
    if !["FAILED", "ERROR", "SUBFAILED", "PASSED", "XPASS", "XFAIL"].contains(&outcome) {
        return None;
    }
    // A dash may also stand among the parameters of a case.
    let dash = rest.find(" - ").unwrap_or(rest.len());
    let open = rest.find('[').filter(|open| *open < dash);
    let reason = open.and_then(|open| rest[open..].find("] - ").map(|at| open + at + 1));
    let case = match reason {
        Some(end) => &rest[..end],
        None if open.is_some() && rest.ends_with(']') => rest,
        None => rest.split(" - ").next().unwrap_or(rest),
    };
    (case.contains("::") || case.contains(".py")).then_some((outcome, case))
}

/// `tests/test_a.py::test_a[x y] PASSED   [ 50%]`
fn verbose(line: &str) -> Option<(&str, &'static str)> {
    const OUTCOMES: [&str; 7] = ["PASSED", "FAILED", "SKIPPED", "ERROR", "XPASS", "XFAIL", "SUBFAILED"];
    let place = line.find(".py::").filter(|at| !line[..*at].contains(' '))?;
    let ends = |outcome: &'static str| {
        let after = |at: usize| line[at + 1 + outcome.len()..].chars().next();
        let found = line.match_indices(outcome).map(|(at, _)| at).filter(|at| *at > place);
        let mut found = found.filter(|at| line[..*at].ends_with(' ')).map(|at| at - 1);
        found.find(|at| after(*at).is_none_or(|c| c == ' ' || c == '(')).map(|at| (at, outcome))
    };
    let (at, outcome) = OUTCOMES.into_iter().filter_map(ends).min()?;
    Some((&line[..at], outcome))
}

/// `=== 1 failed, 2 passed in 0.1s ===`, with or without the rule around it.
fn is_last(line: &str) -> bool {
    let bare = line.trim_matches(['=', ' ']);
    let words = ["passed", "failed", "error", "errors", "skipped", "xfailed", "xpassed"];
    let counted = words.iter().any(|word| count_before(bare, word).is_some());
    counted && bare.contains(" in ") && bare.starts_with(|c: char| c.is_ascii_digit())
}
