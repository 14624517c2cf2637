//! Whether snapshot and patch grow with the tree: they must not.

use crate::BenchFailure;
use crate::cycle::{self, Cycle, PARTS};
use crate::holon_run::HolonRun;
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;
use crate::tree::CHANGED;

const SIZES: [usize; 3] = [500, 5_000, 50_000];
/// The largest tree against the smallest.
const GROWTH: TargetBound = TargetBound::AtMost(1.5);

/// The same ten changes in trees of three sizes, through the library and through the whole program.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let folder = bench.new_folder("patch")?;
    let mut contenders = Vec::new();
    for files in SIZES {
        let tree = bench.tree(files)?;
        let script = cycle::change(&tree);
        let mut run = HolonRun::new(bench, &format!("patch-run-{files}"), &tree, &script, CHANGED)?;
        let mut cycle = Cycle::new(&bench.holon, tree, &folder.join(files.to_string()))?;
        contenders
            .push(RaceContender::with_parts(PARTS.map(|part| library(part, files)).to_vec(), move || {
                cycle.turn()
            }));
        contenders.push(RaceContender::new(whole(files), move || run.turn()));
    }
    let standings = race::run(contenders, bench.rounds(50));
    let mut rows = Vec::new();
    let mut family = |name: &dyn Fn(usize) -> String, judged: bool| {
        let smallest = ReportRow::milliseconds(name(SIZES[0]), standings.of(&name(SIZES[0])));
        for files in SIZES {
            let row = ReportRow::milliseconds(name(files), standings.of(&name(files))).against(&smallest);
            rows.push(if judged && files == SIZES[2] { row.ratio_target(GROWTH) } else { row });
        }
    };
    for part in PARTS {
        family(&|files| library(part, files), part == PARTS[3]);
    }
    family(&whole, true);
    rows.retain(|row| row.summary.is_some());
    let mut notes = standings.missing;
    notes.push(format!("ratios are to the same with {} files; {CHANGED} files changed in each", SIZES[0]));
    Ok(SuiteReport { rows, notes })
}

fn library(part: &str, files: usize) -> String {
    format!("{part}, {files} files")
}

fn whole(files: usize) -> String {
    format!("holon run, {files} files")
}
