//! Whoever hears of work in modes.

use std::fmt::Debug;
use std::sync::Arc;

use crate::caller::TraceCaller;
use crate::span::TraceSpan;

/// Hears of work in modes while it goes on; it must neither fail nor wait.
pub trait Observer: Debug + Send + Sync {
    /// A line of a request's log: one JSON object, redacted, without a line break.
    fn logged(&self, _line: &str) {}

    /// A request in a mode starts; `attempt` counts from 1.
    fn started(&self, _mode: &str, _attempt: u32) {}

    /// It has ended.
    fn ended(&self, _mode: &str, _ok: bool, _duration_ms: u64) {}

    /// Whether spans are wanted; without that nobody makes any.
    fn traces(&self) -> bool {
        false
    }

    /// On whose behalf everything is done, when they said so.
    fn caller(&self) -> Option<&TraceCaller> {
        None
    }

    /// Spans that are over.
    fn spans(&self, _spans: Vec<TraceSpan>) {}
}

/// Whether spans shall be made: somebody takes them, and whoever asked wants its trace to be seen.
pub fn wanted(observer: &dyn Observer) -> bool {
    observer.traces() && observer.caller().is_none_or(TraceCaller::is_sampled)
}

/// Tells another one of work that is done on somebody's behalf, or on nobody's.
#[derive(Debug)]
pub struct CallerObserver {
    /// On whose.
    pub caller: Option<TraceCaller>,
    /// Who is told.
    pub to: Arc<dyn Observer>,
}

impl Observer for CallerObserver {
    fn logged(&self, line: &str) {
        self.to.logged(line);
    }

    fn started(&self, mode: &str, attempt: u32) {
        self.to.started(mode, attempt);
    }

    fn ended(&self, mode: &str, ok: bool, duration_ms: u64) {
        self.to.ended(mode, ok, duration_ms);
    }

    fn traces(&self) -> bool {
        self.to.traces()
    }

    fn caller(&self) -> Option<&TraceCaller> {
        self.caller.as_ref()
    }

    fn spans(&self, spans: Vec<TraceSpan>) {
        self.to.spans(spans);
    }
}

/// Tells two.
#[derive(Debug)]
pub struct ObserverPair(pub Arc<dyn Observer>, pub Arc<dyn Observer>);

impl Observer for ObserverPair {
    fn logged(&self, line: &str) {
        self.0.logged(line);
        self.1.logged(line);
    }

    fn started(&self, mode: &str, attempt: u32) {
        self.0.started(mode, attempt);
        self.1.started(mode, attempt);
    }

    fn ended(&self, mode: &str, ok: bool, duration_ms: u64) {
        self.0.ended(mode, ok, duration_ms);
        self.1.ended(mode, ok, duration_ms);
    }

    fn traces(&self) -> bool {
        self.0.traces() || self.1.traces()
    }

    fn caller(&self) -> Option<&TraceCaller> {
        self.0.caller().or_else(|| self.1.caller())
    }

    fn spans(&self, spans: Vec<TraceSpan>) {
        match (self.0.traces(), self.1.traces()) {
            (true, true) => {
                self.0.spans(spans.clone());
                self.1.spans(spans);
            }
            (true, false) => self.0.spans(spans),
            (false, _) => self.1.spans(spans),
        }
    }
}
