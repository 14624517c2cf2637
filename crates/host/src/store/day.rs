//! What the runs of one day cost, over all workspaces, as the store tells.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use holon_core::event::{EventBody, RunEvent};
use holon_core::manifest::UsageTotals;

use super::RunFolder;
use crate::run::checkpoints;

/// How deep parts of wholes lie in one another, at most.
const DEPTH: u32 = 4;

/// What the runs of a day cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DaySpending {
    /// US dollars, as far as they are known.
    pub usd: f64,
    /// Tokens, in and out.
    pub tokens: u64,
}

impl DaySpending {
    /// Of all runs in a state folder whose ids begin with these digits of a day, as `20261118`. Parts count by
    /// themselves, and the wholes they are of do not.
    pub fn of(state: &Path, day: &str) -> Self {
        let mut spending = Self::default();
        spending.add(state, day, DEPTH);
        spending
    }

    fn add(&mut self, state: &Path, day: &str, deep: u32) {
        for workspace in entries(state) {
            for run in entries(&workspace.join("runs")) {
                let parts = run.join("steps");
                if parts.is_dir() {
                    if deep > 0 {
                        self.add(&parts, day, deep - 1);
                    }
                } else if run.file_name().is_some_and(|name| name.to_string_lossy().starts_with(day)) {
                    self.count(&usage_so_far(&run));
                }
            }
        }
    }

    fn count(&mut self, usage: &UsageTotals) {
        self.usd += usage.cost_usd.unwrap_or(0.0);
        let tokens = [usage.input, usage.cached, usage.output, usage.reasoning];
        self.tokens = tokens.into_iter().fold(self.tokens, u64::saturating_add);
    }
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// What a run has used, also while it goes on and after it was killed.
pub fn usage_so_far(run: &Path) -> UsageTotals {
    let folder = RunFolder::open(run.to_owned());
    let over = folder.manifest().map(|manifest| manifest.metadata.usage);
    over.filter(|usage| *usage != UsageTotals::default()).unwrap_or_else(|| {
        // Either may be behind the other.
        let kept = checkpoints::load(run, "").map(|last| UsageTotals::from(last.conversation.usage));
        let (kept, told) = (kept.unwrap_or_default(), told(&folder));
        if (kept.cost_usd, kept.input) > (told.cost_usd, told.input) { kept } else { told }
    })
}

/// The sum of what its events say of each answer.
fn told(folder: &RunFolder) -> UsageTotals {
    let mut total = UsageTotals::default();
    let Ok(file) = File::open(folder.evidence().join("events.jsonl")) else { return total };
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        // Most lines are about something else.
        if !line.contains("model_answered") {
            continue;
        }
        let Ok(RunEvent { body: EventBody::ModelAnswered { usage: Some(usage), .. }, .. }) =
            serde_json::from_str(&line)
        else {
            continue;
        };
        total.input = total.input.saturating_add(usage.input);
        total.cached = total.cached.saturating_add(usage.cached);
        total.output = total.output.saturating_add(usage.output);
        total.reasoning = total.reasoning.saturating_add(usage.reasoning);
        if let Some(cost) = usage.cost_usd {
            *total.cost_usd.get_or_insert(0.0) += cost;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ANSWER: &str = r#"{"seq":1,"at":"2026-11-18T00:00:00Z","run":"20261118-000000-aaaaaa","type":"model_answered","provider":"p","model":"m","duration_ms":1,"usage":{"input":10,"cached":0,"output":5,"reasoning":0,"cost_usd":0.25}}"#;

    fn run(state: &Path, id: &str, answers: usize) -> std::path::PathBuf {
        let run = state.join("abc/runs").join(id);
        fs::create_dir_all(run.join("evidence")).unwrap();
        let text = format!("{ANSWER}\n").repeat(answers) + "{\"type\":\"model_answered\", half";
        fs::write(run.join("evidence/events.jsonl"), text).unwrap();
        run
    }

    #[test]
    fn runs_of_the_day_count_once_with_their_parts() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), "20261117-235959-aaaaaa", 9);
        run(folder.path(), "20261118-000000-bbbbbb", 2);
        let whole = run(folder.path(), "20261117-230000-cccccc", 9);
        run(&whole.join("steps"), "20261118-010000-dddddd", 1);
        run(&whole.join("steps"), "20261117-230001-eeeeee", 9);
        let spending = DaySpending::of(folder.path(), "20261118");
        assert_eq!(spending, DaySpending { usd: 0.75, tokens: 45 });
        assert_eq!(DaySpending::of(folder.path(), "20261119"), DaySpending::default());
    }
}
