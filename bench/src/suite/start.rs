//! How long it takes to get a command behind walls.

use crate::BenchFailure;
use crate::peers::{self, BUBBLEWRAP, PAYLOAD, PLAIN, PODMAN, UNSHARE};
use crate::race::{self, RaceContender};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::sandbox::{LauncherStart, SandboxStarts};
use crate::scratch::BenchContext;

const COLD: &str = "holon walls";
const WARMED: &str = "holon walls, launcher warmed";
/// A container costs a hundred times as much as the others.
const PODMAN_EVERY: usize = 5;

/// Starts the same payload in every way there is.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let folder = bench.new_folder("start")?;
    let workspace = bench.tree(500)?.path;
    let mut cold = SandboxStarts::new(&bench.holon, &workspace, &folder.join("cold"));
    let mut warmed = SandboxStarts::new(&bench.holon, &workspace, &folder.join("warmed"));
    let contenders = vec![
        peers::plain(),
        peers::unshare(),
        peers::bubblewrap(),
        peers::podman().every(PODMAN_EVERY),
        RaceContender::new(COLD, || cold.time(&[PAYLOAD], LauncherStart::Cold)),
        RaceContender::new(WARMED, || warmed.time(&[PAYLOAD], LauncherStart::Warmed)),
    ];
    let standings = race::run(contenders, bench.rounds(100));
    let row = |name: &str| ReportRow::milliseconds(name, standings.of(name));
    let unshare = row(UNSHARE);
    let against = |name: &str| row(name).against(&unshare);
    let podman = row(PODMAN);
    let mut rows = vec![
        against(PLAIN),
        against(UNSHARE),
        against(COLD).ratio_target(TargetBound::AtMost(2.0)),
        against(WARMED).ratio_target(TargetBound::AtMost(2.0)),
        against(BUBBLEWRAP),
        against(PODMAN),
    ];
    rows.retain(|row| row.summary.is_some());
    let times = |name: &str| ReportRow::comparison(format!("{PODMAN} / {name}"), &podman, &row(name));
    rows.extend(
        [COLD, WARMED].into_iter().filter_map(times).map(|row| row.ratio_target(TargetBound::AtLeast(50.0))),
    );
    let mut notes = standings.missing;
    notes.push(format!("ratios are to {UNSHARE}, which builds no root, no overlay and no filter"));
    Ok(SuiteReport { rows, notes })
}
