//! What it costs to bring a change home: against `git apply`, and for one file in a large repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::BenchFailure;
use crate::command::{capture, time};
use crate::holon_run::HolonRun;
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;
use crate::tree::BenchTree;

/// Changed files of the large patch, and how many there are in its tree.
const MANY: (usize, usize) = (2_000, 5_000);
/// The tree in which one file is changed.
const LARGE: usize = 50_000;
const GIT: &str = "git apply, 2000 files";
const HOLON: &str = "holon runs apply, 2000 files";
const ONE: &str = "holon runs apply, 1 file of 50000";
const MANY_LIMIT: TargetBound = TargetBound::AtMost(2.0);
const ONE_LIMIT: TargetBound = TargetBound::AtMost(10.0);

/// A finished run whose change can be brought home and taken back again and again.
struct AppliedChange {
    run: HolonRun,
    workspace: PathBuf,
    changed: Vec<String>,
}

impl AppliedChange {
    /// Runs an agent once that adds a line to so many files all over the tree.
    fn new(bench: &BenchContext, name: &str, tree: &BenchTree, changes: usize) -> Result<Self, BenchFailure> {
        let changed = tree.spread(changes);
        let script = "while read -r file; do echo changed >> \"$file\"; done <<'FILES'\n".to_owned()
            + &changed.join("\n")
            + "\nFILES";
        let run = HolonRun::new(bench, name, tree, &script, changes)?;
        capture(&mut run.command())?;
        run.check()?;
        Ok(Self { run, workspace: tree.path.clone(), changed })
    }

    /// Brings the change home, looks that it is there, and puts everything back; only the first part is timed.
    fn turn(&self, command: &mut Command) -> Result<Duration, BenchFailure> {
        let took = time(command.current_dir(&self.workspace));
        let there = self.changed.iter().all(|file| ends_changed(&self.workspace.join(file)));
        self.put_back()?;
        if took.is_ok() && !there {
            return Err("it did not bring the change home".into());
        }
        took
    }

    fn put_back(&self) -> Result<(), BenchFailure> {
        let mut git = Command::new("git");
        git.args(["checkout", "--quiet", "--"]).args(&self.changed).current_dir(&self.workspace);
        capture(&mut git).map(|_| ())
    }
}

fn ends_changed(path: &Path) -> bool {
    fs::read(path).is_ok_and(|content| content.ends_with(b"changed\n"))
}

/// The same patch by git and by holon in turns, and the small one in the large tree.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let many = AppliedChange::new(bench, "apply-many", &bench.tree(MANY.1)?, MANY.0)?;
    let one = AppliedChange::new(bench, "apply-one", &bench.tree(LARGE)?, 1)?;
    let contenders = vec![
        RaceContender::new(GIT, || {
            many.turn(Command::new("git").arg("apply").arg(many.run.delivered("diff.patch")))
        }),
        RaceContender::new(HOLON, || many.turn(&mut many.run.holon(["runs", "apply", "last"]))),
        RaceContender::new(ONE, || one.turn(&mut one.run.holon(["runs", "apply", "last"]))),
    ];
    let standings = race::run(contenders, bench.rounds(30));
    let git = ReportRow::milliseconds(GIT, standings.of(GIT));
    let holon = ReportRow::milliseconds(HOLON, standings.of(HOLON)).against(&git).ratio_target(MANY_LIMIT);
    let one = ReportRow::milliseconds(ONE, standings.of(ONE)).median_target(ONE_LIMIT);
    let mut rows = vec![git, holon, one];
    rows.retain(|row| row.summary.is_some());
    let mut notes = standings.missing;
    notes.push("git apply leaves its files to the system; holon's are on the disk before it lets go of the old ones, with a journal before one changes".into());
    Ok(SuiteReport { rows, notes })
}
