//! A provider behind HTTP.

mod catalogue;
mod metadata;
mod tls;

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use crate::cancel::ModelCancel;
use crate::classify;
use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelErrorKind};
use crate::provider::{DeltaSink, PendingReply, Provider};
use crate::reply::ModelReply;
use crate::request::ModelRequest;
use crate::retry::ResponseHeaders;
use crate::sse::SseDecoder;

pub use catalogue::HttpCatalogue;
pub use metadata::tell;

/// The most bytes of an error's body that are read.
const MAX_ERROR: usize = 256 * 1024;
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

/// A client for an endpoint; certificates are read only when it is encrypted.
fn client(endpoint: &Endpoint, timeouts: HttpTimeouts) -> Result<reqwest::Client, ModelError> {
    endpoint.check()?;
    let encrypted = endpoint.base.starts_with("https://");
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls::config(encrypted)?)
        .user_agent(concat!("holon/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false);
    if endpoint.is_loopback() {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| network(&error))
}

/// What an answer without success amounts to.
async fn refused(mut response: reqwest::Response, idle: Duration) -> ModelError {
    let status = response.status().as_u16();
    let headers: ResponseHeaders = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    // What was read so far says enough; a body that never ends says nothing more.
    let body = read_body(&mut response, MAX_ERROR, idle).await.unwrap_or_default();
    classify::from_response(status, &headers, &body, jiff::Timestamp::now())
}

/// A page for people instead of an answer, as proxies and web servers give at a wrong address.
async fn page(mut response: reqwest::Response, idle: Duration) -> ModelError {
    let body = read_body(&mut response, MAX_ERROR, idle).await.unwrap_or_default();
    let url = response.url().clone();
    ModelError::malformed(format!("{url} answers with a web page"), &String::from_utf8_lossy(&body))
}

async fn read_body(
    response: &mut reqwest::Response,
    most: usize,
    idle: Duration,
) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    while let Some(chunk) = within(idle, "the next piece", response.chunk())
        .await?
        .map_err(|error| ModelError::new(ModelErrorKind::Cut, causes(&error)))?
    {
        if body.len() + chunk.len() > most {
            return Err(ModelError::new(
                ModelErrorKind::Malformed,
                format!("the answer is larger than {most} bytes"),
            ));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

async fn within<T>(limit: Duration, what: &str, future: impl Future<Output = T>) -> Result<T, ModelError> {
    tokio::time::timeout(limit, future).await.map_err(|_| {
        ModelError::new(ModelErrorKind::Timeout, format!("waited {} s for {what}", limit.as_secs_f64()))
    })
}

fn network(error: &reqwest::Error) -> ModelError {
    let kind = if error.is_timeout() { ModelErrorKind::Timeout } else { ModelErrorKind::Network };
    ModelError::new(kind, causes(error))
}

/// The error with its reasons, which the outermost text leaves out.
fn causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(cause) = inner {
        text = format!("{text}: {cause}");
        inner = cause.source();
    }
    text
}
