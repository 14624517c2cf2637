//! The four numbers about modes, in the form Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Upper bounds of the latency's buckets, in milliseconds.
const BOUNDS: [u64; 10] = [50, 250, 1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000];

/// Counts starts, failures, retries and times, by mode.
#[derive(Debug, Default)]
pub struct Counters(Mutex<BTreeMap<String, Counts>>);

#[derive(Debug, Default)]
struct Counts {
    invocations: u64,
    failures: u64,
    retries: u64,
    latency: [u64; BOUNDS.len()],
    latency_sum: u64,
    latency_count: u64,
}

impl Counters {
    /// A request in a mode starts; `attempt` counts from 1.
    pub fn started(&self, mode: &str, attempt: u32) {
        let mut all = self.lock();
        let counts = all.entry(mode.to_owned()).or_default();
        counts.invocations += 1;
        counts.retries += u64::from(attempt > 1);
    }

    /// It has ended.
    pub fn ended(&self, mode: &str, ok: bool, duration_ms: u64) {
        let mut all = self.lock();
        let counts = all.entry(mode.to_owned()).or_default();
        counts.failures += u64::from(!ok);
        counts.latency_sum += duration_ms;
        counts.latency_count += 1;
        for (bucket, bound) in counts.latency.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(duration_ms <= bound);
        }
    }

    /// Everything as text.
    pub fn render(&self) -> String {
        let all = self.lock();
        let mut text = String::new();
        let mut counter = |name: &str, help: &str, of: fn(&Counts) -> u64| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            for (mode, counts) in all.iter() {
                let _ = writeln!(text, "{name}{{mode=\"{mode}\"}} {}", of(counts));
            }
        };
        counter("mode_invocations_total", "Requests started in a mode.", |c| c.invocations);
        counter("mode_failures_total", "Requests that failed.", |c| c.failures);
        counter("mode_retries_total", "Requests that were started again.", |c| c.retries);
        let name = "mode_latency_ms";
        let _ = writeln!(text, "# HELP {name} Wall time of a request.\n# TYPE {name} histogram");
        for (mode, counts) in all.iter() {
            for (bucket, bound) in counts.latency.iter().zip(BOUNDS) {
                let _ = writeln!(text, "{name}_bucket{{mode=\"{mode}\",le=\"{bound}\"}} {bucket}");
            }
            let (sum, count) = (counts.latency_sum, counts.latency_count);
            let _ = writeln!(text, "{name}_bucket{{mode=\"{mode}\",le=\"+Inf\"}} {count}");
            let _ = writeln!(
                text,
                "{name}_sum{{mode=\"{mode}\"}} {sum}\n{name}_count{{mode=\"{mode}\"}} {count}"
            );
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Counts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let text = counters.render();
        for line in [
            "mode_invocations_total{mode=\"review\"} 2",
            "mode_failures_total{mode=\"review\"} 1",
            "mode_retries_total{mode=\"review\"} 1",
            "mode_latency_ms_bucket{mode=\"review\",le=\"50\"} 0",
            "mode_latency_ms_bucket{mode=\"review\",le=\"250\"} 1",
            "mode_latency_ms_bucket{mode=\"review\",le=\"+Inf\"} 2",
            "mode_latency_ms_sum{mode=\"review\"} 2200",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
}
