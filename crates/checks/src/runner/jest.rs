//! jest and vitest.

use super::{Report, count_before, plain};

pub(super) fn read(output: &str) -> Report {
    let mut report = Report::default();
    let mut file = String::new();
    let mut summed = false;
    for line in output.lines().map(plain) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Tests:").or_else(|| line.strip_prefix("Tests  ")) {
            summed = true;
            report.passed = count_before(rest, "passed").unwrap_or(0);
            report.failed = count_before(rest, "failed").unwrap_or(0);
            let todo = count_before(rest, "todo").unwrap_or(0);
            report.skipped = count_before(rest, "skipped").unwrap_or(0).saturating_add(todo);
        } else if ["Test Suites:", "Test Files "].iter().any(|start| line.starts_with(start)) {
            summed = true;
        } else if let Some(rest) = line.strip_prefix("FAIL ") {
            let rest = rest.trim();
            match rest.split_once(" > ") {
                // vitest: FAIL  file > suite > case
                Some(_) => report.fail(rest),
                None => file = rest.split_whitespace().next().unwrap_or("").to_owned(),
            }
        } else if let Some(case) = line.strip_prefix("● ").filter(|case| is_case(case)) {
            // jest: one heading per failing case, below its file.
            let case = if file.is_empty() { case.to_owned() } else { format!("{file} › {case}") };
            report.fail(&case);
        } else if let Some(case) = line.strip_prefix("✓ ") {
            report.pass(super::untimed(case));
        } else if let Some(case) = line.strip_prefix("○ ").or_else(|| line.strip_prefix("↓ ")) {
            report.skip(super::untimed(case.trim_start_matches("skipped ")));
        }
    }
    // Scripts print such marks, too; only these runners sum up like this.
    if !summed {
        return Report::default();
    }
    if !file.is_empty() && report.failing.is_empty() {
        report.fail(&file);
    }
    report
}

fn is_case(case: &str) -> bool {
    !case.starts_with("Console") && !case.starts_with("Test suite failed")
}
