//! What whoever watches the process hears of a request: that it starts and ends, and the spans of what happened in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use holon_core::event::{EventSink, RunEvent};
use holon_core::manifest::Manifest;
use holon_core::mode_run::{ModeDecision, ModeEnvelope};
use holon_core::outcome::RunOutcome;
use holon_telemetry::{
    Observer, RunTrace, SpanId, SpanKind, SpanParent, TraceCaller, TraceId, TraceSpan, moment, now, wanted,
};

/// The trace that everything a dispatcher starts belongs to.
#[derive(Debug, Clone)]
pub(super) struct DispatchTrace {
    id: TraceId,
    whole: Arc<Mutex<Option<WholeSpan>>>,
}

/// Work that is made of several requests.
#[derive(Debug)]
struct WholeSpan {
    id: SpanId,
    /// The mode that the whole counts as; what plans it in that mode does not count besides.
    counts_as: Option<&'static str>,
    began_ns: u64,
    observer: Arc<dyn Observer>,
}

impl DispatchTrace {
    pub(super) fn new() -> Self {
        Self { id: TraceId::random(), whole: Arc::default() }
    }

    /// Requests from here on are parts of one whole.
    pub(super) fn begin_whole(&self, observer: Option<Arc<dyn Observer>>, counts_as: Option<&'static str>) {
        if let Some(observer) = observer {
            if let Some(mode) = counts_as {
                observer.started(mode, 1);
            }
            *self.lock() = Some(WholeSpan { id: SpanId::random(), counts_as, began_ns: now(), observer });
        }
    }

    /// Whether requests in a mode are counted by the whole they are a part of.
    fn counts_for(&self, mode: &str) -> bool {
        self.lock().as_ref().is_some_and(|whole| whole.counts_as == Some(mode))
    }

    /// The whole is over.
    pub(super) fn end_whole(&self, manifest: &Manifest, decision: Option<&ModeDecision>) {
        let Some(WholeSpan { id, counts_as, began_ns, observer }) = self.lock().take() else { return };
        if let Some(mode) = counts_as {
            let took = now().saturating_sub(began_ns) / 1_000_000;
            observer.ended(mode, manifest.outcome != RunOutcome::Failure, took);
        }
        if wanted(&*observer) {
            let mut span = TraceSpan::new(
                self.place(&*observer),
                manifest.mode.clone(),
                SpanKind::Internal,
                began_ns,
                now(),
            )
            .with("holon.mode", manifest.mode.as_str())
            .with("holon.run_id", manifest.run_id.to_string())
            .with("holon.outcome", manifest.outcome.to_string())
            .with_some("holon.decision", decision.map(ModeDecision::name))
            .failed(error_of(manifest));
            span.id = id;
            tell(&*observer, vec![span]);
        }
    }

    /// Where what is done belongs: below whoever asked for it, or in a trace of its own.
    fn place(&self, observer: &dyn Observer) -> SpanParent {
        observer.caller().map_or(SpanParent { trace: self.id, parent: None }, TraceCaller::place)
    }

    /// Who hears of the whole.
    pub(super) fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.lock().as_ref().map(|whole| Arc::clone(&whole.observer))
    }

    fn lock(&self) -> MutexGuard<'_, Option<WholeSpan>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request under way.
pub(super) struct ObservedRequest {
    observer: Option<Arc<dyn Observer>>,
    /// Whether it counts by itself.
    counted: bool,
    began: Instant,
    span: Option<OpenSpan>,
    trace: Option<RunTrace>,
}

/// The span of a request that is not over.
struct OpenSpan {
    place: SpanParent,
    id: SpanId,
    began_ns: u64,
}

impl ObservedRequest {
    pub(super) fn begin(
        tracing: &DispatchTrace,
        observer: Option<Arc<dyn Observer>>,
        mode: &str,
        attempt: u32,
    ) -> Self {
        let counted = !tracing.counts_for(mode);
        if let Some(observer) = observer.as_ref().filter(|_| counted) {
            observer.started(mode, attempt);
        }
        let span = observer.as_deref().filter(|observer| wanted(*observer)).map(|observer| {
            let above = tracing.place(observer);
            let parent = tracing.lock().as_ref().map(|whole| whole.id).or(above.parent);
            OpenSpan { place: SpanParent { parent, ..above }, id: SpanId::random(), began_ns: now() }
        });
        let trace =
            span.as_ref().map(|span| RunTrace::new(SpanParent { parent: Some(span.id), ..span.place }));
        Self { observer, counted, began: Instant::now(), span, trace }
    }

    pub(super) fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.observer.clone()
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// A sink that hears what another one is told.
    pub(super) fn listening<'a>(&'a mut self, to: &'a mut dyn EventSink) -> TracingSink<'a> {
        TracingSink { trace: self.trace.as_mut(), to }
    }

    /// It was refused before anything started.
    pub(super) fn refused(self, about: &RequestDescription<'_>, sort: &str) {
        let took = self.elapsed_ms();
        let span = |span: TraceSpan| span.failed(Some(sort));
        self.close(about, false, took, None, span);
    }

    /// It has ended.
    pub(super) fn ended(
        self,
        about: &RequestDescription<'_>,
        manifest: &Manifest,
        outcome: RunOutcome,
        decision: &ModeDecision,
    ) {
        let model = manifest.metadata.model.as_ref();
        let span = |span: TraceSpan| {
            span.with("holon.run_id", manifest.run_id.to_string())
                .with("holon.outcome", outcome.to_string())
                .with("holon.decision", decision.name())
                .with("gen_ai.agent.name", manifest.metadata.agent.name.as_str())
                .with_some("gen_ai.provider.name", model.map(|model| model.provider.as_str()))
                .with_some("gen_ai.request.model", model.map(|model| model.id.as_str()))
                .failed(
                    error_of(manifest)
                        .or_else(|| (outcome == RunOutcome::Failure).then(|| "contract".to_owned())),
                )
        };
        let server = model.and_then(|model| model.server.as_deref());
        self.close(about, outcome != RunOutcome::Failure, manifest.duration_ms, server, span);
    }

    fn close(
        mut self,
        about: &RequestDescription<'_>,
        ok: bool,
        took: u64,
        server: Option<&str>,
        known: impl FnOnce(TraceSpan) -> TraceSpan,
    ) {
        let Some(observer) = self.observer.take() else { return };
        let RequestDescription { envelope, intent, attempt, asked_by } = about;
        if self.counted {
            observer.ended(&envelope.mode, ok, took);
        }
        let (Some(OpenSpan { place, id, began_ns }), Some(mut trace)) = (self.span.take(), self.trace.take())
        else {
            return;
        };
        trace.at_server(server);
        let (mut spans, left_out) = trace.end();
        let span =
            TraceSpan::new(place, format!("run {}", envelope.mode), SpanKind::Internal, began_ns, now())
                .with("holon.mode", envelope.mode.as_str())
                .with("holon.request_id", envelope.request_id.as_str())
                .with("holon.task_id", envelope.task_id.as_str())
                .with("holon.intent", *intent)
                .with("holon.attempt", u64::from(*attempt))
                .with_some("holon.asked_by", *asked_by)
                .with_some("holon.spans_left_out", (left_out > 0).then_some(left_out));
        let mut span = known(span);
        span.id = id;
        spans.insert(0, span);
        tell(&*observer, spans);
    }
}

/// Spans go out with what whoever asked wants to be carried along.
fn tell(observer: &dyn Observer, mut spans: Vec<TraceSpan>) {
    if let Some(caller) = observer.caller() {
        caller.mark(&mut spans);
    }
    observer.spans(spans);
}

/// What is known about a request from its beginning.
pub(super) struct RequestDescription<'a> {
    pub(super) envelope: &'a ModeEnvelope,
    pub(super) intent: &'a str,
    pub(super) attempt: u32,
    pub(super) asked_by: Option<&'a str>,
}

/// Hears what another sink is told.
pub(super) struct TracingSink<'a> {
    trace: Option<&'a mut RunTrace>,
    to: &'a mut dyn EventSink,
}

impl EventSink for TracingSink<'_> {
    fn emit(&mut self, event: &RunEvent) {
        if let Some(trace) = &mut self.trace {
            trace.hear(moment(&event.at), &event.body);
        }
        self.to.emit(event);
    }
}

/// The sort of failure, where it is one.
fn error_of(manifest: &Manifest) -> Option<String> {
    let failed = manifest.outcome == RunOutcome::Failure;
    let kind = manifest.error.as_ref().map_or("failure", |error| error.kind.as_str());
    failed.then(|| kind.to_owned())
}
