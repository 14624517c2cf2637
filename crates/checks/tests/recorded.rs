//! What real runners printed, held against what is read of it. `tests/data/recorded/expected.toml` says what each of them
//! did; the suites behind them have passes, failures, errors, skips, parameters, groups and files that cannot be loaded.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use holon_checks::coverage::CoverageReports;
use holon_checks::report_files::with_case_files;
use holon_checks::runner::{CaseState, RunnerReport, TestRunner, read};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedReport {
    runner: TestRunner,
    passed: u32,
    failed: u32,
    skipped: u32,
    failing: Vec<String>,
    /// Cases that are known to have passed or been left out, by their names.
    #[serde(default)]
    passing: Vec<String>,
    #[serde(default)]
    left_out: Vec<String>,
}

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/recorded").join(name);
    fs::read_to_string(&path).unwrap()
}

fn wrong(expected: &ExpectedReport, report: &RunnerReport) -> Vec<String> {
    let mut told = Vec::new();
    let counts = (report.passed, report.failed, report.skipped);
    if counts != (expected.passed, expected.failed, expected.skipped) {
        told.push(format!(
            "counted {counts:?}, not {:?}",
            (expected.passed, expected.failed, expected.skipped)
        ));
    }
    if report.failing != expected.failing {
        told.push(format!("failing are {:?}", report.failing));
    }
    for (names, state) in [(&expected.passing, CaseState::Passed), (&expected.left_out, CaseState::Skipped)] {
        for name in names.iter().filter(|name| report.cases.get(*name) != Some(&state)) {
            told.push(format!("`{name}` is not {state:?}: {:?}", report.cases));
        }
    }
    told
}

#[test]
fn what_runners_printed_is_read_as_it_was() {
    let all: BTreeMap<String, ExpectedReport> = toml::from_str(&data("expected.toml")).unwrap();
    assert!(all.len() >= 20, "{}", all.len());
    let mut told = Vec::new();
    for (name, expected) in &all {
        let report = read(expected.runner, &data(name));
        told.extend(wrong(expected, &report).into_iter().map(|one| format!("{name}: {one}")));
        // Nobody has to know which runner it was.
        let unasked = read(TestRunner::Other, &data(name));
        told.extend(wrong(expected, &unasked).into_iter().map(|one| format!("{name}, not asked for: {one}")));
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[test]
fn case_files_name_what_a_quiet_runner_does_not() {
    let quiet =
        read(TestRunner::Pytest, "2 failed, 4 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error in 0.12s\n");
    let report = with_case_files(quiet, [data("pytest_junit.xml").as_str()]);
    assert_eq!((report.passed, report.failed, report.skipped), (5, 3, 2));
    assert!(report.names_all());
    assert_eq!(report.cases.get("test_mixed.test_value[x::y]"), Some(&CaseState::Passed));
}

#[test]
fn case_files_of_maven_and_phpunit_name_every_case() {
    let quiet = read(TestRunner::Maven, "[ERROR] Tests run: 6, Failures: 2, Errors: 1, Skipped: 1\n");
    let report = with_case_files(quiet, [data("maven_surefire.xml").as_str()]);
    assert_eq!((report.passed, report.failed, report.skipped), (2, 3, 1));
    assert!(report.names_all(), "{:?}", report.cases);
    assert_eq!(report.cases.get("calc.NumbersTest.later"), Some(&CaseState::Skipped));
    let quiet = read(TestRunner::Phpunit, &data("phpunit_plain.txt"));
    let report = with_case_files(quiet, [data("phpunit_junit.xml").as_str()]);
    assert!(report.cases.keys().any(|name| name.contains("testGood")), "{:?}", report.cases);
}

#[test]
fn coverage_reports_agree_with_each_other() {
    for name in ["coverage_py.json", "coverage_py.xml", "coverage_py.lcov"] {
        let mut reports = CoverageReports::default();
        assert!(reports.add(&data(name)), "{name}");
        let known = reports.about(["tests/test_unit.py"]);
        assert_eq!(known.0["tests/test_unit.py"].missed, [(12, 12)], "{name}");
        assert_eq!(known.0["tests/test_unit.py"].ran, [(1, 1), (3, 11), (13, 19)], "{name}");
    }
}
