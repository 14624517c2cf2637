//! The connection to a provider.

use std::error::Error as _;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use holon_model::retry::ResponseHeaders;
use holon_model::{Endpoint, HttpTimeouts, ModelError, ModelErrorKind, classify};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// The most bytes of an error's body that are read.
const MAX_ERROR: usize = 256 * 1024;

/// A client that follows no redirect; certificates are read only when the endpoint is encrypted.
pub(super) fn client(endpoint: &Endpoint, timeouts: HttpTimeouts) -> Result<reqwest::Client, ModelError> {
    endpoint.check()?;
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(endpoint.base.starts_with("https://"))?)
        .user_agent(concat!("holon/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false);
    if endpoint.is_loopback() {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| network(&error))
}

fn tls(encrypted: bool) -> Result<ClientConfig, ModelError> {
    let fail = |message: String| ModelError::new(ModelErrorKind::Network, message);
    let mut roots = RootCertStore::empty();
    if encrypted {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            let message =
                "this machine trusts no certificates: install `ca-certificates`, or set SSL_CERT_FILE";
            return Err(fail(message.to_owned()));
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(format!("encryption cannot be set up: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// What an answer without success amounts to.
pub(super) async fn refused(mut response: reqwest::Response, idle: Duration) -> ModelError {
    let status = response.status().as_u16();
    let headers: ResponseHeaders = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    let body = read_body(&mut response, MAX_ERROR, idle).await.unwrap_or_default();
    classify::from_response(status, &headers, &body, jiff::Timestamp::now())
}

/// The whole body, up to `most` bytes.
pub(super) async fn read_body(
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
            let message = format!("the answer is larger than {most} bytes");
            return Err(ModelError::new(ModelErrorKind::Malformed, message));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

pub(super) async fn within<T>(
    limit: Duration,
    what: &str,
    future: impl Future<Output = T>,
) -> Result<T, ModelError> {
    tokio::time::timeout(limit, future).await.map_err(|_| {
        ModelError::new(ModelErrorKind::Timeout, format!("waited {} s for {what}", limit.as_secs_f64()))
    })
}

pub(super) fn network(error: &reqwest::Error) -> ModelError {
    let kind = if error.is_timeout() { ModelErrorKind::Timeout } else { ModelErrorKind::Network };
    ModelError::new(kind, causes(error))
}

/// The error with its reasons, which the outermost text leaves out.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(cause) = inner {
        text = format!("{text}: {cause}");
        inner = cause.source();
    }
    text
}
