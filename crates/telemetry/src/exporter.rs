//! Sends spans and counts to a collector, on a thread of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::counters::Counts;
use crate::http::Client;
use crate::otlp;
use crate::settings::Settings;
use crate::span::Span;
use crate::trace::now;

/// What may wait to be sent; more is dropped.
const QUEUE: usize = 256;
/// Spans of one request to the collector.
const BATCH: usize = 1024;

/// Says something to a person, once.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Sends spans and counts. Giving it something never waits; it is [`finish`](Self::finish)ed at the end of the process.
pub struct Exporter {
    shared: Arc<Shared>,
    queue: Mutex<Option<SyncSender<Item>>>,
    over: Mutex<Option<Receiver<()>>>,
}

struct Shared {
    settings: Settings,
    began_ns: u64,
    tell: Tell,
    told: AtomicBool,
    ended: AtomicBool,
}

enum Item {
    Spans(Vec<Span>),
    Counts(BTreeMap<String, Counts>),
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

impl Exporter {
    /// Nothing is started before there is something to send; `tell` hears of the first trouble.
    pub fn new(settings: Settings, tell: Tell) -> Self {
        let shared = Shared {
            settings,
            began_ns: now(),
            tell,
            told: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), queue: Mutex::default(), over: Mutex::default() }
    }

    /// Whether spans are wanted.
    pub fn traces(&self) -> bool {
        self.shared.settings.traces.is_some()
    }

    /// Sends spans, some time soon.
    pub fn spans(&self, spans: Vec<Span>) {
        if self.traces() && !spans.is_empty() {
            self.put(Item::Spans(spans));
        }
    }

    /// Sends all counts as they are now, some time soon.
    pub fn counts(&self, counts: BTreeMap<String, Counts>) {
        if self.shared.settings.metrics.is_some() {
            self.put(Item::Counts(counts));
        }
    }

    /// Sends what waits, for as long as `patience` allows; nothing can be given to it afterwards.
    pub fn finish(&self, patience: Duration) {
        self.shared.ended.store(true, Ordering::Relaxed);
        drop(lock(&self.queue).take());
        let Some(over) = lock(&self.over).take() else { return };
        if over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            self.shared.trouble("the collector does not answer in time; what was left is not delivered");
        }
    }

    fn put(&self, item: Item) {
        if self.shared.ended.load(Ordering::Relaxed) {
            return;
        }
        let mut queue = lock(&self.queue);
        if queue.is_none() {
            *queue = self.start();
        }
        let Some(sender) = &*queue else { return };
        if let Err(TrySendError::Full(_)) = sender.try_send(item) {
            self.shared.trouble("the collector is too slow; some spans are not delivered");
        }
    }

    fn start(&self) -> Option<SyncSender<Item>> {
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

impl Shared {
    fn work(&self, items: &Receiver<Item>) {
        let client = Client::new(&self.settings);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (client, runtime) = match (client, runtime) {
            (Ok(client), Ok(runtime)) => (client, runtime),
            (Err(words), _) => return self.trouble(&words),
            (_, Err(error)) => return self.trouble(&error.to_string()),
        };
        while let Ok(first) = items.recv() {
            let (mut spans, mut counts) = (Vec::new(), None);
            for item in std::iter::once(first).chain(items.try_iter()) {
                match item {
                    Item::Spans(more) => spans.extend(more),
                    // The newest say all that the others said.
                    Item::Counts(newest) => counts = Some(newest),
                }
            }
            runtime.block_on(self.send(&client, &spans, counts));
        }
    }

    async fn send(&self, client: &Client, spans: &[Span], counts: Option<BTreeMap<String, Counts>>) {
        let resource = &self.settings.resource;
        if let Some(url) = &self.settings.traces {
            for batch in spans.chunks(BATCH) {
                if let Err(words) = client.post(url, otlp::traces(resource, batch).to_string()).await {
                    self.trouble(&words);
                }
            }
        }
        if let (Some(url), Some(counts)) = (&self.settings.metrics, counts) {
            let body = otlp::metrics(resource, &counts, self.began_ns, now());
            if let Err(words) = client.post(url, body.to_string()).await {
                self.trouble(&words);
            }
        }
    }

    /// One line for the whole process: a collector that is away must not fill anybody's screen.
    fn trouble(&self, words: &str) {
        if !self.told.swap(true, Ordering::Relaxed) {
            (self.tell)(words);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
