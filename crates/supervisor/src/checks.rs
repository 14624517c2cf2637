//! What checks say, as facts for the supervisor. The reading itself is in `holon_checks`.

pub use holon_checks::runner::{RunnerReport, TestRunner, read, recognise};

use crate::event::CheckOutcome;

/// The fact a check is. A runner without a known form has no cases: its exit code is all that is known.
pub fn into_fact(report: RunnerReport, command: &str, exit: Option<i32>, duration_ms: u64) -> CheckOutcome {
    CheckOutcome {
        call: None,
        command: command.to_owned(),
        exit,
        passed: report.passed,
        failed: report.failed,
        skipped: report.skipped,
        failing: report.failing,
        diagnostics: report.diagnostics,
        duration_ms,
        says: None,
        result: None,
        changed: Vec::new(),
    }
}
