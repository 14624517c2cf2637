//! tcltest: what failed by name, and a closing line with counts.

use super::{RunnerReport, count_after};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    for line in output.lines() {
        let failed = line.strip_prefix("==== ").and_then(|rest| rest.strip_suffix(" FAILED"));
        if let Some(name) = failed {
            report.fail(name.split_whitespace().next().unwrap_or(name));
        }
        let closing =
            ["Total", "Passed", "Skipped", "Failed"].map(|label| count_after(line, &format!("{label}\t")));
        if let [Some(_), Some(passed), Some(skipped), Some(failed)] = closing {
            report.add(passed, failed, skipped);
        }
    }
    report
}
