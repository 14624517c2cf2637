//! A connection of which some bytes were looked at and are read again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// A connection from inside.
pub(crate) trait ClientStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> ClientStream for S {}

/// Reads what was looked at first, then the connection.
#[derive(Debug)]
pub(crate) struct Prefixed<S> {
    ahead: Vec<u8>,
    taken: usize,
    stream: S,
}

impl<S: ClientStream> Prefixed<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { ahead: Vec::new(), taken: 0, stream }
    }

    /// What was looked at and not yet read.
    pub(crate) fn ahead(&self) -> &[u8] {
        self.ahead.get(self.taken..).unwrap_or_default()
    }

    /// Looks at more; false when there is no more.
    pub(crate) async fn look(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer).await?;
        self.ahead.extend_from_slice(buffer.get(..count).unwrap_or_default());
        Ok(count > 0)
    }

    /// Forgets the first bytes.
    pub(crate) fn skip(&mut self, count: usize) {
        self.taken = (self.taken + count).min(self.ahead.len());
    }
}

impl<S: ClientStream> AsyncRead for Prefixed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.ahead().len().min(buffer.remaining());
        if count > 0 {
            buffer.put_slice(self.ahead().get(..count).unwrap_or_default());
            self.taken += count;
            if self.ahead().is_empty() {
                self.ahead = Vec::new();
                self.taken = 0;
            }
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: ClientStream> AsyncWrite for Prefixed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
