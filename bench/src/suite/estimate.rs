//! How far estimates of what an orchestration costs are off, as a machine gets to know its work.

use std::collections::BTreeMap;

use holon_core::cost_estimate::{CostHistory, estimate};

use crate::BenchFailure;
use crate::report::{ReportRow, SuiteReport};
use crate::scratch::BenchContext;

/// Orchestrations one after another on one machine, and machines.
const ORCHESTRATIONS: usize = 60;
const MACHINES: u64 = 40;
/// What runs of each mode cost, in the middle, and how they scatter (standard deviation of the logarithm).
const MODES: [(&str, f64); 5] =
    [("architect", 0.15), ("execute", 0.40), ("review", 0.20), ("debug", 0.35), ("ethical", 0.08)];
const SCATTER: f64 = 0.6;
/// One of so many tasks is tried again.
const TRIED_AGAIN: u64 = 6;

pub(super) fn measure(_: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let (mut within, mut all) = (0.0, 0.0);
    for seed in 0..MACHINES {
        let (mut dice, mut history) = (Dice(seed), CostHistory::default());
        for number in 0..ORCHESTRATIONS {
            let planning = 0.05 * dice.scattered();
            let mut modes: Vec<(&str, f64)> =
                (0..2 + dice.roll(5)).map(|_| MODES[dice.roll(4) as usize]).collect();
            modes.push(MODES[4]);
            let names: Vec<&str> = modes.iter().map(|(mode, _)| *mode).collect();
            let told = estimate(&names, &history, planning).ok_or("no estimate")?;
            let mut cost = planning;
            for (mode, middle) in modes {
                for _ in 0..1 + u64::from(dice.roll(TRIED_AGAIN) == 0) {
                    let run = middle * dice.scattered();
                    history.by_mode.entry(mode.to_owned()).or_default().push(run);
                    cost += run;
                }
            }
            history.estimates.push((told.usd, cost));
            let when = match number {
                0 => "1: the first on a machine",
                1..10 => "2: the next nine",
                _ => "3: later",
            };
            errors.entry(when).or_default().push((told.usd - cost).abs() / cost * 100.0);
            if number >= 10 {
                within += f64::from(u8::from((told.low_usd..=told.high_usd).contains(&cost)));
                all += 1.0;
            }
        }
    }
    let mut report = SuiteReport::default();
    for (when, errors) in errors {
        report.rows.push(ReportRow::samples(format!("estimate off by, {when}"), "%", &errors));
    }
    report.rows.push(ReportRow::samples("later ones within the range told", "%", &[within / all * 100.0]));
    report.notes.push(format!(
        "simulated: {MACHINES} machines with {ORCHESTRATIONS} orchestrations each, costs of runs scattered log-normally \
         ({SCATTER}), one task of {TRIED_AGAIN} tried again; the estimate is the one that holon makes"
    ));
    Ok(report)
}

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Around one, log-normally.
    fn scattered(&mut self) -> f64 {
        let mut uniform = || (self.roll(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
        let (one, other) = (uniform(), uniform());
        let normal = (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos();
        (SCATTER * normal).exp()
    }
}
