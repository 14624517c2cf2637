//! A provider of the client's own wire: bytes pass through while a decoder listens.

mod narrow;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use holon_model::http::connection::{causes, client, network, read_body, refused, within};
use holon_model::provider::PendingReply;
use holon_model::sse::SseDecoder;
use holon_model::{
    DeltaSink, Endpoint, HttpProvider, HttpTimeouts, ModelCancel, ModelError, ModelErrorKind, ModelReply,
    ModelRequest, Provider,
};

use crate::exchange::ResponseOpener;
use crate::flow::ResponseInlet;
pub(crate) use narrow::{betas, narrow};

/// The most bytes of an answer that is not streamed.
const MAX_WHOLE: usize = 32 * 1024 * 1024;
/// How long the end of a connection is waited for when the answer is complete.
const DRAIN: Duration = Duration::from_millis(50);

tokio::task_local! {
    /// The request of the running exchange, when its bytes pass through.
    pub(crate) static PASSING: Arc<PassingRequest>;
}

/// A request as bytes, and where the bytes of its answer go.
///
/// The model crate's recorder wraps providers and knows requests only in their common form. The bytes travel beside it,
/// so that what is recorded is what was passed.
pub(crate) struct PassingRequest {
    pub(crate) body: Bytes,
    pub(crate) stream: bool,
    pub(crate) betas: Option<String>,
    pub(crate) opener: Arc<ResponseOpener>,
    way: Mutex<PassProgress>,
}

#[derive(Default)]
struct PassProgress {
    inlet: Option<ResponseInlet>,
    /// The bytes that end the answer; they wait until it is booked and recorded.
    last: Vec<u8>,
    /// The answer came in one piece.
    whole: bool,
    /// A failure is part of the bytes already.
    told: bool,
}

/// How the bytes of an answer ended.
pub(crate) struct PassEnding {
    pub(crate) inlet: Option<ResponseInlet>,
    pub(crate) last: Vec<u8>,
    pub(crate) whole: bool,
    pub(crate) told: bool,
}

impl PassingRequest {
    pub(crate) fn new(
        body: Bytes,
        stream: bool,
        betas: Option<String>,
        opener: Arc<ResponseOpener>,
        inlet: ResponseInlet,
    ) -> Self {
        let way = Mutex::new(PassProgress { inlet: Some(inlet), ..PassProgress::default() });
        Self { body, stream, betas, opener, way }
    }

    fn way(&self) -> MutexGuard<'_, PassProgress> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left to be sent.
    pub(crate) fn end(&self) -> PassEnding {
        let way = std::mem::take(&mut *self.way());
        PassEnding { inlet: way.inlet, last: way.last, whole: way.whole, told: way.told }
    }
}

/// The endpoint: bytes pass when the client speaks its wire, else requests are translated.
pub(crate) struct PassThrough {
    client: reqwest::Client,
    translated: HttpProvider,
    endpoint: Endpoint,
    timeouts: HttpTimeouts,
}

impl PassThrough {
    pub(crate) fn new(endpoint: Endpoint, timeouts: HttpTimeouts) -> Result<Self, ModelError> {
        let client = client(&endpoint, timeouts)?;
        let translated = HttpProvider::new(endpoint.clone(), timeouts)?;
        Ok(Self { client, translated, endpoint, timeouts })
    }

    async fn begin(&self, passing: &PassingRequest) -> Result<reqwest::Response, ModelError> {
        let mut call = self.client.post(self.endpoint.url()).body(passing.body.clone());
        let betas = passing.betas.iter().map(|betas| ("anthropic-beta".to_owned(), betas.clone()));
        for (name, value) in self.endpoint.request_headers().into_iter().chain(betas) {
            let mut value = reqwest::header::HeaderValue::from_str(&value).map_err(|_| {
                let message = format!("the value of the header `{name}` holds characters no header can");
                ModelError::new(ModelErrorKind::Auth, message)
            })?;
            value.set_sensitive(true);
            call = call.header(name, value);
        }
        let response = within(self.timeouts.head, "the answer to begin", call.send()).await?;
        let response = response.map_err(|error| network(&error))?;
        if !response.status().is_success() {
            return Err(refused(response, self.timeouts.idle).await);
        }
        Ok(response)
    }

    async fn pass(
        &self,
        passing: &PassingRequest,
        sink: &mut dyn DeltaSink,
        cancel: &ModelCancel,
    ) -> Result<ModelReply, ModelError> {
        let mut response = cancel.race(self.begin(passing)).await??;
        let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("application/json")) {
            let read = read_body(&mut response, MAX_WHOLE, self.timeouts.idle);
            let body = cancel.race(read).await??;
            let reply = self.endpoint.wire.decode_whole(&body)?;
            reply.deltas().into_iter().for_each(|delta| sink.delta(delta));
            let mut way = passing.way();
            (way.last, way.whole) = (body, true);
            return Ok(reply);
        }
        self.stream_through(response, passing, sink, cancel).await
    }

    async fn stream_through(
        &self,
        mut response: reqwest::Response,
        passing: &PassingRequest,
        sink: &mut dyn DeltaSink,
        cancel: &ModelCancel,
    ) -> Result<ModelReply, ModelError> {
        let mut inlet = if passing.stream { passing.way().inlet.take() } else { None };
        if inlet.is_some() {
            passing.opener.open();
        }
        let mut sse = SseDecoder::default();
        let mut decoder = self.endpoint.wire.decoder();
        let mut last = Vec::new();
        let outcome = loop {
            let chunk = cancel.race(within(self.timeouts.idle, "the next piece", response.chunk())).await;
            let chunk = match chunk.and_then(|chunk| chunk) {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => break Ok(()),
                Ok(Err(error)) => break Err(ModelError::new(ModelErrorKind::Cut, causes(&error))),
                Err(error) => break Err(error),
            };
            let events = match sse.push(&chunk) {
                Ok(events) => events,
                Err(error) => break Err(ModelError::new(ModelErrorKind::Malformed, error.to_string())),
            };
            for event in events {
                decoder.push(&event).into_iter().for_each(|delta| sink.delta(delta));
            }
            if decoder.is_over() {
                last.extend_from_slice(&chunk);
                break Ok(());
            }
            if let Some(inlet) = &mut inlet
                && (inlet.push(&chunk).is_err() || cancel.race(inlet.room()).await.is_err())
            {
                break Err(ModelError::cancelled());
            }
        };
        if let Some(event) = sse.finish() {
            decoder.push(&event).into_iter().for_each(|delta| sink.delta(delta));
        }
        let over = decoder.is_over();
        if over && outcome.is_ok() {
            let rest = async {
                while let Ok(Some(chunk)) = response.chunk().await {
                    last.extend_from_slice(&chunk);
                }
            };
            let _ = tokio::time::timeout(DRAIN, rest).await;
        }
        let reply = decoder.finish();
        let told = over && reply.as_ref().is_err_and(|error| error.kind != ModelErrorKind::Malformed);
        {
            let mut way = passing.way();
            way.inlet = inlet.or_else(|| way.inlet.take());
            (way.last, way.told) = (last, told);
        }
        match (reply, outcome) {
            (Ok(reply), _) => Ok(reply),
            // Why the stream broke says more than that it did.
            (Err(error), Err(cause)) if error.kind == ModelErrorKind::Cut => Err(cause),
            (Err(error), _) => Err(error),
        }
    }
}

impl Provider for PassThrough {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a> {
        Box::pin(async move {
            // Only a running task knows what it passes.
            match PASSING.try_with(Arc::clone) {
                Ok(passing) => self.pass(&passing, sink, cancel).await,
                Err(_) => self.translated.stream(request, sink, cancel).await,
            }
        })
    }
}
