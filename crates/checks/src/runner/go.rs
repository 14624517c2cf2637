//! `go test`, plain and `-json`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Report, plain};

pub(super) fn read(output: &str) -> Report {
    if output.lines().any(|line| line.starts_with("{\"") && line.contains("\"Action\":")) {
        return json(output);
    }
    let mut report = Report::default();
    let mut built = false;
    for line in output.lines().map(plain) {
        let trimmed = line.trim_start();
        let case = |rest: &str| rest.split_whitespace().next().unwrap_or("").to_owned();
        if let Some(rest) = trimmed.strip_prefix("--- FAIL: ") {
            report.fail(&case(rest));
        } else if let Some(rest) = trimmed.strip_prefix("--- PASS: ") {
            report.pass(&case(rest));
            report.passed = report.passed.saturating_add(1);
        } else if let Some(rest) = trimmed.strip_prefix("--- SKIP: ") {
            report.skip(&case(rest));
            report.skipped = report.skipped.saturating_add(1);
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            if rest.contains("[build failed]") || rest.contains("[setup failed]") {
                report.fail(&case(rest));
            }
        } else if let Some(rest) = line.strip_prefix("ok  \t") {
            // Without -v a passing package is all that is told.
            built |= !rest.is_empty();
            report.passed = report.passed.max(1);
        }
    }
    report.failed = u32::try_from(report.failing.len()).unwrap_or(u32::MAX);
    if !report.is_counted() && built {
        report.passed = 1;
    }
    report
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    action: String,
    #[serde(default)]
    package: String,
    test: Option<String>,
}

fn json(output: &str) -> Report {
    let mut report = Report::default();
    // A package that fails without a failing case did not build.
    let mut packages: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for line in output.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
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
