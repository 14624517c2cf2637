//! An answer on its way to a client: bounded, and cancelled when the client is gone.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use holon_model::Cancel;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{Notify, mpsc};

use crate::veil::{Keys, Veil};

/// The end where an answer is put in.
pub(crate) struct Inlet {
    queue: mpsc::UnboundedSender<Bytes>,
    pending: Arc<Pending>,
    veil: Veil,
}

#[derive(Default)]
struct Pending {
    bytes: AtomicUsize,
    most: usize,
    taken: Notify,
}

/// The end where the client takes it out; dropping it stops the exchange.
pub(crate) struct Outflow {
    content: Content,
    _hold: Option<StopOnDrop>,
}

enum Content {
    Whole(Option<Bytes>),
    Pieces(mpsc::UnboundedReceiver<Bytes>, Arc<Pending>),
}

/// Stops an exchange when the connection lets go of it.
pub(crate) struct StopOnDrop(pub(crate) Cancel);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The client is gone, or does not read.
#[derive(Debug)]
pub(crate) struct Gone;

/// Both ends; no more than about `most` bytes wait between them.
pub(crate) fn pair(most: usize, keys: &Keys, hold: StopOnDrop) -> (Inlet, Outflow) {
    let (queue, pieces) = mpsc::unbounded_channel();
    let pending = Arc::new(Pending { most, ..Pending::default() });
    let inlet = Inlet { queue, pending: Arc::clone(&pending), veil: keys.veil() };
    (inlet, Outflow { content: Content::Pieces(pieces, pending), _hold: Some(hold) })
}

impl Inlet {
    /// Puts a piece in; fails when the client is gone.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), Gone> {
        let clean = self.veil.push(piece);
        self.send(clean)
    }

    /// Puts in what was held back.
    pub(crate) fn finish(&mut self) -> Result<(), Gone> {
        let rest = self.veil.finish();
        self.send(rest)
    }

    fn send(&self, bytes: Vec<u8>) -> Result<(), Gone> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.pending.bytes.fetch_add(bytes.len(), Ordering::SeqCst);
        self.queue.send(bytes.into()).map_err(|_| Gone)
    }

    /// Tells how far the client is behind, while something else holds this.
    pub(crate) fn gauge(&self) -> Gauge {
        Gauge { queue: self.queue.clone(), pending: Arc::clone(&self.pending) }
    }

    /// Waits until the client has caught up; fails when it is gone.
    pub(crate) async fn room(&self) -> Result<(), Gone> {
        self.gauge().room().await
    }
}

/// Waits until a client has caught up.
type Room = Pin<Box<dyn Future<Output = Result<(), Gone>> + Send>>;

/// How far a client is behind.
#[derive(Clone)]
pub(crate) struct Gauge {
    queue: mpsc::UnboundedSender<Bytes>,
    pending: Arc<Pending>,
}

impl Gauge {
    fn is_full(&self) -> bool {
        self.pending.bytes.load(Ordering::SeqCst) > self.pending.most
    }

    async fn room(self) -> Result<(), Gone> {
        loop {
            let taken = self.pending.taken.notified();
            if self.queue.is_closed() {
                return Err(Gone);
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
        let mut waiting: Option<Room> = None;
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

impl Drop for Content {
    fn drop(&mut self) {
        if let Self::Pieces(pieces, pending) = self {
            pieces.close();
            pending.taken.notify_one();
        }
    }
}

impl Outflow {
    /// An answer that is there as a whole.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { content: Content::Whole(Some(bytes.into())), _hold: None }
    }
}

impl Body for Outflow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.content {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Pieces(pieces, pending) => pieces.poll_recv(context).map(|piece| {
                let piece = piece?;
                pending.bytes.fetch_sub(piece.len(), Ordering::SeqCst);
                pending.taken.notify_one();
                Some(Ok(Frame::data(piece)))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Content::Pieces(..) => SizeHint::default(),
        }
    }
}
