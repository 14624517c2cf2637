//! How long the binary takes to do nothing, and how large it is.

use std::fs;
use std::process::Command;

use crate::BenchFailure;
use crate::command::time;
use crate::peers::{self, PLAIN};
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;

const VERSION: &str = "holon --version";

/// Starts it many times beside a program that does nothing.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let contenders = vec![
        peers::plain(),
        RaceContender::new(VERSION, || time(Command::new(&bench.holon).arg("--version").env_clear())),
    ];
    let standings = race::run(contenders, bench.rounds(100));
    if standings.of(VERSION).is_empty() {
        return Err(standings.missing.join("; "));
    }
    let plain = ReportRow::milliseconds(PLAIN, standings.of(PLAIN));
    let version = ReportRow::milliseconds(VERSION, standings.of(VERSION)).against(&plain);
    let size = fs::metadata(&bench.holon).map_err(|e| format!("no size of the binary: {e}"))?.len();
    let rows = vec![
        plain,
        version.median_target(TargetBound::AtMost(10.0)),
        ReportRow::samples("size of the binary", "MB", &[size as f64 / 1e6])
            .median_target(TargetBound::AtMost(40.0)),
    ];
    Ok(SuiteReport { rows, notes: standings.missing })
}
