//! Security tests that could not be arranged, collected from the tests through a file.

use std::process::Command;

use crate::report::StepReport;
use crate::{XtaskFailure, project};

/// The variable by which tests learn where to write.
const VARIABLE: &str = "HOLON_SKIPPED_TESTS";

/// The file in which tests say what they could not check, one `test<TAB>reason` per line.
pub(crate) struct SkippedTests {
    file: tempfile::NamedTempFile,
}

impl SkippedTests {
    /// An empty collection.
    pub(crate) fn collect() -> Result<Self, XtaskFailure> {
        let file = tempfile::NamedTempFile::new()
            .map_err(|error| format!("cannot make a temporary file: {error}"))?;
        Ok(Self { file })
    }

    /// `cargo` that tells its tests about the collection.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = project::cargo();
        cargo.env(VARIABLE, self.file.path());
        cargo
    }

    /// Tells the tests started by any command about the collection.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env(VARIABLE, self.file.path());
    }

    /// What was recorded so far.
    pub(crate) fn reasons(&self) -> Vec<String> {
        parse(&std::fs::read_to_string(self.file.path()).unwrap_or_default())
    }

    /// Puts the collection into the closing lines; under CI any entry is a failure.
    pub(crate) fn close(&self, report: &mut StepReport) {
        let reasons = self.reasons();
        let count = reasons.len();
        report.close_with(std::iter::once(format!("SKIPPED SECURITY TESTS: {count}")));
        report.close_with(reasons);
        if count > 0 && std::env::var("CI").is_ok_and(|value| value == "true") {
            report.failed("skipped security tests", format!("{count} skipped, and CI demands them all"));
        }
    }
}

fn parse(text: &str) -> Vec<String> {
    let mut reasons: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| match line.split_once('\t') {
            Some((test, reason)) => format!("  {test}: {reason}"),
            None => format!("  {line}"),
        })
        .collect();
    reasons.sort();
    reasons.dedup();
    reasons
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reasons_are_listed_once_each() {
        let text = "inv_02\tneeds root\ninv_01\tno namespaces\ninv_02\tneeds root\n\nodd line\n";
        assert_eq!(parse(text), ["  inv_01: no namespaces", "  inv_02: needs root", "  odd line"]);
        assert_eq!(parse(""), [""; 0]);
    }
}
