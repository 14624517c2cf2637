//! What a suite found: rows, and notes about what could not be compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::summary::SampleSummary;

/// Everything one suite says about one user.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SuiteReport {
    pub(crate) rows: Vec<ReportRow>,
    /// Missing peers and the like; said, never skipped silently.
    pub(crate) notes: Vec<String>,
}

/// One line of a table.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReportRow {
    pub(crate) what: String,
    /// Of the samples.
    pub(crate) unit: String,
    /// Absent for a row that only compares others.
    pub(crate) summary: Option<SampleSummary>,
    pub(crate) ratio: Option<Ratio>,
    pub(crate) target: Option<ReportTarget>,
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
pub(crate) struct ReportTarget {
    pub(crate) text: String,
    pub(crate) met: bool,
}

/// The side of a number that is good.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TargetBound {
    AtMost(f64),
    AtLeast(f64),
}

impl TargetBound {
    fn judge(self, value: f64, unit: &str) -> ReportTarget {
        let (sign, number, met) = match self {
            TargetBound::AtMost(most) => ('≤', most, value <= most),
            TargetBound::AtLeast(least) => ('≥', least, value >= least),
        };
        ReportTarget { text: format!("{sign} {number}{unit}"), met }
    }
}

impl ReportRow {
    /// A row of samples in milliseconds.
    pub(crate) fn milliseconds(what: impl Into<String>, samples: &[f64]) -> Self {
        Self::samples(what, "ms", samples)
    }

    /// A row of samples in any unit.
    pub(crate) fn samples(what: impl Into<String>, unit: &str, samples: &[f64]) -> Self {
        let summary = SampleSummary::of(samples);
        Self { what: what.into(), unit: unit.to_owned(), summary, ratio: None, target: None }
    }

    /// A row that compares the medians of two others; `None` when one of them is missing.
    pub(crate) fn comparison(what: impl Into<String>, over: &ReportRow, under: &ReportRow) -> Option<Self> {
        let value = over.median()? / under.median()?;
        let ratio = Some(Ratio { value, to: under.what.clone() });
        Some(Self { what: what.into(), unit: String::new(), summary: None, ratio, target: None })
    }

    /// Adds how it compares with another row.
    pub(crate) fn against(mut self, other: &ReportRow) -> Self {
        if let (Some(own), Some(other_median)) = (self.median(), other.median()) {
            self.ratio = Some(Ratio { value: own / other_median, to: other.what.clone() });
        }
        self
    }

    /// Judges the ratio; nothing without one.
    pub(crate) fn ratio_target(mut self, limit: TargetBound) -> Self {
        self.target = self.ratio.as_ref().map(|ratio| limit.judge(ratio.value, "×"));
        self
    }

    /// Judges the median; nothing without samples.
    pub(crate) fn median_target(mut self, limit: TargetBound) -> Self {
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
pub(crate) struct TargetCounts {
    met: usize,
    missed: Vec<String>,
    /// Suites that could not be measured.
    pub(crate) failed: usize,
}

impl TargetCounts {
    /// Counts one report.
    pub(crate) fn add(&mut self, report: &SuiteReport) {
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

impl fmt::Display for TargetCounts {
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
        let base = ReportRow::milliseconds("base", &[1.0, 2.0, 9.0]);
        let twice =
            ReportRow::milliseconds("twice", &[4.0]).against(&base).ratio_target(TargetBound::AtMost(2.0));
        assert_eq!(twice.target.as_ref().map(|t| (t.text.as_str(), t.met)), Some(("≤ 2×", true)));
        let slow =
            ReportRow::milliseconds("slow", &[4.1]).against(&base).ratio_target(TargetBound::AtMost(2.0));
        assert!(!slow.target.as_ref().unwrap().met);
        let far =
            ReportRow::comparison("far", &slow, &base).unwrap().ratio_target(TargetBound::AtLeast(50.0));
        assert!(!far.target.as_ref().unwrap().met);
        let alone =
            ReportRow::milliseconds("none", &[]).against(&base).ratio_target(TargetBound::AtMost(2.0));
        assert!(alone.target.is_none());
        let mut verdict = TargetCounts::default();
        verdict.add(&SuiteReport { rows: vec![base, twice, slow, far, alone], notes: Vec::new() });
        assert!(!verdict.all_met());
        assert!(verdict.to_string().ends_with("targets: 1 met, 2 missed"), "{verdict}");
    }
}
