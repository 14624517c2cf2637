//! Numbers for whoever watches the server, in Prometheus' text form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the latency buckets, in milliseconds.
const BOUNDS: [u64; 8] = [50, 200, 1000, 5000, 20_000, 60_000, 300_000, 1_200_000];

/// Counters since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: AtomicU64,
    modes: Mutex<BTreeMap<String, PerMode>>,
}

#[derive(Debug, Clone, Default)]
struct PerMode {
    invocations: u64,
    failures: u64,
    buckets: [u64; BOUNDS.len()],
    total_ms: u64,
}

/// What is true this moment.
pub(crate) struct Gauges {
    pub(crate) streams: usize,
    pub(crate) turns: usize,
    pub(crate) threads: u64,
    pub(crate) events: u64,
}

impl Metrics {
    pub(crate) fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// A turn ended.
    pub(crate) fn turn(&self, mode: &str, took: Duration, failed: bool) {
        let mut modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        let row = modes.entry(mode.to_owned()).or_default();
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        row.invocations += 1;
        row.failures += u64::from(failed);
        row.total_ms = row.total_ms.saturating_add(ms);
        for (bucket, bound) in row.buckets.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(ms <= bound);
        }
    }

    /// Everything as text.
    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let mut text = String::new();
        let mut plain = |name: &str, kind: &str, value: u64| {
            let _ = write!(text, "# TYPE {name} {kind}\n{name} {value}\n");
        };
        plain("holon_requests_total", "counter", self.requests.load(Ordering::Relaxed));
        plain("holon_streams", "gauge", gauges.streams as u64);
        plain("holon_turns_running", "gauge", gauges.turns as u64);
        plain("holon_threads", "gauge", gauges.threads);
        plain("holon_events_total", "counter", gauges.events);
        let modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str("# TYPE mode_invocations_total counter\n");
        for (mode, row) in modes.iter() {
            let _ = writeln!(text, "mode_invocations_total{{mode=\"{mode}\"}} {}", row.invocations);
        }
        text.push_str("# TYPE mode_failures_total counter\n");
        for (mode, row) in modes.iter() {
            let _ = writeln!(text, "mode_failures_total{{mode=\"{mode}\"}} {}", row.failures);
        }
        text.push_str("# TYPE mode_latency_ms histogram\n");
        for (mode, row) in modes.iter() {
            for (count, bound) in row.buckets.iter().zip(BOUNDS) {
                let _ = writeln!(text, "mode_latency_ms_bucket{{mode=\"{mode}\",le=\"{bound}\"}} {count}");
            }
            let all = row.invocations;
            let _ = writeln!(text, "mode_latency_ms_bucket{{mode=\"{mode}\",le=\"+Inf\"}} {all}");
            let _ = writeln!(text, "mode_latency_ms_sum{{mode=\"{mode}\"}} {}", row.total_ms);
            let _ = writeln!(text, "mode_latency_ms_count{{mode=\"{mode}\"}} {all}");
        }
        text
    }
}
