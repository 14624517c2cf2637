//! What the processes around a payload cost while it runs.

use std::time::{Duration, Instant};

use crate::BenchFailure;
use crate::family;
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::sandbox::{SandboxStarts, children};
use crate::scratch::BenchContext;

const LAUNCHER: &str = "launcher, outside the walls";
const INIT: &str = "init, inside the walls";
/// All that is Holon's must stay below it together.
const MOST_MB: f64 = 40.0;

/// Holds a payload still and reads the kernel's high-water marks of the two processes above it.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let folder = bench.new_folder("memory")?;
    let mut walls = SandboxStarts::new(&bench.holon, &bench.tree(500)?.path, &folder);
    let mut peaks: [Vec<f64>; 3] = Default::default();
    for _ in 0..bench.rounds(30) {
        let (launcher, init) = walls.observe(&["/bin/sleep", "600"], look)?;
        for (list, peak) in peaks.iter_mut().zip([launcher, init, launcher + init]) {
            list.push(peak);
        }
    }
    let [launcher, init, both] = peaks;
    let rows = vec![
        ReportRow::samples(LAUNCHER, "MB", &launcher),
        ReportRow::samples(INIT, "MB", &init),
        ReportRow::samples("both", "MB", &both).median_target(TargetBound::AtMost(MOST_MB)),
    ];
    Ok(SuiteReport {
        rows,
        notes: vec!["resident memory, pages shared with the host process included".to_owned()],
    })
}

/// Peak of the launcher (our child) and of init (its child, once it has a child of its own: the payload).
fn look() -> Result<(f64, f64), BenchFailure> {
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

fn peak(process: &str) -> Result<f64, BenchFailure> {
    family::peak_mb(process).ok_or_else(|| format!("/proc names no peak of process {process}"))
}
