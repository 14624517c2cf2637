//! The connection to a provider: its client, and what goes wrong on the way, as errors of models.

use std::future::Future;
use std::time::Duration;

use holon_http::ClientSettings;
pub use holon_http::causes;

use super::HttpTimeouts;
use crate::classify;
use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelErrorKind};
use crate::retry::ResponseHeaders;

/// The most bytes of an error's body that are read.
const MAX_ERROR: usize = 256 * 1024;

/// A client for an endpoint; certificates are read only when it is encrypted.
pub fn client(endpoint: &Endpoint, timeouts: HttpTimeouts) -> Result<reqwest::Client, ModelError> {
    endpoint.check()?;
    let settings = ClientSettings {
        encrypted: endpoint.base.starts_with("https://"),
        loopback: endpoint.is_loopback(),
        connect: timeouts.connect,
        whole: None,
    };
    settings.client().map_err(|message| ModelError::new(ModelErrorKind::Network, message))
}

/// What an answer without success amounts to.
pub async fn refused(mut response: reqwest::Response, idle: Duration) -> ModelError {
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
pub async fn page(mut response: reqwest::Response, idle: Duration) -> ModelError {
    let body = read_body(&mut response, MAX_ERROR, idle).await.unwrap_or_default();
    let url = response.url().clone();
    ModelError::malformed(format!("{url} answers with a web page"), &String::from_utf8_lossy(&body))
}

/// The whole body, up to `most` bytes.
pub async fn read_body(
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

/// Waits for something, but not longer than `limit`.
pub async fn within<T>(
    limit: Duration,
    what: &str,
    future: impl Future<Output = T>,
) -> Result<T, ModelError> {
    tokio::time::timeout(limit, future).await.map_err(|_| {
        ModelError::new(ModelErrorKind::Timeout, format!("waited {} s for {what}", limit.as_secs_f64()))
    })
}

/// An error on the way to the answer.
pub fn network(error: &reqwest::Error) -> ModelError {
    let kind = if error.is_timeout() { ModelErrorKind::Timeout } else { ModelErrorKind::Network };
    ModelError::new(kind, causes(error))
}
