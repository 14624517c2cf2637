//! An answer on its way to a client: bounded, and cancelled when the client is gone.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use holon_model::ModelCancel;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{Notify, mpsc};

use crate::key_redactor::{HiddenKeys, KeyRedactor};

/// The end where an answer is put in.
pub(crate) struct ResponseInlet {
    queue: mpsc::UnboundedSender<Bytes>,
    pending: Arc<PendingBytes>,
    veil: KeyRedactor,
}

#[derive(Default)]
struct PendingBytes {
    bytes: AtomicUsize,
    most: usize,
    taken: Notify,
}

/// The end where the client takes it out; dropping it stops the exchange.
pub(crate) struct ResponseOutflow {
    content: OutflowContent,
    _hold: Option<StopOnDrop>,
}

enum OutflowContent {
    Whole(Option<Bytes>),
    Pieces(mpsc::UnboundedReceiver<Bytes>, Arc<PendingBytes>),
}

/// Stops an exchange when the connection lets go of it.
pub(crate) struct StopOnDrop(pub(crate) ModelCancel);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The client is gone, or does not read.
#[derive(Debug)]
pub(crate) struct ClientGone;

/// Both ends; no more than about `most` bytes wait between them.
pub(crate) fn pair(most: usize, keys: &HiddenKeys, hold: StopOnDrop) -> (ResponseInlet, ResponseOutflow) {
    let (queue, pieces) = mpsc::unbounded_channel();
    let pending = Arc::new(PendingBytes { most, ..PendingBytes::default() });
    let inlet = ResponseInlet { queue, pending: Arc::clone(&pending), veil: keys.redactor() };
    (inlet, ResponseOutflow { content: OutflowContent::Pieces(pieces, pending), _hold: Some(hold) })
}

impl ResponseInlet {
    /// Puts a piece in; fails when the client is gone.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), ClientGone> {
        let clean = self.veil.push(piece);
        self.send(clean)
    }

    /// Puts in what was held back.
    pub(crate) fn finish(&mut self) -> Result<(), ClientGone> {
        let rest = self.veil.finish();
        self.send(rest)
    }

    fn send(&self, bytes: Vec<u8>) -> Result<(), ClientGone> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.pending.bytes.fetch_add(bytes.len(), Ordering::SeqCst);
        self.queue.send(bytes.into()).map_err(|_| ClientGone)
    }

    /// Tells how far the client is behind, while something else holds this.
    pub(crate) fn gauge(&self) -> BackpressureGauge {
        BackpressureGauge { queue: self.queue.clone(), pending: Arc::clone(&self.pending) }
    }

    /// Waits until the client has caught up; fails when it is gone.
    pub(crate) async fn room(&self) -> Result<(), ClientGone> {
        self.gauge().room().await
    }
}

/// Waits until a client has caught up.
type BackpressureWait = Pin<Box<dyn Future<Output = Result<(), ClientGone>> + Send>>;

/// How far a client is behind.
#[derive(Clone)]
pub(crate) struct BackpressureGauge {
    queue: mpsc::UnboundedSender<Bytes>,
    pending: Arc<PendingBytes>,
}

impl BackpressureGauge {
    fn is_full(&self) -> bool {
        self.pending.bytes.load(Ordering::SeqCst) > self.pending.most
    }

    async fn room(self) -> Result<(), ClientGone> {
        loop {
            let taken = self.pending.taken.notified();
            if self.queue.is_closed() {
                return Err(ClientGone);
            }
            if !self.is_full() {
                return Ok(());
            }
            taken.await;
        }
    }

    /// Drives a future that puts pieces in, only while the client keeps up; one that is gone stops nothing here.
    pub(crate) async fn paced<T>(self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut waiting: Option<BackpressureWait> = None;
        poll_fn(|context| {
            loop {
                if let Some(room) = &mut waiting {
                    let _ = ready!(room.as_mut().poll(context));
                    waiting = None;
                } else if self.is_full() && !self.queue.is_closed() {
                    waiting = Some(Box::pin(self.clone().room()));
                    continue;
                }
                return future.as_mut().poll(context);
            }
        })
        .await
    }
}

impl Drop for OutflowContent {
    fn drop(&mut self) {
        if let Self::Pieces(pieces, pending) = self {
            pieces.close();
            pending.taken.notify_one();
        }
    }
}

impl ResponseOutflow {
    /// An answer that is there as a whole.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { content: OutflowContent::Whole(Some(bytes.into())), _hold: None }
    }
}

impl Body for ResponseOutflow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            OutflowContent::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            OutflowContent::Pieces(pieces, pending) => pieces.poll_recv(context).map(|piece| {
                let piece = piece?;
                pending.bytes.fetch_sub(piece.len(), Ordering::SeqCst);
                pending.taken.notify_one();
                Some(Ok(Frame::data(piece)))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, OutflowContent::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            OutflowContent::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            OutflowContent::Pieces(..) => SizeHint::default(),
        }
    }
}
