//! The four numbers about modes: kept, and told in the form Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::observer::Observer;

/// Upper bounds of the latency's buckets, in milliseconds.
pub const BOUNDS: [u64; 10] =
    [50, 250, 1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000];

/// Counts starts, failures, retries and times, by mode.
#[derive(Debug, Default)]
pub struct Counters(Mutex<BTreeMap<String, ModeCounts>>);

/// The numbers of one mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModeCounts {
    /// Requests that were started.
    pub invocations: u64,
    /// Those that failed.
    pub failures: u64,
    /// Those that were started again.
    pub retries: u64,
    /// Ended requests in each bucket by itself; the last holds what is over every bound.
    pub latency: [u64; BOUNDS.len() + 1],
    /// The times of all ended requests together, in milliseconds.
    pub latency_sum: u64,
}

impl ModeCounts {
    /// Requests that have ended.
    pub fn ended(&self) -> u64 {
        self.latency.iter().sum()
    }

    /// What came since others were taken.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut latency = self.latency;
        latency.iter_mut().zip(before.latency).for_each(|(now, before)| *now = now.saturating_sub(before));
        Self {
            invocations: self.invocations.saturating_sub(before.invocations),
            failures: self.failures.saturating_sub(before.failures),
            retries: self.retries.saturating_sub(before.retries),
            latency,
            latency_sum: self.latency_sum.saturating_sub(before.latency_sum),
        }
    }
}

impl Counters {
    /// All numbers as they are this moment, by mode.
    pub fn all(&self) -> BTreeMap<String, ModeCounts> {
        self.lock().clone()
    }

    /// Everything as text.
    pub fn render(&self) -> String {
        let all = self.all();
        let mut text = String::new();
        let mut counter = |name: &str, help: &str, of: fn(&ModeCounts) -> u64| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            for (mode, counts) in &all {
                let _ = writeln!(text, "{name}{{mode=\"{}\"}} {}", label(mode), of(counts));
            }
        };
        counter("mode_invocations_total", "Requests started in a mode.", |c| c.invocations);
        counter("mode_failures_total", "Requests that failed.", |c| c.failures);
        counter("mode_retries_total", "Requests that were started again.", |c| c.retries);
        let name = "mode_latency_ms";
        let _ = writeln!(text, "# HELP {name} Wall time of a request.\n# TYPE {name} histogram");
        for (mode, counts) in &all {
            let (mode, mut below) = (label(mode), 0);
            for (bucket, bound) in counts.latency.iter().zip(BOUNDS) {
                below += bucket;
                let _ = writeln!(text, "{name}_bucket{{mode=\"{mode}\",le=\"{bound}\"}} {below}");
            }
            let (sum, count) = (counts.latency_sum, counts.ended());
            let _ = writeln!(text, "{name}_bucket{{mode=\"{mode}\",le=\"+Inf\"}} {count}");
            let _ = writeln!(text, "{name}_sum{{mode=\"{mode}\"}} {sum}");
            let _ = writeln!(text, "{name}_count{{mode=\"{mode}\"}} {count}");
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, ModeCounts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Counters {
    fn started(&self, mode: &str, attempt: u32) {
        let mut all = self.lock();
        let counts = all.entry(mode.to_owned()).or_default();
        counts.invocations += 1;
        counts.retries += u64::from(attempt > 1);
    }

    fn ended(&self, mode: &str, ok: bool, duration_ms: u64) {
        let mut all = self.lock();
        let counts = all.entry(mode.to_owned()).or_default();
        counts.failures += u64::from(!ok);
        counts.latency_sum = counts.latency_sum.saturating_add(duration_ms);
        let bucket = BOUNDS.iter().position(|bound| duration_ms <= *bound).unwrap_or(BOUNDS.len());
        counts.latency[bucket] += 1;
    }
}

/// A label's value as the text form wants it.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_numbers_are_told_by_mode() {
        let counters = Counters::default();
        counters.started("review", 1);
        counters.ended("review", false, 200);
        counters.started("review", 2);
        counters.ended("review", true, 2_000);
        counters.started("review", 1);
        let text = counters.render();
        for line in [
            "# TYPE mode_invocations_total counter",
            "mode_invocations_total{mode=\"review\"} 3",
            "mode_failures_total{mode=\"review\"} 1",
            "mode_retries_total{mode=\"review\"} 1",
            "# TYPE mode_latency_ms histogram",
            "mode_latency_ms_bucket{mode=\"review\",le=\"50\"} 0",
            "mode_latency_ms_bucket{mode=\"review\",le=\"250\"} 1",
            "mode_latency_ms_bucket{mode=\"review\",le=\"5000\"} 2",
            "mode_latency_ms_bucket{mode=\"review\",le=\"+Inf\"} 2",
            "mode_latency_ms_sum{mode=\"review\"} 2200",
            "mode_latency_ms_count{mode=\"review\"} 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_name_cannot_break_out_of_its_label() {
        let counters = Counters::default();
        counters.started("a\"} 1\nb\\", 1);
        let text = counters.render();
        assert!(text.contains("mode_invocations_total{mode=\"a\\\"} 1\\nb\\\\\"} 1\n"), "{text}");
    }

    #[test]
    fn a_time_over_every_bound_is_counted_too() {
        let counters = Counters::default();
        counters.ended("code", true, u64::MAX);
        let all = counters.all();
        assert_eq!((all["code"].latency[BOUNDS.len()], all["code"].ended()), (1, 1));
    }
}
