//! Whoever answers requests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::cancel::Cancel;
use crate::error::{ErrorKind, ModelError};
use crate::reply::{Delta, Reply};
use crate::request::Request;

/// A reply on its way.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;

/// Answers requests: a network endpoint, a cassette, or a wrapper around another provider.
pub trait Provider: Send + Sync {
    /// What it is called in messages and manifests.
    fn name(&self) -> &str;

    /// Sends a request; pieces go to the sink as they come, the whole reply is given at the end.
    fn stream<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink, cancel: &'a Cancel) -> Answer<'a>;
}

/// Receives the pieces of a reply; closures that take a [`Delta`] are sinks.
pub trait Sink: Send {
    /// Takes a piece.
    fn delta(&mut self, delta: Delta);

    /// Learns that the request is sent again after a pause.
    fn waiting(&mut self, _pause: Duration, _why: &ModelError) {}
}

impl<F: FnMut(Delta) + Send> Sink for F {
    fn delta(&mut self, delta: Delta) {
        self(delta);
    }
}

impl<P: Provider + ?Sized> Provider for Box<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink, cancel: &'a Cancel) -> Answer<'a> {
        (**self).stream(request, sink, cancel)
    }
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink, cancel: &'a Cancel) -> Answer<'a> {
        (**self).stream(request, sink, cancel)
    }
}

/// A provider for threads that are not asynchronous; keeps one runtime, so connections are reused.
#[derive(Debug)]
pub struct Blocking<P> {
    provider: P,
    runtime: tokio::runtime::Runtime,
}

impl<P: Provider> Blocking<P> {
    /// Wraps a provider.
    pub fn new(provider: P) -> Result<Self, ModelError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
                ModelError::new(ErrorKind::Network, format!("cannot prepare for network traffic: {error}"))
            })?;
        Ok(Self { provider, runtime })
    }

    /// Sends a request and waits for the reply; refused inside an asynchronous task, which it would block.
    pub fn stream(
        &self,
        request: &Request,
        sink: &mut dyn Sink,
        cancel: &Cancel,
    ) -> Result<Reply, ModelError> {
        if tokio::runtime::Handle::try_current().is_ok() {
            let message = "a blocking request was made inside an asynchronous task";
            return Err(ModelError::new(ErrorKind::BadRequest, message));
        }
        self.runtime.block_on(self.provider.stream(request, sink, cancel))
    }
}
