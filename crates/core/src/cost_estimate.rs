//! What a plan will cost, by what work in its modes cost before; and how far estimates were off.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run in a mode costs in ratio to the run that made the plan, where none was made before.
const USUAL: [(&str, f64); 5] =
    [("architect", 2.0), ("execute", 4.0), ("review", 2.0), ("debug", 4.0), ("ethical", 1.0)];
/// Estimates of before that are needed to learn from them.
const ENOUGH: usize = 3;
/// Four of five results lie within so many standard deviations.
const WIDTH: f64 = 1.28;

/// What an orchestration will cost, in US dollars, as it was known when it was planned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostEstimate {
    /// All of it, with what was spent to plan it.
    pub usd: f64,
    /// Four of five should not cost less.
    pub low_usd: f64,
    /// Four of five should not cost more.
    pub high_usd: f64,
    /// Runs of before that it is made from.
    pub runs: u64,
    /// By which part of the true cost estimates of before were off (the median); absent while there are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_by: Option<f64>,
}

/// What was seen before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostHistory {
    /// What runs cost, by mode.
    pub by_mode: BTreeMap<String, Vec<f64>>,
    /// Orchestrations that came to their end: what was estimated, and what they cost.
    pub estimates: Vec<(f64, f64)>,
}

/// An estimate for tasks in these modes; `planning_usd` is what was spent to plan them. `None` when nothing is known.
pub fn estimate(modes: &[&str], history: &CostHistory, planning_usd: f64) -> Option<CostEstimate> {
    let (mut mean, mut variance, mut runs) = (0.0, 0.0, 0);
    for mode in modes {
        let seen = history.by_mode.get(*mode).map(Vec::as_slice).unwrap_or_default();
        let (one, spread) = match (moments(seen), USUAL.iter().find(|(name, _)| name == mode)) {
            (Some(known), _) => known,
            (None, Some((_, ratio))) if planning_usd > 0.0 => (planning_usd * ratio, planning_usd * ratio),
            _ => return None,
        };
        mean += one;
        variance += spread * spread;
    }
    for mode in history.by_mode.iter().filter(|(mode, _)| modes.contains(&mode.as_str())) {
        runs += mode.1.len() as u64;
    }
    // Tries that fail and findings that are mended cost more than the plan says; how much, the past tells.
    let ratios: Vec<f64> =
        history.estimates.iter().filter(|(told, _)| *told > 0.0).map(|(told, cost)| cost / told).collect();
    let learned = if ratios.len() >= ENOUGH { median(&ratios) } else { None };
    let usd = (planning_usd + mean) * learned.unwrap_or(1.0);
    let width = WIDTH * variance.sqrt() * learned.unwrap_or(1.0);
    Some(CostEstimate {
        usd,
        low_usd: (usd - width).max(planning_usd),
        high_usd: usd + width,
        runs,
        off_by: off_by(&history.estimates),
    })
}

/// By which part of the true cost estimates were off, the median; `None` while there are too few.
pub fn off_by(estimates: &[(f64, f64)]) -> Option<f64> {
    let errors: Vec<f64> = estimates
        .iter()
        .filter(|(_, cost)| *cost > 0.0)
        .map(|(told, cost)| (told - cost).abs() / cost)
        .collect();
    (errors.len() >= ENOUGH).then(|| median(&errors)).flatten()
}

impl CostEstimate {
    /// In a sentence.
    pub fn told(&self) -> String {
        let Self { usd, low_usd, high_usd, runs, off_by } = self;
        let seen = match runs {
            0 => "nothing like it was run here before".to_owned(),
            1 => "by one run of before".to_owned(),
            runs => format!("by {runs} runs of before"),
        };
        let error = match off_by {
            Some(part) => format!("estimates of before were off by {:.0} %", part * 100.0),
            None => "how far estimates are off is not known yet".to_owned(),
        };
        format!(
            "this is estimated to cost {usd:.2} dollars in all ({low_usd:.2} to {high_usd:.2}, {seen}; {error})"
        )
    }
}

/// Mean and standard deviation; of one value, the deviation is taken to be half of it.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    match values {
        [] => None,
        [_] => Some((mean, mean / 2.0)),
        _ => {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            Some((mean, (squares / (count - 1.0)).sqrt()))
        }
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn history(runs: &[(&str, &[f64])], estimates: &[(f64, f64)]) -> CostHistory {
        let by_mode = runs.iter().map(|(mode, costs)| ((*mode).to_owned(), costs.to_vec())).collect();
        CostHistory { by_mode, estimates: estimates.to_vec() }
    }

    #[test]
    fn it_is_the_sum_of_what_such_runs_cost() {
        let seen = history(&[("execute", &[0.2, 0.4]), ("review", &[0.1])], &[]);
        let found = estimate(&["execute", "execute", "review"], &seen, 0.05).unwrap();
        assert!((found.usd - 0.75).abs() < 1e-9 && found.low_usd < found.usd && found.usd < found.high_usd);
        assert_eq!((found.runs, found.off_by), (3, None));
        assert!(found.told().contains("cost 0.75 dollars in all"), "{}", found.told());
    }

    #[test]
    fn without_history_the_plans_own_cost_is_the_measure_and_without_that_nothing_is_said() {
        let nothing = CostHistory::default();
        assert!((estimate(&["execute", "ethical"], &nothing, 0.1).unwrap().usd - 0.6).abs() < 1e-9);
        assert_eq!(estimate(&["execute"], &nothing, 0.0), None);
    }

    #[test]
    fn it_learns_from_how_far_it_was_off() {
        let seen = history(&[("execute", &[0.5, 0.5])], &[(1.0, 2.0), (1.0, 2.0), (1.0, 1.0)]);
        let found = estimate(&["execute"], &seen, 0.0).unwrap();
        assert!((found.usd - 1.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.off_by, Some(0.5));
        assert_eq!(off_by(&[(1.0, 2.0)]), None);
    }
}
