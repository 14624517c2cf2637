//! Connections on which nothing moves: they are closed, so that nobody holds a place by doing nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Silence after which a connection is given up; streams say something far more often.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// So many times that, and the server has not said a word: whoever sends a byte now and then is given up, too.
const WORDLESS: u32 = 4;

/// A listener whose connections must move.
pub(crate) struct IdleGuardListener<L> {
    pub(crate) listener: L,
    pub(crate) patience: Duration,
}

impl<L: Listener> Listener for IdleGuardListener<L> {
    type Io = IdleGuardStream<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (io, address) = self.listener.accept().await;
        (IdleGuardStream::new(io, self.patience), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that ends when neither side has moved a byte for so long.
pub(crate) struct IdleGuardStream<T> {
    io: T,
    patience: Duration,
    moved: Instant,
    /// When the server last said something.
    said: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl<T> IdleGuardStream<T> {
    fn new(io: T, patience: Duration) -> Self {
        let moved = Instant::now();
        Self { io, patience, moved, said: moved, alarm: Box::pin(sleep_until(moved + patience)) }
    }

    /// What was tried comes to nothing now: it is tried again later, or never when nothing moved for too long.
    fn wait<O>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<O>> {
        loop {
            ready!(self.alarm.as_mut().poll(context));
            // Set anew only when it rings: bytes move far more often.
            let until = self.moved + self.patience;
            if until <= Instant::now() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.alarm.as_mut().reset(until);
        }
    }

    fn watch<O>(&mut self, context: &mut Context<'_>, tried: Poll<io::Result<O>>) -> Poll<io::Result<O>> {
        match tried {
            Poll::Pending => self.wait(context),
            Poll::Ready(done) => {
                self.moved = Instant::now();
                Poll::Ready(done)
            }
        }
    }

    fn watch_words<O>(
        &mut self,
        context: &mut Context<'_>,
        tried: Poll<io::Result<O>>,
    ) -> Poll<io::Result<O>> {
        if tried.is_ready() {
            self.said = Instant::now();
        }
        self.watch(context, tried)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for IdleGuardStream<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.said + this.patience * WORDLESS <= Instant::now() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let tried = Pin::new(&mut this.io).poll_read(context, buffer);
        this.watch(context, tried)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for IdleGuardStream<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.io).poll_write(context, bytes);
        this.watch_words(context, tried)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.io).poll_write_vectored(context, parts);
        this.watch_words(context, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::future::poll_fn;

    use tokio::net::UnixStream;

    use super::*;

    async fn read(from: &mut IdleGuardStream<UnixStream>) -> io::Result<usize> {
        let mut room = [0; 16];
        let mut buffer = ReadBuf::new(&mut room);
        poll_fn(|context| Pin::new(&mut *from).poll_read(context, &mut buffer)).await?;
        Ok(buffer.filled().len())
    }

    async fn write(to: &mut IdleGuardStream<UnixStream>, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|context| Pin::new(&mut *to).poll_write(context, bytes)).await
    }

    #[tokio::test]
    async fn whoever_says_nothing_is_not_waited_for() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut silent = IdleGuardStream::new(here, Duration::ZERO);
        assert_eq!(read(&mut silent).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(there);
    }

    #[tokio::test]
    async fn whoever_does_not_read_is_not_waited_for() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut full = IdleGuardStream::new(here, Duration::ZERO);
        let stuck = loop {
            match write(&mut full, &[0; 4096]).await {
                Ok(_) => {}
                Err(e) => break e,
            }
        };
        assert_eq!(stuck.kind(), io::ErrorKind::TimedOut);
        drop(there);
    }

    #[tokio::test]
    async fn whoever_sends_a_byte_now_and_then_is_not_waited_for_either() {
        let (here, there) = UnixStream::pair().unwrap();
        let mut here = IdleGuardStream::new(here, Duration::from_millis(5));
        let mut there = IdleGuardStream::new(there, PATIENCE);
        let given_up = loop {
            write(&mut there, b"x").await.unwrap();
            match read(&mut here).await {
                Ok(_) => {}
                Err(e) => break e,
            }
        };
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn whoever_moves_is_left_alone() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut here, mut there) =
            (IdleGuardStream::new(here, PATIENCE), IdleGuardStream::new(there, PATIENCE));
        for _ in 0..3 {
            assert_eq!(write(&mut there, b"word").await.unwrap(), 4);
            assert_eq!(read(&mut here).await.unwrap(), 4);
        }
        drop(there);
        assert_eq!(read(&mut here).await.unwrap(), 0, "an end is an end");
    }
}
