//! Whoever answers requests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::cancel::ModelCancel;
use crate::error::{ModelError, ModelErrorKind};
use crate::reply::{ModelReply, ReplyDelta};
use crate::request::ModelRequest;

/// A reply on its way.
pub type PendingReply<'a> = Pin<Box<dyn Future<Output = Result<ModelReply, ModelError>> + Send + 'a>>;

/// Answers requests: a network endpoint, a cassette, or a wrapper around another provider.
pub trait Provider: Send + Sync {
    /// What it is called in messages and manifests.
    fn name(&self) -> &str;

    /// Sends a request; pieces go to the sink as they come, the whole reply is given at the end.
    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a>;
}

/// Receives the pieces of a reply; closures that take a [`ReplyDelta`] are sinks.
pub trait DeltaSink: Send {
    /// Takes a piece.
    fn delta(&mut self, delta: ReplyDelta);

    /// Learns that the request is sent again after a pause.
    fn waiting(&mut self, _pause: Duration, _why: &ModelError) {}
}

impl<F: FnMut(ReplyDelta) + Send> DeltaSink for F {
    fn delta(&mut self, delta: ReplyDelta) {
        self(delta);
    }
}

impl<P: Provider + ?Sized> Provider for Box<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a> {
        (**self).stream(request, sink, cancel)
    }
}

impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a> {
        (**self).stream(request, sink, cancel)
    }
}

/// A provider for threads that are not asynchronous; keeps one runtime, so connections are reused.
#[derive(Debug)]
pub struct BlockingProvider<P> {
    provider: P,
    runtime: tokio::runtime::Runtime,
}

impl<P: Provider> BlockingProvider<P> {
    /// Wraps a provider.
    pub fn new(provider: P) -> Result<Self, ModelError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
                ModelError::new(
                    ModelErrorKind::Network,
                    format!("cannot prepare for network traffic: {error}"),
                )
            })?;
        Ok(Self { provider, runtime })
    }

    /// Sends a request and waits for the reply; refused inside an asynchronous task, which it would block.
    pub fn stream(
        &self,
        request: &ModelRequest,
        sink: &mut dyn DeltaSink,
        cancel: &ModelCancel,
    ) -> Result<ModelReply, ModelError> {
        if tokio::runtime::Handle::try_current().is_ok() {
            let message = "a blocking request was made inside an asynchronous task";
            return Err(ModelError::new(ModelErrorKind::BadRequest, message));
        }
        self.runtime.block_on(self.provider.stream(request, sink, cancel))
    }
}
