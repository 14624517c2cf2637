//! Native calls as long as the server takes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::provider::TextTools;
use crate::cancel::ModelCancel;
use crate::classify;
use crate::provider::{DeltaSink, PendingReply, Provider};
use crate::request::ModelRequest;

/// Offers tools natively; a server that turns out to refuse them is asked in words from then on.
#[derive(Debug)]
pub struct NativeTools<P> {
    inner: Arc<P>,
    words: TextTools<Arc<P>>,
    refused: AtomicBool,
}

impl<P: Provider> NativeTools<P> {
    /// Wraps a provider.
    pub fn new(inner: P) -> Self {
        let inner = Arc::new(inner);
        Self { words: TextTools::new(Arc::clone(&inner), false), inner, refused: AtomicBool::new(false) }
    }
}

impl<P: Provider> Provider for NativeTools<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a> {
        Box::pin(async move {
            if self.refused.load(Ordering::Relaxed) {
                return self.words.stream(request, sink, cancel).await;
            }
            let answer = self.inner.stream(request, sink, cancel).await;
            let no_tools = !request.tools.is_empty() && answer.as_ref().is_err_and(classify::refuses_tools);
            if !no_tools {
                return answer;
            }
            let answer = self.words.stream(request, sink, cancel).await;
            self.refused.fetch_or(answer.is_ok(), Ordering::Relaxed);
            answer
        })
    }
}
