//! A whole run of the native agent that calls no tool.

use std::rc::Rc;

use crate::BenchFailure;
use crate::bench_model::{BenchModel, ModelRole};
use crate::native_run::NativeRun;
use crate::peers::{self, PLAIN};
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;

/// The large tree, and one so small that it cannot matter.
const SIZES: [usize; 2] = [50_000, 500];

/// From start to exit code, walls included, with the model on loopback.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let mind = Rc::new(BenchModel::start());
    let mut contenders = vec![peers::plain()];
    for files in SIZES {
        let run = NativeRun::new(bench, &format!("native-run-{files}"), &bench.tree(files)?, &mind)?;
        contenders.push(RaceContender::new(name(files), move || run.turn(&ModelRole::default())));
    }
    let standings = race::run(contenders, bench.rounds(100));
    let row = |files| ReportRow::milliseconds(name(files), standings.of(&name(files)));
    let (large, small) = (row(SIZES[0]), row(SIZES[1]));
    if large.summary.is_none() {
        return Err(standings.missing.join("; "));
    }
    let rows = vec![
        ReportRow::milliseconds(PLAIN, standings.of(PLAIN)),
        large.against(&small).median_target(TargetBound::AtMost(50.0)),
        small,
    ];
    let mut notes = standings.missing;
    notes.push("the model answers with words twice: once too early, and is reminded".to_owned());
    Ok(SuiteReport { rows, notes })
}

fn name(files: usize) -> String {
    format!("holon run, no calls, {files} files")
}
