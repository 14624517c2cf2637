//! Fetches OpenRouter's list of models.

use std::time::Duration;

use super::connection::{client, network, read_body, refused, within};
use crate::HttpTimeouts;
use crate::catalogue::{CatalogueFetch, FetchedCatalogue};
use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelErrorKind};

/// The list is larger than any other answer, but not by much.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// The list below a base URL. It is public: no key is sent for it.
#[derive(Debug, Clone)]
pub struct HttpCatalogue {
    endpoint: Endpoint,
    timeouts: HttpTimeouts,
}

impl HttpCatalogue {
    /// The list of a server, such as `https://openrouter.ai/api/v1`.
    pub fn new(base: &str) -> Self {
        // A command that a person waits for must not wait as long as a model may think.
        let seconds = Duration::from_secs;
        let timeouts = HttpTimeouts { connect: seconds(4), head: seconds(10), idle: seconds(10) };
        Self { endpoint: Endpoint::compatible("openrouter", base, None), timeouts }
    }

    async fn get(&self, etag: Option<&str>) -> Result<FetchedCatalogue, ModelError> {
        let mut call = client(&self.endpoint, self.timeouts)?.get(self.source());
        if let Some(value) = etag.and_then(|etag| reqwest::header::HeaderValue::from_str(etag).ok()) {
            call = call.header("if-none-match", value);
        }
        let answer = within(self.timeouts.head, "the answer to begin", call.send()).await?;
        let mut answer = answer.map_err(|error| network(&error))?;
        let status = answer.status();
        if status == reqwest::StatusCode::NOT_MODIFIED {
            return Ok(FetchedCatalogue::Unchanged);
        }
        if !status.is_success() {
            return Err(refused(answer, self.timeouts.idle).await);
        }
        let etag = answer.headers().get("etag").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = read_body(&mut answer, MOST_BYTES, self.timeouts.idle).await?;
        Ok(FetchedCatalogue::List { body, etag })
    }
}

impl CatalogueFetch for HttpCatalogue {
    fn source(&self) -> String {
        format!("{}/models", self.endpoint.base)
    }

    fn fetch(&self, etag: Option<&str>) -> Result<FetchedCatalogue, ModelError> {
        // On a thread of its own, because whoever asks may be an asynchronous task.
        let fetched =
            std::thread::scope(|scope| scope.spawn(|| super::runtime()?.block_on(self.get(etag))).join());
        fetched.unwrap_or_else(|_| Err(ModelError::new(ModelErrorKind::Network, "the request was cut off")))
    }
}
