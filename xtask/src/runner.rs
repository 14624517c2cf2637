//! Which test runner is used, and what it said at the end.

use std::process::Command;

use crate::process::{self, Echo};
use crate::skipped::SkippedTests;
use crate::{XtaskFailure, project};

/// How the names of the long integration tests start.
pub(crate) const LONG: &str = "battery_";

/// At most this many lines of a runner's end are repeated.
const CLOSING_LINES: usize = 60;

/// What to run.
pub(crate) enum TestSelection {
    /// Everything but the long tests.
    Short,
    /// These long integration tests, by the names of their binaries.
    Long(Vec<String>),
}

/// True when cargo-nextest is installed.
pub(crate) fn has_nextest() -> bool {
    process::capture(project::cargo().args(["nextest", "--version"])).is_ok()
}

/// Runs tests with nextest, or with `cargo test` where it is missing, and returns the runner's own closing lines.
pub(crate) fn run(
    selection: &TestSelection,
    skipped: &SkippedTests,
    set: impl Fn(&mut Command),
) -> Result<(bool, Vec<String>), XtaskFailure> {
    let tests = project::metadata()?.tests;
    let nextest = has_nextest();
    let mut cargo = skipped.cargo();
    cargo.args(if nextest { nextest_args(selection) } else { cargo_args(selection, &tests) });
    set(&mut cargo);
    let told = process::tell(&mut cargo, Echo::Live)?;
    Ok((told.succeeded(), if nextest { nextest_closing(&told.lines) } else { cargo_closing(&told.lines) }))
}

/// Runs the examples in the documentation of the crates.
pub(crate) fn run_documentation(skipped: &SkippedTests) -> Result<(bool, Vec<String>), XtaskFailure> {
    let told =
        process::tell(skipped.cargo().args(["test", "--workspace", "--doc", "--no-fail-fast"]), Echo::Live)?;
    Ok((told.succeeded(), cargo_closing(&told.lines)))
}

fn nextest_args(selection: &TestSelection) -> Vec<String> {
    let mut args: Vec<String> = ["nextest", "run", "--profile", "ci"].map(String::from).to_vec();
    match selection {
        // The default filter of .config/nextest.toml leaves the long ones out.
        TestSelection::Short => args.push("--workspace".into()),
        TestSelection::Long(names) => {
            // All packages, so that the features are those of the other tests and nothing is built twice.
            args.extend(["--workspace", "--ignore-default-filter"].map(String::from));
            args.extend(names.iter().flat_map(|name| ["--test".into(), name.clone()]));
        }
    }
    args
}

fn cargo_args(selection: &TestSelection, tests: &[String]) -> Vec<String> {
    let mut args: Vec<String> = ["test", "--no-fail-fast"].map(String::from).to_vec();
    let names: Vec<&String> = match selection {
        TestSelection::Short => {
            args.extend(["--workspace", "--lib", "--bins"].map(String::from));
            tests.iter().filter(|name| !name.starts_with(LONG)).collect()
        }
        TestSelection::Long(names) => {
            args.push("--workspace".into());
            names.iter().collect()
        }
    };
    for name in names {
        args.extend(["--test".into(), name.clone()]);
    }
    if let TestSelection::Long(_) = selection {
        // They measure and exhaust the machine, so never two at once.
        args.extend(["--", "--test-threads=1"].map(String::from));
    }
    args
}

/// From the summary on: the count, then nextest's list of what failed.
fn nextest_closing(lines: &[String]) -> Vec<String> {
    let start = lines.iter().rposition(|line| line.trim_start().starts_with("Summary ["));
    match start {
        Some(start) => lines[start..].iter().take(CLOSING_LINES).cloned().collect(),
        None => vec!["(nextest gave no summary: nothing was run)".into()],
    }
}

/// One result line for each test binary, and the names of those that failed.
fn cargo_closing(lines: &[String]) -> Vec<String> {
    let tells = |line: &&String| line.starts_with("test result:") || line.ends_with("... FAILED");
    let closing: Vec<_> = lines.iter().filter(tells).cloned().collect();
    match closing.len() {
        0 => vec!["(cargo test gave no result: nothing was run)".into()],
        count => closing[count.saturating_sub(CLOSING_LINES)..].to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn long_tests_are_kept_apart() {
        let tests = lines("battery_escape\nrun");
        let long = TestSelection::Long(vec!["battery_escape".into(), "battery_many".into()]);
        assert_eq!(cargo_args(&TestSelection::Short, &tests).join(" "), {
            "test --no-fail-fast --workspace --lib --bins --test run"
        });
        assert_eq!(cargo_args(&long, &tests).join(" "), {
            "test --no-fail-fast --workspace --test battery_escape --test battery_many -- --test-threads=1"
        });
        assert_eq!(nextest_args(&TestSelection::Short).join(" "), "nextest run --profile ci --workspace");
        assert_eq!(nextest_args(&long).join(" "), {
            "nextest run --profile ci --workspace --ignore-default-filter --test battery_escape --test battery_many"
        });
    }

    #[test]
    fn nextest_ends_with_its_summary() {
        let text = "    PASS a\n------\n     Summary [   1.0s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        FAIL b\nerror: test run failed";
        assert_eq!(nextest_closing(&lines(text)), {
            lines(
                "     Summary [   1.0s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        FAIL b\nerror: test run failed",
            )
        });
        assert_eq!(nextest_closing(&lines("error: could not compile")).len(), 1);
    }

    #[test]
    fn cargo_ends_with_its_results() {
        let text = "test a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; 1 failed\ntest result: ok. 3 passed";
        assert_eq!(cargo_closing(&lines(text)), {
            lines("test b ... FAILED\ntest result: FAILED. 1 passed; 1 failed\ntest result: ok. 3 passed")
        });
        assert_eq!(cargo_closing(&[]).len(), 1);
    }
}
