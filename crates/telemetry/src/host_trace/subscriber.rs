//! What takes the lines of the process and writes each to the run it belongs to.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber};
use tracing::{Event, Metadata};
use tracing_core::span::Current;

use super::filter::TraceFilter;
use super::{RUN_SPAN, TraceLineRedactor};

/// How long a line can get.
const LINE: usize = 4_000;

thread_local! {
    /// The spans this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Where the lines of one run go.
pub(super) struct RunTraceSink {
    file: File,
    redact: Arc<TraceLineRedactor>,
}

impl RunTraceSink {
    pub(super) fn new(file: File, redact: Arc<TraceLineRedactor>) -> Self {
        Self { file, redact }
    }
}

/// A span somebody holds: the run it belongs to, and by how many it is held.
struct HeldSpan {
    run: Option<String>,
    holders: usize,
    metadata: &'static Metadata<'static>,
}

#[derive(Default)]
struct TraceState {
    spans: HashMap<u64, HeldSpan>,
    runs: HashMap<String, RunTraceSink>,
}

/// The subscriber of this process; copies are the same one.
#[derive(Clone)]
pub(super) struct TraceSubscriber {
    filter: Arc<TraceFilter>,
    next: Arc<AtomicU64>,
    state: Arc<Mutex<TraceState>>,
}

impl fmt::Debug for TraceSubscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSubscriber").field("filter", &self.filter).finish_non_exhaustive()
    }
}

impl TraceSubscriber {
    pub(super) fn new(filter: TraceFilter) -> Self {
        Self { filter: Arc::new(filter), next: Arc::new(AtomicU64::new(1)), state: Arc::default() }
    }

    pub(super) fn add(&self, run: &str, sink: RunTraceSink) {
        self.state().runs.insert(run.to_owned(), sink);
    }

    pub(super) fn remove(&self, run: &str) {
        self.state().runs.remove(run);
    }

    fn state(&self) -> MutexGuard<'_, TraceState> {
        // A line half told is no reason to tell nothing more.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_run(metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.name() == RUN_SPAN && metadata.target() == "holon"
    }
}

impl Subscriber for TraceSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        Self::is_run(metadata) || (metadata.is_event() && self.filter.wants(metadata))
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        // The span of a run is always needed.
        Some(self.filter.loudest().max(tracing::level_filters::LevelFilter::ERROR))
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut fields = LineFields::default();
        attributes.record(&mut fields);
        let span = HeldSpan { run: fields.run, holders: 1, metadata: attributes.metadata() };
        self.state().spans.insert(id, span);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let innermost = ENTERED.with_borrow(|entered| entered.last().copied());
        let mut fields = LineFields::default();
        event.record(&mut fields);
        let mut state = self.state();
        let named = innermost.and_then(|id| state.spans.get(&id)).and_then(|span| span.run.clone());
        // A thread that carries no span works for the only run there is, where there is only one.
        let run = named.or_else(|| match state.runs.len() {
            1 => state.runs.keys().next().cloned(),
            _ => None,
        });
        let Some(sink) = run.and_then(|run| state.runs.get_mut(&run)) else { return };
        let line = fields.line(event.metadata());
        // A disk that is full must not end a run.
        let _ = sink.file.write_all((sink.redact)(&line).as_bytes());
    }

    fn enter(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(at) = entered.iter().rposition(|id| *id == span.into_u64()) {
                entered.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(span) = self.state().spans.get_mut(&id.into_u64()) {
            span.holders += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let (mut state, id) = (self.state(), id.into_u64());
        let Some(span) = state.spans.get_mut(&id) else { return false };
        span.holders -= 1;
        let over = span.holders == 0;
        if over {
            state.spans.remove(&id);
        }
        over
    }

    fn current_span(&self) -> Current {
        let Some(id) = ENTERED.with_borrow(|entered| entered.last().copied()) else { return Current::none() };
        match self.state().spans.get(&id) {
            Some(span) => Current::new(Id::from_u64(id), span.metadata),
            None => Current::none(),
        }
    }
}

/// The words and values of a line as they come.
#[derive(Default)]
struct LineFields {
    message: String,
    values: String,
    /// The run a span names.
    run: Option<String>,
}

impl LineFields {
    /// One line, whatever is in it.
    fn line(&self, metadata: &Metadata<'_>) -> String {
        let level = metadata.level().as_str().to_ascii_lowercase();
        let mut line = format!("{} {level:5} {} {}", jiff::Timestamp::now(), metadata.target(), self.message);
        line += &self.values;
        let mut plain: String =
            line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE).collect();
        plain.push('\n');
        plain
    }
}

impl Visit for LineFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            name => {
                if name == "id" {
                    self.run = Some(value.to_owned());
                }
                let _ = write!(self.values, " {name}={value:?}");
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.values, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sink(folder: &std::path::Path, run: &str) -> RunTraceSink {
        let file = File::create(folder.join(run)).unwrap();
        RunTraceSink::new(file, Arc::new(|line: &str| line.replace("sk-secret", "[REDACTED]")))
    }

    fn told(folder: &std::path::Path, run: &str) -> String {
        std::fs::read_to_string(folder.join(run)).unwrap()
    }

    #[test]
    fn each_line_goes_to_its_run_without_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        let subscriber = TraceSubscriber::new("debug,git=off".parse().unwrap());
        tracing::subscriber::with_default(subscriber.clone(), || {
            tracing::info!(target: "holon_host", "nobody's");
            subscriber.add("one", sink(folder.path(), "one"));
            tracing::info!(target: "holon_host::run", "the only run's");
            subscriber.add("two", sink(folder.path(), "two"));
            tracing::info!(target: "holon_host", "of which?");
            {
                let _run = tracing::error_span!(target: "holon", RUN_SPAN, id = "two").entered();
                tracing::debug!(target: "holon_model", key = "sk-secret", tries = 3, "asked\nagain");
                tracing::trace!(target: "holon_model", "too quiet");
                tracing::warn!(target: "holon_git", "not wanted");
                tracing::warn!(target: "hyper", "a library's");
                let span = tracing::Span::current();
                let dispatch = tracing::dispatcher::get_default(Clone::clone);
                let beside = move || {
                    tracing::dispatcher::with_default(&dispatch, || {
                        let _run = span.entered();
                        tracing::info!(target: "holon_gateway", "beside");
                    })
                };
                std::thread::spawn(beside).join().unwrap();
            }
            tracing::info!(target: "holon_host", "of nobody again");
        });
        let (one, two) = (told(folder.path(), "one"), told(folder.path(), "two"));
        assert_eq!(one.lines().count(), 1, "{one}");
        assert!(one.contains(" info  holon_host::run the only run's\n"), "{one}");
        assert_eq!(two.lines().count(), 2, "{two}");
        assert!(two.contains(" debug holon_model asked again key=\"[REDACTED]\" tries=3\n"), "{two}");
        assert!(two.contains("holon_gateway beside"), "{two}");
        assert!(subscriber.state().spans.is_empty(), "a span that nobody holds is forgotten");
    }

    #[test]
    fn a_run_that_is_over_gets_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let subscriber = TraceSubscriber::new("trace".parse().unwrap());
        tracing::subscriber::with_default(subscriber.clone(), || {
            subscriber.add("one", sink(folder.path(), "one"));
            subscriber.remove("one");
            tracing::info!(target: "holon_host", "late");
        });
        assert_eq!(told(folder.path(), "one"), "");
    }
}
