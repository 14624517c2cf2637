//! Many samples in a few numbers.

use serde::{Deserialize, Serialize};

/// What is kept of the samples of one thing, in the unit of its row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SampleSummary {
    /// How many samples there were.
    pub(crate) samples: usize,
    pub(crate) min: f64,
    pub(crate) median: f64,
    /// Nine of ten are not above it.
    pub(crate) p90: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
}

impl SampleSummary {
    /// `None` when there is no sample.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            sorted.get(((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1)).copied()
        };
        Some(Self {
            samples: sorted.len(),
            min: *sorted.first()?,
            median: at(0.5)?,
            p90: at(0.9)?,
            max: *sorted.last()?,
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::SampleSummary;

    #[test]
    fn the_nearest_rank_is_taken() {
        let summary = SampleSummary::of(&[5.0, 1.0, 2.0, 4.0, 3.0, 10.0, 9.0, 8.0, 7.0, 6.0]).unwrap();
        assert_eq!((summary.min, summary.median, summary.p90, summary.max), (1.0, 5.0, 9.0, 10.0));
        assert_eq!((summary.samples, summary.mean), (10, 5.5));
        assert_eq!(SampleSummary::of(&[]), None);
    }

    proptest! {
        #[test]
        fn the_numbers_are_in_order(samples in prop::collection::vec(0.0..1e6f64, 1..50)) {
            let s = SampleSummary::of(&samples).unwrap();
            prop_assert!(s.min <= s.median && s.median <= s.p90 && s.p90 <= s.max);
            prop_assert!(samples.contains(&s.median) && samples.contains(&s.p90));
        }
    }
}
