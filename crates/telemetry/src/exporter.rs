//! Takes spans and counts for a collector, and hands them to a thread of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::counters::ModeCounts;
use crate::sending::{ExportItem, ExporterState, lock};
use crate::settings::TelemetrySettings;
use crate::span::TraceSpan;

/// What may wait to be sent; more is dropped.
const QUEUE: usize = 256;

/// Says something to a person.
pub type NoticeSink = Box<dyn Fn(&str) + Send + Sync>;

/// Sends spans and counts. Giving it something never waits; it is [`finish`](Self::finish)ed at the end of the process.
pub struct Exporter {
    shared: Arc<ExporterState>,
    queue: Mutex<Option<SyncSender<ExportItem>>>,
    over: Mutex<Option<Receiver<()>>>,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

impl Exporter {
    /// Nothing is started before there is something to send; `tell` hears of the first trouble, and at the end of all that
    /// was not delivered.
    pub fn new(settings: TelemetrySettings, tell: NoticeSink) -> Self {
        Self {
            shared: Arc::new(ExporterState::new(settings, tell)),
            queue: Mutex::default(),
            over: Mutex::default(),
        }
    }

    /// Whether spans are wanted.
    pub fn traces(&self) -> bool {
        self.shared.settings.traces.is_some()
    }

    /// Sends spans, some time soon.
    pub fn spans(&self, spans: Vec<TraceSpan>) {
        if self.traces() && !spans.is_empty() {
            self.put(ExportItem::Spans(spans));
        }
    }

    /// Sends all counts as they are now, some time soon.
    pub fn counts(&self, counts: BTreeMap<String, ModeCounts>) {
        if self.shared.settings.metrics.is_some() {
            self.put(ExportItem::Counts(counts));
        }
    }

    /// Sends what waits, for as long as `patience` allows; nothing can be given to it afterwards.
    pub fn finish(&self, patience: Duration) {
        self.shared.end_at(Instant::now() + patience);
        drop(lock(&self.queue).take());
        let Some(over) = lock(&self.over).take() else { return };
        // A deadline: the end of the process does not wait longer for a collector.
        let late = over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout);
        self.shared.tell_lost(late);
    }

    fn put(&self, item: ExportItem) {
        if self.shared.is_ending() {
            return;
        }
        let mut queue = lock(&self.queue);
        if queue.is_none() {
            *queue = self.start();
        }
        let Some(sender) = &*queue else { return };
        self.shared.took(&item);
        if let Err(TrySendError::Full(item) | TrySendError::Disconnected(item)) = sender.try_send(item) {
            self.shared.trouble("the collector is too slow; some spans are not delivered");
            self.shared.lost(&item);
        }
    }

    fn start(&self) -> Option<SyncSender<ExportItem>> {
        let (sender, items) = sync_channel(QUEUE);
        let (over, is_over) = channel();
        let shared = Arc::clone(&self.shared);
        let work = move || {
            shared.work(&items);
            let _: Result<(), _> = over.send(());
        };
        std::thread::Builder::new().name("telemetry".to_owned()).spawn(work).ok()?;
        *lock(&self.over) = Some(is_over);
        Some(sender)
    }
}
