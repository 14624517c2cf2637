//! A provider behind HTTP.

mod catalogue;
pub mod connection;
mod metadata;

use std::time::Duration;

use crate::cancel::ModelCancel;
use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelErrorKind};
use crate::provider::{DeltaSink, PendingReply, Provider};
use crate::reply::ModelReply;
use crate::request::ModelRequest;
use crate::sse::SseDecoder;

use connection::{causes, client, network, page, read_body, refused, within};

pub use catalogue::HttpCatalogue;
pub use metadata::tell;

/// The most bytes of an answer that is not streamed.
const MAX_WHOLE: usize = 32 * 1024 * 1024;

/// How long the end of a connection is waited for when the answer is complete.
const DRAIN: Duration = Duration::from_millis(50);

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the head of the answer; models may think before it.
    pub head: Duration,
    /// Between two pieces of the answer, comments included.
    pub idle: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), head: seconds(300), idle: seconds(300) }
    }
}

/// Sends each request once to an endpoint; wrap it in [`crate::RetryingProvider`] for patience.
#[derive(Debug, Clone)]
pub struct HttpProvider {
    client: reqwest::Client,
    endpoint: Endpoint,
    timeouts: HttpTimeouts,
}

impl HttpProvider {
    /// A provider for an endpoint; certificates are read only when it is encrypted.
    pub fn new(endpoint: Endpoint, timeouts: HttpTimeouts) -> Result<Self, ModelError> {
        let client = client(&endpoint, timeouts)?;
        Ok(Self { client, endpoint, timeouts })
    }

    async fn send(&self, request: &ModelRequest, sink: &mut dyn DeltaSink) -> Result<ModelReply, ModelError> {
        let body = self.endpoint.body(request).to_string();
        let mut call = self.client.post(self.endpoint.url()).body(body);
        for (name, value) in self.endpoint.request_headers() {
            let mut value = reqwest::header::HeaderValue::from_str(&value).map_err(|_| {
                ModelError::new(
                    ModelErrorKind::Auth,
                    format!("the value of the header `{name}` holds characters no header can"),
                )
            })?;
            value.set_sensitive(name == "authorization" || name == "x-api-key");
            call = call.header(name, value);
        }
        let response = within(self.timeouts.head, "the answer to begin", call.send()).await?;
        let response = response.map_err(|error| network(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(response, self.timeouts.idle).await);
        }
        let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("application/json")) {
            return self.whole(response, sink).await;
        }
        if kind.is_some_and(|kind| kind.starts_with("text/html")) {
            return Err(page(response, self.timeouts.idle).await);
        }
        self.streamed(response, sink).await
    }

    async fn streamed(
        &self,
        mut response: reqwest::Response,
        sink: &mut dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let mut sse = SseDecoder::default();
        let mut decoder = self.endpoint.wire.decoder();
        let mut broken = None;
        while !decoder.is_over() {
            let chunk = within(self.timeouts.idle, "the next piece", response.chunk()).await?;
            let chunk = match chunk {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => {
                    broken = Some(error);
                    break;
                }
            };
            let events = sse
                .push(&chunk)
                .map_err(|error| ModelError::new(ModelErrorKind::Malformed, error.to_string()))?;
            for event in events {
                decoder.push(&event).into_iter().for_each(|delta| sink.delta(delta));
            }
        }
        if let Some(event) = sse.finish() {
            decoder.push(&event).into_iter().for_each(|delta| sink.delta(delta));
        }
        if decoder.is_over() && broken.is_none() {
            // A connection that was read to its end can be used again; the end is usually there already.
            let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
            let _ = tokio::time::timeout(DRAIN, rest).await;
        }
        decoder.finish().map_err(|mut error| {
            if let (ModelErrorKind::Cut, Some(broken)) = (error.kind, &broken) {
                error.message = format!("{} ({})", error.message, causes(broken));
            }
            error
        })
    }

    /// A server that does not stream.
    async fn whole(
        &self,
        mut response: reqwest::Response,
        sink: &mut dyn DeltaSink,
    ) -> Result<ModelReply, ModelError> {
        let body = read_body(&mut response, MAX_WHOLE, self.timeouts.idle).await?;
        let reply = self.endpoint.wire.decode_whole(&body)?;
        reply.deltas().into_iter().for_each(|delta| sink.delta(delta));
        Ok(reply)
    }
}

impl Provider for HttpProvider {
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
            let outcome = cancel.race(self.send(request, sink)).await?;
            outcome.map_err(|mut error| {
                // Some servers repeat the key they did not like.
                if let Some(key) = self.endpoint.key.as_ref().filter(|key| key.expose().len() >= 4) {
                    error.message = error.message.replace(key.expose(), "[key]");
                }
                // Whoever has several keys has to know which one was not good enough.
                if let (ModelErrorKind::Auth, Some(_), Some(variable)) =
                    (error.kind, error.status, &self.endpoint.key_from)
                {
                    error.message += &match &self.endpoint.key {
                        Some(_) => format!("; the key is the one in {variable}"),
                        None => format!("; no key was sent, since {variable} is not set"),
                    };
                }
                error
            })
        })
    }
}

/// A runtime for a few questions.
fn runtime() -> Result<tokio::runtime::Runtime, ModelError> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| {
        ModelError::new(ModelErrorKind::Network, format!("cannot prepare for network traffic: {error}"))
    })
}
