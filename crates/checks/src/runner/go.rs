//! `go test`, plain and `-json`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{CaseState, RunnerReport, plain};

pub(super) fn read(output: &str) -> RunnerReport {
    if output.lines().any(|line| line.starts_with("{\"") && line.contains("\"Action\":")) {
        return json(output);
    }
    let mut report = RunnerReport::default();
    // Cases come before the name of their package, and two packages may call theirs alike.
    let mut cases: Vec<(String, CaseState)> = Vec::new();
    let mut fine: u32 = 0;
    for line in output.lines().map(plain) {
        let trimmed = line.trim_start();
        let first = |rest: &str| rest.split_whitespace().next().unwrap_or("").to_owned();
        let states = [
            ("--- FAIL: ", CaseState::Failed),
            ("--- PASS: ", CaseState::Passed),
            ("--- SKIP: ", CaseState::Skipped),
        ];
        let told = states.iter().find_map(|(mark, state)| Some((first(trimmed.strip_prefix(mark)?), *state)));
        if let Some(told) = told {
            cases.push(told);
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            let failed = cases.iter().any(|(_, state)| *state == CaseState::Failed);
            take(&mut report, &mut cases, &first(rest));
            // One that fails without a failing case did not build, or ended in the middle.
            if !failed {
                report.fail(&first(rest));
                report.add(0, 1, 0);
            }
        } else if let Some(rest) = line.strip_prefix("ok  \t") {
            // Without -v a passing package is all that is told.
            fine = fine.saturating_add(u32::from(cases.is_empty()));
            take(&mut report, &mut cases, &first(rest));
        }
    }
    take(&mut report, &mut cases, "");
    if report.passed == 0 {
        report.passed = fine.min(1);
    }
    report
}

/// Counts the cases of a package.
fn take(report: &mut RunnerReport, cases: &mut Vec<(String, CaseState)>, package: &str) {
    for (case, state) in cases.drain(..) {
        let name = if package.is_empty() { case } else { format!("{package}.{case}") };
        report.case(&name, state);
        match state {
            CaseState::Passed => report.add(1, 0, 0),
            CaseState::Failed => report.add(0, 1, 0),
            CaseState::Skipped => report.add(0, 0, 1),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoTestLine {
    action: String,
    #[serde(default)]
    package: String,
    test: Option<String>,
}

fn json(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    // A package that fails without a failing case did not build.
    let mut packages: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for line in output.lines().filter_map(|line| serde_json::from_str::<GoTestLine>(line).ok()) {
        let package = packages.entry(line.package.clone()).or_default();
        match (line.action.as_str(), &line.test) {
            ("pass", Some(test)) => {
                report.passed = report.passed.saturating_add(1);
                report.pass(&format!("{}.{test}", line.package));
            }
            ("skip", Some(test)) => {
                report.skipped = report.skipped.saturating_add(1);
                report.skip(&format!("{}.{test}", line.package));
            }
            ("fail", Some(test)) => {
                package.1 = true;
                report.failed = report.failed.saturating_add(1);
                report.fail(&format!("{}.{test}", line.package));
            }
            ("fail", None) => package.0 = true,
            _ => {}
        }
    }
    for (package, _) in packages.iter().filter(|(_, (failed, case))| *failed && !case) {
        report.failed = report.failed.saturating_add(1);
        report.fail(package);
    }
    report
}
