//! A flag that stops requests from anywhere.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::sync::Notify;

use crate::error::ModelError;

/// Stops every request it was given to, at once and for good; clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct ModelCancel(Arc<CancelFlag>);

#[derive(Debug, Default)]
struct CancelFlag {
    set: AtomicBool,
    told: Notify,
}

impl ModelCancel {
    /// Stops what runs and what would start.
    pub fn cancel(&self) {
        self.0.set.store(true, Ordering::SeqCst);
        self.0.told.notify_waiters();
    }

    /// Whether it was stopped.
    pub fn is_cancelled(&self) -> bool {
        self.0.set.load(Ordering::SeqCst)
    }

    /// Runs a future unless stopped before it is done.
    pub async fn race<T>(&self, future: impl Future<Output = T>) -> Result<T, ModelError> {
        let mut told = pin!(self.0.told.notified());
        // From here on no notification is missed.
        told.as_mut().enable();
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            if self.is_cancelled() || told.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(ModelError::cancelled()));
            }
            future.as_mut().poll(context).map(Ok)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ModelErrorKind;

    #[tokio::test]
    async fn a_waiting_future_is_stopped_and_a_done_one_is_not() {
        let cancel = ModelCancel::default();
        assert_eq!(cancel.race(async { 7 }).await.ok(), Some(7));
        let other = cancel.clone();
        let stopped = cancel.race(async move {
            other.cancel();
            std::future::pending::<()>().await;
        });
        assert_eq!(stopped.await.map_err(|e| e.kind), Err(ModelErrorKind::Cancelled));
        assert_eq!(cancel.race(async { 7 }).await.map_err(|e| e.kind), Err(ModelErrorKind::Cancelled));
    }
}
