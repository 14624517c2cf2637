//! How long it takes to get a command behind walls.

use crate::Failure;
use crate::peers::{self, BUBBLEWRAP, PAYLOAD, PLAIN, PODMAN, UNSHARE};
use crate::race::{self, Contender};
use crate::report::{Limit, Report, Row};
use crate::scratch::Bench;
use crate::walls::{Start, Walls};

const COLD: &str = "holon walls";
const WARMED: &str = "holon walls, launcher warmed";
/// A container costs a hundred times as much as the others.
const PODMAN_EVERY: usize = 5;

/// Starts the same payload in every way there is.
pub(super) fn measure(bench: &Bench) -> Result<Report, Failure> {
    let folder = bench.new_folder("start")?;
    let workspace = bench.tree(500)?.path;
    let mut cold = Walls::new(&bench.holon, &workspace, &folder.join("cold"));
    let mut warmed = Walls::new(&bench.holon, &workspace, &folder.join("warmed"));
    let contenders = vec![
        peers::plain(),
        peers::unshare(),
        peers::bubblewrap(),
        peers::podman().every(PODMAN_EVERY),
        Contender::new(COLD, || cold.time(&[PAYLOAD], Start::Cold)),
        Contender::new(WARMED, || warmed.time(&[PAYLOAD], Start::Warmed)),
    ];
    let standings = race::run(contenders, bench.rounds(100));
    let row = |name: &str| Row::milliseconds(name, standings.of(name));
    let unshare = row(UNSHARE);
    let against = |name: &str| row(name).against(&unshare);
    let podman = row(PODMAN);
    let mut rows = vec![
        against(PLAIN),
        against(UNSHARE),
        against(COLD).ratio_target(Limit::AtMost(2.0)),
        against(WARMED).ratio_target(Limit::AtMost(2.0)),
        against(BUBBLEWRAP),
        against(PODMAN),
    ];
    rows.retain(|row| row.summary.is_some());
    let times = |name: &str| Row::comparison(format!("{PODMAN} / {name}"), &podman, &row(name));
    rows.extend(
        [COLD, WARMED].into_iter().filter_map(times).map(|row| row.ratio_target(Limit::AtLeast(50.0))),
    );
    let mut notes = standings.missing;
    notes.push(format!("ratios are to {UNSHARE}, which builds no root, no overlay and no filter"));
    Ok(Report { rows, notes })
}
