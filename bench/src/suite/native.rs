//! A whole run of the native agent that calls no tool.

use std::rc::Rc;

use crate::Failure;
use crate::mind::{Mind, Part};
use crate::native_run::NativeRun;
use crate::peers::{self, PLAIN};
use crate::race::{self, Contender};
use crate::report::{Limit, Report, Row};
use crate::scratch::Bench;

/// The large tree, and one so small that it cannot matter.
const SIZES: [usize; 2] = [50_000, 500];

/// From start to exit code, walls included, with the model on loopback.
pub(super) fn measure(bench: &Bench) -> Result<Report, Failure> {
    let mind = Rc::new(Mind::start());
    let mut contenders = vec![peers::plain()];
    for files in SIZES {
        let run = NativeRun::new(bench, &format!("native-run-{files}"), &bench.tree(files)?, &mind)?;
        contenders.push(Contender::new(name(files), move || run.turn(&Part::default())));
    }
    let standings = race::run(contenders, bench.rounds(100));
    let row = |files| Row::milliseconds(name(files), standings.of(&name(files)));
    let (large, small) = (row(SIZES[0]), row(SIZES[1]));
    if large.summary.is_none() {
        return Err(standings.missing.join("; "));
    }
    let rows = vec![
        Row::milliseconds(PLAIN, standings.of(PLAIN)),
        large.against(&small).median_target(Limit::AtMost(50.0)),
        small,
    ];
    let mut notes = standings.missing;
    notes.push("the model answers with words twice: once too early, and is reminded".to_owned());
    Ok(Report { rows, notes })
}

fn name(files: usize) -> String {
    format!("holon run, no calls, {files} files")
}
