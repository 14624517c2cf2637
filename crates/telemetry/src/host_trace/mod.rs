//! What the host did, line by line, so that a report of a bug can carry it. Off unless `HOLON_TRACE` asks for it.
//!
//! Code says what it does with the macros of `tracing`; [`start_host_trace`] installs what writes it down, and each run that
//! opens a [`RunTraceLog`] gets the lines that belong to it.

mod filter;
mod subscriber;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tracing::level_filters::LevelFilter;
use tracing::span::EnteredSpan;

use self::subscriber::{RunTraceSink, TraceSubscriber};

pub use filter::{TraceFilter, TraceFilterError};

/// The file of a run's evidence that holds its trace.
pub const HOST_TRACE_FILE: &str = "host-trace.log";

/// The name of the span that says which run a line belongs to.
pub(crate) const RUN_SPAN: &str = "run";

static SUBSCRIBER: OnceLock<TraceSubscriber> = OnceLock::new();

/// Rewrites a line before it is written; it takes the keys out.
pub type TraceLineRedactor = dyn Fn(&str) -> String + Send + Sync;

/// Writes down what passes `filter` from now on, for every run that opens a trace. A second call changes nothing.
pub fn start_host_trace(filter: TraceFilter) {
    if filter.loudest() == LevelFilter::OFF {
        return;
    }
    let subscriber = SUBSCRIBER.get_or_init(|| TraceSubscriber::new(filter));
    // Another subscriber in this process (a test's) stays.
    let _ = tracing::subscriber::set_global_default(subscriber.clone());
}

/// The trace of one run. It ends when this is dropped.
#[derive(Debug)]
pub struct RunTraceLog {
    run: String,
    subscriber: TraceSubscriber,
    _entered: EnteredSpan,
}

impl RunTraceLog {
    /// Opens the trace of a run in its folder of evidence; nothing unless a trace was asked for. What this thread does, and
    /// what threads do that carry its span, goes there.
    pub fn open(run: &str, evidence: &Path, redact: Arc<TraceLineRedactor>) -> io::Result<Option<Self>> {
        let Some(subscriber) = SUBSCRIBER.get() else { return Ok(None) };
        let file = File::options().create(true).append(true).open(evidence.join(HOST_TRACE_FILE))?;
        subscriber.add(run, RunTraceSink::new(file, redact));
        let entered = tracing::error_span!(target: "holon", RUN_SPAN, id = run).entered();
        Ok(Some(Self { run: run.to_owned(), subscriber: subscriber.clone(), _entered: entered }))
    }
}

impl Drop for RunTraceLog {
    fn drop(&mut self) {
        self.subscriber.remove(&self.run);
    }
}
