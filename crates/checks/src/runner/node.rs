//! `node --test`, in its spec form; its TAP form is TAP.

use super::{Report, count_after, plain, untimed};

pub(super) fn read(output: &str) -> Report {
    let mut report = Report::default();
    let mut summed = false;
    for line in output.lines().map(plain) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix('ℹ') {
            summed |= count(rest, "tests").is_some();
            report.passed = count(rest, "pass").unwrap_or(report.passed);
            report.failed = count(rest, "fail").unwrap_or(report.failed);
            report.skipped = count(rest, "skipped").unwrap_or(report.skipped);
        } else if let Some(name) = line.strip_prefix("✔ ") {
            report.pass(untimed(name));
        } else if let Some(name) = line.strip_prefix("✖ ").filter(|name| *name != "failing tests:") {
            report.fail(untimed(name));
        } else if let Some(name) = line.strip_prefix("﹣ ") {
            report.skip(untimed(name.split(" # ").next().unwrap_or(name)));
        }
    }
    if summed { report } else { Report::default() }
}

fn count(rest: &str, label: &str) -> Option<u32> {
    rest.trim_start().starts_with(label).then(|| count_after(rest, label)).flatten()
}
