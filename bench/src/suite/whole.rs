//! A whole run of the program, from start to exit code.

use crate::BenchFailure;
use crate::holon_run::HolonRun;
use crate::meter;
use crate::peers::{self, PLAIN};
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;

const FILES: usize = 50_000;
const RUN: &str = "holon run --mode execute";

/// An agent that only writes its summary, on a large tree.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let tree = bench.tree(FILES)?;
    let mut run = HolonRun::new(bench, "whole-run", &tree, "", 0)?;
    let contenders = vec![peers::plain(), RaceContender::new(RUN, || run.turn())];
    let standings = race::run(contenders, bench.rounds(100));
    if standings.of(RUN).is_empty() {
        return Err(standings.missing.join("; "));
    }
    let mut peaks = Vec::new();
    for _ in 0..bench.rounds(10) {
        peaks.push(meter::peak_mb(&run.command())?);
        run.check()?;
        run.clear();
    }
    let plain = ReportRow::milliseconds(PLAIN, standings.of(PLAIN));
    let whole = ReportRow::milliseconds(RUN, standings.of(RUN))
        .against(&plain)
        .median_target(TargetBound::AtMost(50.0));
    let peak = ReportRow::samples("peak memory of the largest process", "MB", &peaks)
        .median_target(TargetBound::AtMost(40.0));
    let notes = standings.missing;
    Ok(SuiteReport { rows: vec![plain, whole, peak], notes })
}
