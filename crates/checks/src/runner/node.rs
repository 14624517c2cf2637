//! `node --test`, in its spec form; its TAP form is TAP.

use super::headings::{Headings, indent};
use super::{CaseState, RunnerReport, count_after, plain, untimed};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut suites = Headings::default();
    let mut summed = false;
    let mut cases = Vec::new();
    for line in output.lines().map(plain) {
        let (text, depth) = (line.trim(), indent(&line));
        if let Some(rest) = text.strip_prefix('ℹ') {
            summed |= count(rest, "tests").is_some();
            report.passed = count(rest, "pass").unwrap_or(report.passed);
            report.failed = count(rest, "fail").unwrap_or(report.failed);
            report.skipped = count(rest, "skipped").unwrap_or(report.skipped);
            let todo = count(rest, "todo").unwrap_or(0);
            report.passed = report.passed.saturating_add(todo);
        } else if text == "✖ failing tests:" {
            // From here on they are told once more, without what they are part of.
            break;
        } else if let Some(name) = text.strip_prefix("▶ ") {
            suites.open(depth, untimed(bare(name)));
        } else if let Some(name) = text.strip_prefix("✔ ").map(bare).map(untimed) {
            if !suites.close(depth, name) {
                cases.push((suites.whole(depth, " > ", name), CaseState::Passed));
            }
        } else if let Some(name) = text.strip_prefix("✖ ").map(bare).map(untimed) {
            if !suites.close(depth, name) {
                cases.push((suites.whole(depth, " > ", name), CaseState::Failed));
            }
        } else if let Some(name) = text.strip_prefix("﹣ ").map(bare).map(untimed)
            && !suites.close(depth, name)
        {
            cases.push((suites.whole(depth, " > ", name), CaseState::Skipped));
        }
    }
    report.cases(cases);
    if summed { report } else { RunnerReport::default() }
}

/// A name without the directive behind it.
fn bare(name: &str) -> &str {
    let directive = |at: usize| ["SKIP", "TODO"].iter().any(|word| name[at + 3..].starts_with(word));
    name.rmatch_indices(" # ").map(|(at, _)| at).find(|at| directive(*at)).map_or(name, |at| &name[..at])
}

fn count(rest: &str, label: &str) -> Option<u32> {
    rest.trim_start().starts_with(label).then(|| count_after(rest, label)).flatten()
}
