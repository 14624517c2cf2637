//! pytest, by its short summary, its verbose lines and its last line.

use super::{Report, count_before, plain};

pub(super) fn read(output: &str) -> Report {
    let mut report = Report::default();
    for line in output.lines().map(plain) {
        let line = line.trim();
        if let Some(case) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
            // `FAILED path::case - reason`; a collection error names a file only.
            let case = case.split(" - ").next().unwrap_or(case);
            if case.contains("::") || case.contains(".py") {
                report.fail(case);
            }
        } else if let Some((case, outcome)) = verbose(line) {
            match outcome {
                "PASSED" | "XPASS" => report.pass(case),
                "SKIPPED" | "XFAIL" => report.skip(case),
                "FAILED" | "ERROR" => report.fail(case),
                _ => {}
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

/// `tests/test_a.py::test_a PASSED   [ 50%]`
fn verbose(line: &str) -> Option<(&str, &str)> {
    let (case, rest) = line.split_once(' ').filter(|(case, _)| case.contains(".py::"))?;
    Some((case, rest.split_whitespace().next()?))
}

/// `=== 1 failed, 2 passed in 0.1s ===`, with or without the rule around it.
fn is_last(line: &str) -> bool {
    let bare = line.trim_matches(['=', ' ']);
    let words = ["passed", "failed", "error", "errors", "skipped", "xfailed", "xpassed"];
    let counted = words.iter().any(|word| count_before(bare, word).is_some());
    counted && bare.contains(" in ") && bare.starts_with(|c: char| c.is_ascii_digit())
}
