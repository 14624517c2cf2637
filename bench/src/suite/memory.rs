//! What the processes around a payload cost while it runs.

use std::time::{Duration, Instant};

use crate::Failure;
use crate::family;
use crate::report::{Limit, Report, Row};
use crate::scratch::Bench;
use crate::walls::{Walls, children};

const LAUNCHER: &str = "launcher, outside the walls";
const INIT: &str = "init, inside the walls";
/// All that is Holon's must stay below it together.
const MOST_MB: f64 = 40.0;

/// Holds a payload still and reads the kernel's high-water marks of the two processes above it.
pub(super) fn measure(bench: &Bench) -> Result<Report, Failure> {
    let folder = bench.new_folder("memory")?;
    let mut walls = Walls::new(&bench.holon, &bench.tree(500)?.path, &folder);
    let mut peaks: [Vec<f64>; 3] = Default::default();
    for _ in 0..bench.rounds(30) {
        let (launcher, init) = walls.observe(&["/bin/sleep", "600"], look)?;
        for (list, peak) in peaks.iter_mut().zip([launcher, init, launcher + init]) {
            list.push(peak);
        }
    }
    let [launcher, init, both] = peaks;
    let rows = vec![
        Row::samples(LAUNCHER, "MB", &launcher),
        Row::samples(INIT, "MB", &init),
        Row::samples("both", "MB", &both).median_target(Limit::AtMost(MOST_MB)),
    ];
    Ok(Report {
        rows,
        notes: vec!["resident memory, pages shared with the host process included".to_owned()],
    })
}

/// Peak of the launcher (our child) and of init (its child, once it has a child of its own: the payload).
fn look() -> Result<(f64, f64), Failure> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let only_child = |pid: &str| children(pid).pop();
        if let Some(launcher) = only_child("self")
            && let Some(init) = only_child(&launcher)
            && only_child(&init).is_some()
        {
            return Ok((peak(&launcher)?, peak(&init)?));
        }
        std::thread::yield_now();
    }
    Err("the processes of the walls were not found in /proc".to_owned())
}

fn peak(process: &str) -> Result<f64, Failure> {
    family::peak_mb(process).ok_or_else(|| format!("/proc names no peak of process {process}"))
}
