//! What is told to whoever watches: counts by mode, spans of runs, and their way to a collector.
//!
//! Events become spans ([`RunTrace`]), spans and counts become OTLP ([`otlp`]): all of that is pure. Only [`Exporter`] talks
//! to a network, on a thread of its own, and nothing ever waits for it but the end of the process, and that not for long.
//! No span holds a word of a conversation: names, numbers, times and sorts of failure are all there is.

mod caller;
mod counters;
mod exporter;
mod host_trace;
mod http;
mod observer;
pub mod otlp;
mod retry;
mod sending;
mod settings;
mod span;
mod trace;

pub use caller::TraceCaller;
pub use counters::{BOUNDS, Counters, ModeCounts};
pub use exporter::{Exporter, NoticeSink};
pub use host_trace::{
    HOST_TRACE_FILE, RunTraceLog, TraceFilter, TraceFilterError, TraceLineRedactor, start_host_trace,
};
pub use observer::{CallerObserver, Observer, ObserverPair, wanted};
pub use settings::{TelemetrySettings, TelemetrySettingsError, header_values};
pub use span::{SpanAttribute, SpanId, SpanKind, SpanParent, TraceId, TraceSpan};
pub use trace::{RunTrace, moment, now};
