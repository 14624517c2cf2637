//! What a suite found: rows, and notes about what could not be compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::summary::Summary;

/// Everything one suite says about one user.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    /// Missing peers and the like; said, never skipped silently.
    pub(crate) notes: Vec<String>,
}

/// One line of a table.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    /// Of the samples.
    pub(crate) unit: String,
    /// Absent for a row that only compares others.
    pub(crate) summary: Option<Summary>,
    pub(crate) ratio: Option<Ratio>,
    pub(crate) target: Option<Target>,
}

/// Median against median.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// What is 1.
    pub(crate) to: String,
}

/// A number to reach, and whether it was.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) text: String,
    pub(crate) met: bool,
}

/// The side of a number that is good.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    fn judge(self, value: f64, unit: &str) -> Target {
        let (sign, number, met) = match self {
            Limit::AtMost(most) => ('≤', most, value <= most),
            Limit::AtLeast(least) => ('≥', least, value >= least),
        };
        Target { text: format!("{sign} {number}{unit}"), met }
    }
}

impl Row {
    /// A row of samples in milliseconds.
    pub(crate) fn milliseconds(what: impl Into<String>, samples: &[f64]) -> Self {
        Self::samples(what, "ms", samples)
    }

    /// A row of samples in any unit.
    pub(crate) fn samples(what: impl Into<String>, unit: &str, samples: &[f64]) -> Self {
        let summary = Summary::of(samples);
        Self { what: what.into(), unit: unit.to_owned(), summary, ratio: None, target: None }
    }

    /// A row that compares the medians of two others; `None` when one of them is missing.
    pub(crate) fn comparison(what: impl Into<String>, over: &Row, under: &Row) -> Option<Self> {
        let value = over.median()? / under.median()?;
        let ratio = Some(Ratio { value, to: under.what.clone() });
        Some(Self { what: what.into(), unit: String::new(), summary: None, ratio, target: None })
    }

    /// Adds how it compares with another row.
    pub(crate) fn against(mut self, other: &Row) -> Self {
        if let (Some(own), Some(other_median)) = (self.median(), other.median()) {
            self.ratio = Some(Ratio { value: own / other_median, to: other.what.clone() });
        }
        self
    }

    /// Judges the ratio; nothing without one.
    pub(crate) fn ratio_target(mut self, limit: Limit) -> Self {
        self.target = self.ratio.as_ref().map(|ratio| limit.judge(ratio.value, "×"));
        self
    }

    /// Judges the median; nothing without samples.
    pub(crate) fn median_target(mut self, limit: Limit) -> Self {
        self.target = self.median().map(|median| limit.judge(median, &format!(" {}", self.unit)));
        self
    }

    /// The middle sample.
    pub(crate) fn median(&self) -> Option<f64> {
        self.summary.as_ref().map(|summary| summary.median)
    }
}

/// How many targets were met.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    met: usize,
    missed: Vec<String>,
    /// Suites that could not be measured.
    pub(crate) failed: usize,
}

impl Verdict {
    /// Counts one report.
    pub(crate) fn add(&mut self, report: &Report) {
        for row in &report.rows {
            match &row.target {
                Some(target) if target.met => self.met += 1,
                Some(target) => self.missed.push(format!("{} ({})", row.what, target.text)),
                None => {}
            }
        }
    }

    /// Nothing missed and nothing unmeasured.
    pub(crate) fn all_met(&self) -> bool {
        self.missed.is_empty() && self.failed == 0
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for missed in &self.missed {
            writeln!(f, "missed: {missed}")?;
        }
        write!(f, "targets: {} met, {} missed", self.met, self.missed.len())?;
        if self.failed > 0 {
            write!(f, ", {} suites could not be measured", self.failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn targets_are_judged_on_medians() {
        let base = Row::milliseconds("base", &[1.0, 2.0, 9.0]);
        let twice = Row::milliseconds("twice", &[4.0]).against(&base).ratio_target(Limit::AtMost(2.0));
        assert_eq!(twice.target.as_ref().map(|t| (t.text.as_str(), t.met)), Some(("≤ 2×", true)));
        let slow = Row::milliseconds("slow", &[4.1]).against(&base).ratio_target(Limit::AtMost(2.0));
        assert!(!slow.target.as_ref().unwrap().met);
        let far = Row::comparison("far", &slow, &base).unwrap().ratio_target(Limit::AtLeast(50.0));
        assert!(!far.target.as_ref().unwrap().met);
        let alone = Row::milliseconds("none", &[]).against(&base).ratio_target(Limit::AtMost(2.0));
        assert!(alone.target.is_none());
        let mut verdict = Verdict::default();
        verdict.add(&Report { rows: vec![base, twice, slow, far, alone], notes: Vec::new() });
        assert!(!verdict.all_met());
        assert!(verdict.to_string().ends_with("targets: 1 met, 2 missed"), "{verdict}");
    }
}
