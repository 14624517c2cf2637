//! Maven's surefire and failsafe.

use super::{RunnerReport, count_after, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut sums = 0u32;
    let mut per_class = RunnerReport::default();
    for line in output.lines().map(plain) {
        let text =
            line.trim_start_matches("[INFO]").trim_start_matches("[ERROR]").trim_start_matches("[WARNING]");
        let text = text.trim();
        if text.starts_with("Tests run:") {
            let count = |label: &str| count_after(text, label).unwrap_or(0);
            let failed = count("Failures:").saturating_add(count("Errors:"));
            let skipped = count("Skipped:");
            let passed = count("Tests run:").saturating_sub(failed).saturating_sub(skipped);
            // A line per class names it and its time; the sum of a module does neither.
            if text.contains("Time elapsed") {
                per_class.add(passed, failed, skipped);
            } else {
                sums += 1;
                report.add(passed, failed, skipped);
            }
        } else if let Some(case) = failed_case(text) {
            report.fail(case);
        }
    }
    if sums == 0 {
        report.add(per_class.passed, per_class.failed, per_class.skipped);
    }
    if report.total() == 0 { RunnerReport::default() } else { report }
}

/// `com.x.ParseTest.empty -- Time elapsed: 0.01 s <<< FAILURE!` and the older `empty(com.x.ParseTest)  Time elapsed…`
fn failed_case(text: &str) -> Option<&str> {
    let case = text.strip_suffix("<<< FAILURE!").or_else(|| text.strip_suffix("<<< ERROR!"))?;
    let case = case.split("Time elapsed").next()?.trim().trim_end_matches("--").trim();
    (!case.starts_with("Tests run")).then_some(case)
}
