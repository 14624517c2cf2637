//! The thread that sends: in batches, again where that may help, and counting what could not be delivered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::counters::ModeCounts;
use crate::exporter::NoticeSink;
use crate::http::{CollectorClient, SendRefusal};
use crate::otlp::{self, Temporality};
use crate::retry;
use crate::settings::TelemetrySettings;
use crate::span::{SpanId, TraceSpan};
use crate::trace::now;

/// Spans of one request to the collector.
const BATCH: usize = 1024;

/// Something to be sent.
pub(crate) enum ExportItem {
    Spans(Vec<TraceSpan>),
    Counts(BTreeMap<String, ModeCounts>),
}

/// What the one who gives and the thread that sends both know.
pub(crate) struct ExporterState {
    pub(crate) settings: TelemetrySettings,
    tell: NoticeSink,
    told: AtomicBool,
    /// When nobody waits any more; set at the end of the process.
    end: Mutex<Option<Instant>>,
    ending: Notify,
    /// Spans that were taken and are neither delivered nor lost.
    waiting: AtomicU64,
    lost: AtomicU64,
    /// Whether the newest counts are still to be delivered.
    counts_wait: AtomicBool,
    /// Whether the last thing was delivered; while nothing is, each thing is tried once.
    answers: AtomicBool,
}

/// The counts that were delivered last, and when.
struct DeliveredCounts {
    counts: BTreeMap<String, ModeCounts>,
    at_ns: u64,
}

impl ExporterState {
    pub(crate) fn new(settings: TelemetrySettings, tell: NoticeSink) -> Self {
        Self {
            settings,
            tell,
            told: AtomicBool::new(false),
            end: Mutex::default(),
            ending: Notify::new(),
            waiting: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            counts_wait: AtomicBool::new(false),
            answers: AtomicBool::new(true),
        }
    }

    /// The process wants to be gone by then.
    pub(crate) fn end_at(&self, at: Instant) {
        lock(&self.end).get_or_insert(at);
        self.ending.notify_one();
    }

    pub(crate) fn is_ending(&self) -> bool {
        lock(&self.end).is_some()
    }

    /// Something was taken to be sent.
    pub(crate) fn took(&self, item: &ExportItem) {
        match item {
            ExportItem::Spans(spans) => _ = self.waiting.fetch_add(spans.len() as u64, Ordering::Relaxed),
            ExportItem::Counts(_) => self.counts_wait.store(true, Ordering::Relaxed),
        }
    }

    /// Something that was taken is not going to be delivered. Counts are told again by those that come after.
    pub(crate) fn lost(&self, item: &ExportItem) {
        if let ExportItem::Spans(spans) = item {
            self.gone(spans.len(), spans.len() as u64);
        }
    }

    fn gone(&self, waited: usize, lost: u64) {
        self.waiting.fetch_sub(waited as u64, Ordering::Relaxed);
        self.lost.fetch_add(lost, Ordering::Relaxed);
    }

    /// The first trouble is told at once, with its reason: a collector that is away must not fill anybody's screen.
    pub(crate) fn trouble(&self, words: &str) {
        if !self.told.swap(true, Ordering::Relaxed) {
            (self.tell)(words);
        }
    }

    /// All that was not delivered is told at the end; `late` when something was still under way.
    pub(crate) fn tell_lost(&self, late: bool) {
        let waiting = if late { self.waiting.load(Ordering::Relaxed) } else { 0 };
        let spans = self.lost.load(Ordering::Relaxed) + waiting;
        let counts = self.counts_wait.load(Ordering::Relaxed);
        let spans = match spans {
            0 => None,
            1 => Some("1 span".to_owned()),
            more => Some(format!("{more} spans")),
        };
        let what = [spans.as_deref(), counts.then_some("the last counts")];
        let what = what.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        if !what.is_empty() {
            let why = if late && !self.told.load(Ordering::Relaxed) {
                "the collector does not answer in time; "
            } else {
                ""
            };
            (self.tell)(&format!("{why}not delivered: {what}"));
        }
    }

    pub(crate) fn work(&self, items: &Receiver<ExportItem>) {
        let client = CollectorClient::new(&self.settings);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (client, runtime) = match (client, runtime) {
            (Ok(client), Ok(runtime)) => (client, runtime),
            (client, runtime) => {
                let words = client.err().or_else(|| runtime.err().map(|error| error.to_string()));
                self.trouble(&words.unwrap_or_default());
                items.iter().for_each(|item| self.lost(&item));
                return;
            }
        };
        let mut delivered = DeliveredCounts { counts: BTreeMap::new(), at_ns: now() };
        while let Ok(first) = items.recv() {
            let (mut spans, mut counts) = (Vec::new(), None);
            for item in std::iter::once(first).chain(items.try_iter()) {
                match item {
                    ExportItem::Spans(more) => spans.extend(more),
                    // The newest say all that the others said.
                    ExportItem::Counts(newest) => counts = Some(newest),
                }
            }
            runtime.block_on(async {
                self.send_spans(&client, &spans).await;
                if let Some(counts) = counts {
                    self.send_counts(&client, counts, &mut delivered).await;
                }
            });
        }
    }

    async fn send_spans(&self, client: &CollectorClient, spans: &[TraceSpan]) {
        let Some(url) = &self.settings.traces else { return };
        for batch in spans.chunks(BATCH) {
            let body = otlp::traces(&self.settings.resource, batch).to_string();
            let most = batch.len() as u64;
            let lost = self.deliver(client, url, body).await.map_or(most, |rejected| rejected.min(most));
            self.gone(batch.len(), lost);
        }
    }

    async fn send_counts(
        &self,
        client: &CollectorClient,
        counts: BTreeMap<String, ModeCounts>,
        before: &mut DeliveredCounts,
    ) {
        let Some(url) = &self.settings.metrics else { return };
        let temporality = self.settings.temporality;
        let at_ns = now();
        let told = match temporality {
            Temporality::Cumulative => counts.clone(),
            Temporality::Delta => {
                let nothing = ModeCounts::default();
                let of = |mode: &String| before.counts.get(mode).unwrap_or(&nothing);
                counts.iter().map(|(mode, counts)| (mode.clone(), counts.since(of(mode)))).collect()
            }
        };
        let body = otlp::metrics(&self.settings.resource, &told, (before.at_ns, at_ns), temporality);
        if self.deliver(client, url, body.to_string()).await == Some(0) {
            self.counts_wait.store(false, Ordering::Relaxed);
            if temporality == Temporality::Delta {
                *before = DeliveredCounts { counts, at_ns };
            }
        }
    }

    /// Delivers a body, also on a later try; gives back how much of it was not taken, and nothing when none was.
    async fn deliver(&self, client: &CollectorClient, url: &str, body: String) -> Option<u64> {
        for tried in 1.. {
            let SendRefusal { words, passing, after } = match client.post(url, body.clone()).await {
                Ok(rejected) => {
                    self.answers.store(true, Ordering::Relaxed);
                    if rejected > 0 {
                        self.trouble("the collector does not take everything it is sent");
                    }
                    return Some(rejected);
                }
                Err(refused) => refused,
            };
            let again = passing && self.answers.load(Ordering::Relaxed);
            let pause = again.then(|| retry::pause(tried, after, SpanId::random().chance())).flatten();
            let waited = match pause {
                Some(pause) => self.wait(pause).await,
                None => false,
            };
            if !waited {
                self.answers.store(false, Ordering::Relaxed);
                self.trouble(&words);
                return None;
            }
        }
        None
    }

    /// Waits, unless the process would be gone before.
    async fn wait(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        loop {
            if lock(&self.end).is_some_and(|end| until >= end) {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            // Whoever ends the process wakes this up to look again.
            if left.is_zero() || tokio::time::timeout(left, self.ending.notified()).await.is_err() {
                return true;
            }
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
