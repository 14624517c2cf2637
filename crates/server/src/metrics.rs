//! Numbers for whoever watches the server, in Prometheus' text form.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holon_telemetry::{Counters, Observer};

/// Counters since the start.
#[derive(Debug)]
pub(crate) struct ServerMetrics {
    requests: AtomicU64,
    /// Turns and runs, by mode.
    modes: Arc<Counters>,
    /// Who else hears of turns; of runs it hears through their host.
    observer: Option<Arc<dyn Observer>>,
}

/// What is true this moment.
pub(crate) struct ServerGauges {
    pub(crate) streams: usize,
    pub(crate) turns: usize,
    pub(crate) threads: u64,
    pub(crate) events: u64,
}

impl ServerMetrics {
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        Self { requests: AtomicU64::new(0), modes: Arc::default(), observer }
    }

    pub(crate) fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// What counts the runs of this server.
    pub(crate) fn modes(&self) -> Arc<Counters> {
        Arc::clone(&self.modes)
    }

    /// Who hears of turns.
    pub(crate) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.observer.as_ref()
    }

    /// A turn ended.
    pub(crate) fn turn(&self, mode: &str, took: Duration, failed: bool) {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let own: &dyn Observer = &*self.modes;
        for observer in std::iter::once(own).chain(self.observer.as_deref()) {
            observer.started(mode, 1);
            observer.ended(mode, !failed, ms);
        }
    }

    /// Everything as text.
    pub(crate) fn text(&self, gauges: &ServerGauges) -> String {
        let mut text = String::new();
        let mut plain = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
        };
        let requests = self.requests.load(Ordering::Relaxed);
        plain("holon_requests_total", "counter", "Requests over HTTP.", requests);
        plain("holon_streams", "gauge", "Open event streams.", gauges.streams as u64);
        plain("holon_turns_running", "gauge", "Turns under way.", gauges.turns as u64);
        plain("holon_threads", "gauge", "Threads in the store.", gauges.threads);
        plain("holon_events_total", "counter", "Events in the store.", gauges.events);
        text + &self.modes.render()
    }
}
