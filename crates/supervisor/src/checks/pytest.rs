//! pytest, by its short summary and its last line.

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
        } else if is_last(line) {
            report.passed = count_before(line, "passed").unwrap_or(0);
            let errors = count_before(line, "errors").or_else(|| count_before(line, "error")).unwrap_or(0);
            report.failed = count_before(line, "failed").unwrap_or(0).saturating_add(errors);
            report.skipped = count_before(line, "skipped").unwrap_or(0);
        }
    }
    report
}

/// `=== 1 failed, 2 passed in 0.1s ===`, with or without the rule around it.
fn is_last(line: &str) -> bool {
    let bare = line.trim_matches(['=', ' ']);
    let counted = ["passed", "failed", "error", "errors", "skipped"]
        .iter()
        .any(|word| count_before(bare, word).is_some());
    counted && bare.contains(" in ") && bare.starts_with(|c: char| c.is_ascii_digit())
}
