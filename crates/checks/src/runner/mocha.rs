//! mocha, in its spec form.

use super::headings::{Headings, indent};
use super::{RunnerReport, count_before, plain, untimed};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut summed = false;
    let mut suites = Headings::default();
    let mut heading: Option<String> = None;
    for line in output.lines().map(plain) {
        let trimmed = line.trim();
        let first = |word: &str| {
            count_before(trimmed, word).filter(|_| trimmed.starts_with(|c: char| c.is_ascii_digit()))
        };
        if let Some(passed) = first("passing") {
            (report.passed, summed) = (passed, true);
        } else if let Some(failed) = first("failing").filter(|_| summed) {
            report.failed = failed;
        } else if let Some(pending) = first("pending").filter(|_| summed) {
            report.skipped = pending;
        } else if !summed {
            let whole = |case: &str| suites.whole(indent(&line), " ", untimed(case));
            if let Some(case) = trimmed.strip_prefix("✔ ").or_else(|| trimmed.strip_prefix("✓ ")) {
                report.pass(&whole(case));
            } else if let Some(case) = trimmed.strip_prefix("- ") {
                report.skip(&whole(case));
            } else if numbered(trimmed).is_none() && line.starts_with("  ") && !trimmed.is_empty() {
                suites.open(indent(&line), trimmed);
            }
        } else if heading.is_none() && numbered(trimmed).is_some() {
            heading = numbered(trimmed).map(str::to_owned);
        } else if let Some(so_far) = heading.take() {
            // `1) suite` and below it `case:`; the message follows after an empty line.
            match trimmed.strip_suffix(':') {
                Some(case) => report.fail(&format!("{so_far} {case}")),
                None if trimmed.is_empty() => report.fail(so_far.trim_end_matches(':')),
                None => heading = Some(format!("{so_far} {trimmed}")),
            }
        }
    }
    if summed { report } else { RunnerReport::default() }
}

/// `1) name`
fn numbered(line: &str) -> Option<&str> {
    let (number, name) = line.split_once(") ")?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(name)
}
