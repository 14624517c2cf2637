//! What it costs to know what a check says of the untouched tree.

use std::fs;
use std::time::Duration;

use holon_sandbox::snapshot::remove_tree;

use crate::BenchFailure;
use crate::command::time;
use crate::holon_run::HolonRun;
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;
use crate::tree::BenchTree;

const FILES: usize = 5_000;
/// The check, which is also what defines it.
const CHECK: (&str, &str) = ("check.sh", "sleep 0.3\n");
/// An agent asks a model at least once.
const THINKS: &str = "sleep 0.3\n";
const CHANGES: &str = "echo changed >> part0/area0/file0.txt";

const NOTHING: &str = "holon run, no check";
const NOTHING_HOST: &str = "the same on the host's network";
const ALONE: &str = "with a check on the host's network, no baseline";
const KNOWN: &str = "with a check, baseline known";
const FRESH: &str = "with a check, baseline made beside the agent";
const TOUCHED: &str = "with a check that the change touches";

const KNOWN_LIMIT: TargetBound = TargetBound::AtMost(5.0);
/// One run of the check, with its walls and its tree, is 1; a second one would be 2.
const FRESH_LIMIT: TargetBound = TargetBound::AtMost(1.2);
const TOUCHED_LIMIT: TargetBound = TargetBound::AtMost(2.1);

/// A run with a check, and what is known before it.
struct CheckedHolonRun {
    run: HolonRun,
    arguments: &'static [&'static str],
    forgets: bool,
}

impl CheckedHolonRun {
    fn turn(&self) -> Result<Duration, BenchFailure> {
        if self.forgets {
            let _ = remove_tree(&self.run.cache().join("holon/baselines"));
        }
        let took = time(self.run.command().args(self.arguments))?;
        self.run.check()?;
        self.run.clear();
        Ok(took)
    }
}

/// The same agent and the same check, with all that can be known or unknown about the untouched tree.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let tree = BenchTree::grow(&bench.folder().join("tree-baseline"), FILES)?;
    let (name, text) = CHECK;
    fs::write(tree.path.join(name), text).map_err(|e| format!("cannot write {name}: {e}"))?;
    let contender = |number: usize, arguments, script: &str, changes, forgets| {
        let script = format!("{THINKS}{script}");
        let run = HolonRun::new(bench, &format!("baseline-{number}"), &tree, &script, changes)?;
        Ok::<_, BenchFailure>(CheckedHolonRun { run, arguments, forgets })
    };
    let checked: &[&str] = &["--check", "sh check.sh"];
    // On the host's network no baseline is made beside the agent, and a check that passes needs none.
    let alone: &[&str] = &["--network", "host", "--check", "sh check.sh"];
    let touches = format!("{CHANGES}; echo '# the same' >> check.sh");
    let runs = [
        (NOTHING, contender(1, &["--no-auto-checks"], CHANGES, 1, false)?),
        (NOTHING_HOST, contender(6, &["--no-auto-checks", "--network", "host"], CHANGES, 1, false)?),
        (ALONE, contender(2, alone, CHANGES, 1, true)?),
        (KNOWN, contender(3, checked, CHANGES, 1, false)?),
        (FRESH, contender(4, checked, CHANGES, 1, true)?),
        (TOUCHED, contender(5, checked, &touches, 2, true)?),
    ];
    // Made once, as by any earlier run.
    runs[3].1.turn()?;
    let contenders = runs.iter().map(|(name, run)| RaceContender::new(*name, || run.turn())).collect();
    let standings = race::run(contenders, bench.rounds(30));
    let over = |name: &str, less: &str| -> Vec<f64> {
        standings.of(name).iter().zip(standings.of(less)).map(|(all, part)| all - part).collect()
    };
    let alone = over(ALONE, NOTHING_HOST);
    // Each against a run without a check on the same network: what the network costs the agent is in neither.
    let beyond: Vec<f64> =
        over(KNOWN, NOTHING).iter().zip(&alone).map(|(with, without)| with - without).collect();
    let check = ReportRow::milliseconds("the check, after the agent", &alone);
    let known = ReportRow::milliseconds("a known baseline", &beyond).median_target(KNOWN_LIMIT);
    let fresh = ReportRow::milliseconds("check and new baseline, after the agent", &over(FRESH, NOTHING));
    let touched =
        ReportRow::milliseconds("a touched check and new baseline, after the agent", &over(TOUCHED, NOTHING));
    let fresh = fresh.against(&check).ratio_target(FRESH_LIMIT);
    let touched = touched.against(&check).ratio_target(TOUCHED_LIMIT);
    let mut rows: Vec<ReportRow> =
        runs.iter().map(|(name, _)| ReportRow::milliseconds(*name, standings.of(name))).collect();
    rows.extend([check, known, fresh, touched]);
    rows.retain(|row| row.summary.is_some());
    let mut notes = standings.missing;
    notes.push(
        "the agent and the check wait for 300 ms each; the last four rows are differences, round by round"
            .into(),
    );
    Ok(SuiteReport { rows, notes })
}
