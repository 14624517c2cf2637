//! What whoever watches the process hears of a turn: a line of the log, and spans where they are wanted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use holon_agent::{AgentEventSink, TurnEndReason, TurnResult};
use holon_core::event::EventBody;
use holon_core::ids::CallId;
use holon_core::manifest::ModelInfo;
use holon_core::redact::Redactor;
use holon_host::record;
use holon_telemetry::{
    Observer, RunTrace, SpanAttribute, SpanId, SpanKind, SpanParent, TraceCaller, TraceId, TraceSpan, now,
};
use serde_json::json;

use crate::caller;

/// Hears what another watcher is told.
pub(crate) struct TracedEventSink<'a> {
    to: &'a dyn AgentEventSink,
    observer: Option<Arc<dyn Observer>>,
    began: Instant,
    wanted: Option<OpenTurnSpan>,
    caller: Option<TraceCaller>,
}

/// The span of a turn that is not over, and what it is made of.
struct OpenTurnSpan {
    place: SpanParent,
    id: SpanId,
    began_ns: u64,
    trace: Mutex<RunTrace>,
}

/// What a turn is about.
pub(crate) struct TurnDescription<'a> {
    pub(crate) mode: &'a str,
    pub(crate) intent: &'a str,
    pub(crate) thread: &'a str,
    pub(crate) number: u64,
    /// Nothing when it ended before there was one.
    pub(crate) model: Option<&'a ModelInfo>,
}

/// Hears nothing.
struct SilentEventSink;

impl AgentEventSink for SilentEventSink {
    fn tell(&self, _body: EventBody) {}
}

/// Tells of a turn that ended before a model could be asked; `sort` is a stable word.
pub(crate) fn failed_early(
    observer: Option<Arc<dyn Observer>>,
    about: &TurnDescription<'_>,
    sort: &str,
    redactor: &Redactor,
) {
    TracedEventSink::new(observer, &SilentEventSink).close(about, Some(sort), redactor);
}

impl<'a> TracedEventSink<'a> {
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>, to: &'a dyn AgentEventSink) -> Self {
        let caller = caller::present();
        let seen = caller.as_ref().is_none_or(TraceCaller::is_sampled);
        let wanted = observer.as_ref().filter(|observer| seen && observer.traces()).map(|_| {
            let own = || SpanParent { trace: TraceId::random(), parent: None };
            let (place, id) = (caller.as_ref().map_or_else(own, TraceCaller::place), SpanId::random());
            let trace = Mutex::new(RunTrace::new(SpanParent { parent: Some(id), ..place }));
            OpenTurnSpan { place, id, began_ns: now(), trace }
        });
        Self { to, observer, began: Instant::now(), wanted, caller }
    }

    /// The turn is over.
    pub(crate) fn end(self, about: &TurnDescription<'_>, ended: &TurnResult, redactor: &Redactor) {
        self.close(about, sort(&ended.reason), redactor);
    }

    fn close(self, about: &TurnDescription<'_>, error: Option<&str>, redactor: &Redactor) {
        let Some(observer) = self.observer else { return };
        let took = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (provider, model) =
            (about.model.map(|model| model.provider.as_str()), about.model.map(|model| model.id.as_str()));
        let line = json!({
            "at": record::now(), "step": "turn", "mode": about.mode,
            "request_id": format!("{}/{}", about.thread, about.number), "intent": about.intent,
            "provider": provider, "model": model, "success": error.is_none(), "error": error,
            "timings": { "duration_ms": took }, "child_tasks": [], "decision": null,
        });
        observer.logged(&redactor.redact_str(&line.to_string()));
        let Some(OpenTurnSpan { place, id, began_ns, trace }) = self.wanted else { return };
        let mut trace = trace.into_inner().unwrap_or_else(PoisonError::into_inner);
        trace.at_server(about.model.and_then(|model| model.server.as_deref()));
        let mut span =
            TraceSpan::new(place, format!("turn {}", about.mode), SpanKind::Internal, began_ns, now())
                .with("holon.mode", about.mode)
                .with("holon.turn", about.number)
                .with("gen_ai.conversation.id", about.thread)
                .with_some("gen_ai.provider.name", provider)
                .with_some("gen_ai.request.model", model)
                .failed(error);
        span.id = id;
        let mut spans = vec![span];
        spans.extend(trace.end().0);
        spans.iter_mut().for_each(|span| clean(span, redactor));
        if let Some(caller) = &self.caller {
            caller.mark(&mut spans);
        }
        observer.spans(spans);
    }
}

impl AgentEventSink for TracedEventSink<'_> {
    fn tell(&self, body: EventBody) {
        if let Some(wanted) = &self.wanted {
            wanted.trace.lock().unwrap_or_else(PoisonError::into_inner).hear(now(), &body);
        }
        self.to.tell(body);
    }

    fn edited(&self, call: &CallId, diff: String) {
        self.to.edited(call, diff);
    }
}

fn sort(reason: &TurnEndReason) -> Option<&'static str> {
    match reason {
        TurnEndReason::ModelFailed(error) => Some(error.kind.name()),
        TurnEndReason::HandsGone(_) => Some("hands_gone"),
        TurnEndReason::Limit(limit) => Some(limit.name()),
        _ => None,
    }
}

/// A model can call a tool by any name, a secret's included.
fn clean(span: &mut TraceSpan, redactor: &Redactor) {
    span.name = redactor.redact_str(&span.name);
    for (_, value) in &mut span.attributes {
        if let SpanAttribute::Text(text) = value {
            *text = redactor.redact_str(text);
        }
    }
}
