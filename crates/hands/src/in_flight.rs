//! A deed under way: a promise on the side that does it, a future on the side that waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::stop::StopSignal;
use crate::{ExecutorError, ExecutorErrorKind, OutputWatch, ToolResponse};

/// Most bytes of output that wait for a watcher who does not come.
const MOST_WAITING: usize = 1 << 20;

#[derive(Default)]
struct RequestSlot {
    pieces: String,
    result: Option<Result<ToolResponse, ExecutorError>>,
    waker: Option<Waker>,
}

/// The result of a deed, to be given by whoever does it. Dropped without one, the deed is told to be lost.
pub(crate) struct RequestPromise {
    slot: Arc<Mutex<RequestSlot>>,
    stop: Arc<StopSignal>,
    kept: bool,
}

/// Gives pieces of output to the watcher.
pub(crate) struct OutputForwarder(Arc<Mutex<RequestSlot>>);

impl OutputForwarder {
    pub(crate) fn piece(&self, text: &str) {
        let mut slot = lock(&self.0);
        if slot.pieces.len() + text.len() <= MOST_WAITING {
            slot.pieces.push_str(text);
            wake(slot);
        }
    }
}

impl RequestPromise {
    /// For pieces of output.
    pub(crate) fn output_forwarder(&self) -> OutputForwarder {
        OutputForwarder(Arc::clone(&self.slot))
    }

    /// The result.
    pub(crate) fn keep(mut self, result: Result<ToolResponse, ExecutorError>) {
        self.settle(result);
    }

    /// Tells when nobody waits any longer.
    pub(crate) fn stop(&self) -> &Arc<StopSignal> {
        &self.stop
    }

    fn settle(&mut self, result: Result<ToolResponse, ExecutorError>) {
        self.kept = true;
        let mut slot = lock(&self.slot);
        slot.result = Some(result);
        wake(slot);
    }
}

impl Drop for RequestPromise {
    fn drop(&mut self) {
        if !self.kept {
            self.settle(Err(ExecutorError::new(
                ExecutorErrorKind::Gone,
                "the hands ended before this was done",
            )));
        }
    }
}

/// Begins a deed when its future is first polled.
pub(crate) type RequestStarter<'a> = Box<dyn FnOnce(RequestPromise) + Send + 'a>;

/// What waits for a deed.
pub(crate) struct RequestWaiter<'a> {
    begin: Option<RequestStarter<'a>>,
    /// What to do when nobody waits any longer, beside asking it to stop.
    abandon: Option<Box<dyn FnOnce() + Send + 'a>>,
    slot: Arc<Mutex<RequestSlot>>,
    stop: Arc<StopSignal>,
    watch: Option<OutputWatch<'a>>,
}

impl<'a> RequestWaiter<'a> {
    pub(crate) fn new(watch: Option<OutputWatch<'a>>, begin: RequestStarter<'a>) -> Self {
        let (slot, stop) = (Arc::default(), Arc::default());
        Self { begin: Some(begin), abandon: None, slot, stop, watch }
    }

    pub(crate) fn on_abandon(mut self, abandon: impl FnOnce() + Send + 'a) -> Self {
        self.abandon = Some(Box::new(abandon));
        self
    }
}

impl Future for RequestWaiter<'_> {
    type Output = Result<ToolResponse, ExecutorError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(begin) = self.begin.take() {
            let (slot, stop) = (Arc::clone(&self.slot), Arc::clone(&self.stop));
            begin(RequestPromise { slot, stop, kept: false });
        }
        let (pieces, result) = {
            let mut slot = lock(&self.slot);
            slot.waker = Some(context.waker().clone());
            (std::mem::take(&mut slot.pieces), slot.result.take())
        };
        if let (Some(watch), false) = (&mut self.watch, pieces.is_empty()) {
            watch(&pieces);
        }
        match result {
            Some(result) => {
                self.abandon = None;
                Poll::Ready(result)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for RequestWaiter<'_> {
    fn drop(&mut self) {
        self.stop.ask();
        // Never begun: nobody knows of it.
        if let (None, Some(abandon)) = (&self.begin, self.abandon.take()) {
            abandon();
        }
    }
}

fn lock(slot: &Mutex<RequestSlot>) -> MutexGuard<'_, RequestSlot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes outside of the lock: a waker may poll at once.
fn wake(mut slot: MutexGuard<'_, RequestSlot>) {
    let waker = slot.waker.take();
    drop(slot);
    if let Some(waker) = waker {
        waker.wake();
    }
}
