//! Counts what goes to one host and comes from it, and ends what exceeds its bound.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::permit::TargetHost;

/// What all connections to one host have used up together.
#[derive(Debug, Default)]
pub(crate) struct HostMeter {
    sent: AtomicU64,
    received: AtomicU64,
}

/// The meters of all hosts.
#[derive(Debug, Default)]
pub(crate) struct HostMeters(Mutex<HashMap<TargetHost, Arc<HostMeter>>>);

impl HostMeters {
    pub(crate) fn of(&self, host: &TargetHost) -> Arc<HostMeter> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(host.clone()).or_default())
    }
}

/// What may still pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeterBounds {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// One connection's part.
#[derive(Debug)]
pub(crate) struct ConnectionMeter {
    host: Arc<HostMeter>,
    bounds: MeterBounds,
    begun: Instant,
    sent: AtomicU64,
    received: AtomicU64,
    /// Milliseconds after the beginning when something last passed.
    last: AtomicU64,
}

impl ConnectionMeter {
    pub(crate) fn new(host: Arc<HostMeter>, bounds: MeterBounds) -> Arc<Self> {
        let (sent, received, last) = Default::default();
        Arc::new(Self { host, bounds, begun: Instant::now(), sent, received, last })
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// What is used up.
    pub(crate) fn spent(&self) -> Option<&'static str> {
        if self.host.sent.load(Ordering::Relaxed) >= self.bounds.sent {
            return Some("the bytes that may be sent there are used up");
        }
        let received = self.host.received.load(Ordering::Relaxed) >= self.bounds.received;
        received.then_some("the bytes that may come from there are used up")
    }

    /// Ends once nothing has passed for so long.
    pub(crate) async fn idle(&self, limit: Duration) {
        loop {
            let last = self.begun + Duration::from_millis(self.last.load(Ordering::Relaxed));
            if last.elapsed() >= limit {
                return;
            }
            tokio::time::sleep_until(last + limit).await;
        }
    }

    fn add(&self, own: &AtomicU64, all: &AtomicU64, count: usize) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        own.fetch_add(count, Ordering::Relaxed);
        all.fetch_add(count, Ordering::Relaxed);
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    fn check(&self) -> io::Result<()> {
        self.spent().map_or(Ok(()), |what| Err(io::Error::other(what)))
    }
}

/// A connection to a host that is counted.
#[derive(Debug)]
pub(crate) struct Metered<S> {
    stream: S,
    meter: Arc<ConnectionMeter>,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, meter: Arc<ConnectionMeter>) -> Self {
        Self { stream, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.meter.check()?;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let count = buffer.filled().len().saturating_sub(before);
        if count > 0 {
            self.meter.add(&self.meter.received, &self.meter.host.received, count);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.meter.check()?;
        let left = self.meter.bounds.sent.saturating_sub(self.meter.host.sent.load(Ordering::Relaxed));
        let part = bytes.get(..usize::try_from(left).unwrap_or(usize::MAX)).unwrap_or(bytes);
        let polled = Pin::new(&mut self.stream).poll_write(context, part);
        if let Poll::Ready(Ok(count)) = &polled {
            self.meter.add(&self.meter.sent, &self.meter.host.sent, *count);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
