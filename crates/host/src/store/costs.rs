//! What work cost on this machine before, as the store tells.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::artifact::orchestration::Orchestration;
use holon_core::cost_estimate::CostHistory;
use holon_core::mode_run::ModeDecision;
use holon_core::outcome::RunStatus;

use super::RunFolder;

/// The newest runs that are looked at.
const MOST: usize = 200;

/// What the newest runs of all workspaces cost, and how estimates of orchestrations came out.
pub fn past_costs(state: &Path) -> CostHistory {
    let (mut runs, mut wholes) = (Vec::new(), Vec::new());
    gather(state, &mut runs, &mut wholes, 4);
    let mut history = CostHistory::default();
    for run in newest(runs) {
        let Some(manifest) = RunFolder::open(run).manifest() else { continue };
        let cost = manifest.metadata.usage.cost_usd.filter(|cost| *cost > 0.0);
        if let Some(cost) = cost.filter(|_| manifest.status == RunStatus::Completed) {
            history.by_mode.entry(manifest.mode).or_default().push(cost);
        }
    }
    for whole in newest(wholes) {
        let Ok(bytes) = fs::read(whole.join("output/orchestration.json")) else { continue };
        let Ok(report) = serde_json::from_slice::<Orchestration>(&bytes) else { continue };
        if let Some(estimate) = report.estimate.filter(|_| report.decision == ModeDecision::Approve) {
            history.estimates.push((estimate.usd, report.cost_usd));
        }
    }
    history
}

fn gather(state: &Path, runs: &mut Vec<PathBuf>, wholes: &mut Vec<PathBuf>, deep: u32) {
    for workspace in entries(state) {
        for run in entries(&workspace.join("runs")) {
            let parts = run.join("steps");
            match parts.is_dir() {
                true if deep > 0 => {
                    gather(&parts, runs, wholes, deep - 1);
                    wholes.push(run);
                }
                true => {}
                false => runs.push(run),
            }
        }
    }
}

/// Ids begin with their time.
fn newest(mut runs: Vec<PathBuf>) -> Vec<PathBuf> {
    runs.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
    runs.truncate(MOST);
    runs
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
