//! Watches an encrypted connection for a second first message.
//!
//! A server may ask a client to begin again, and the message that follows could name another server. It is still readable, so it
//! is judged as the first one was, and nothing of it goes out before. Once anything else is said the watching is over: from then
//! on everything is encrypted.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::opening::judge_hello;
use super::prefixed::ClientStream;
use crate::permit::HostTarget;
use crate::record::RefusalReason;
use crate::tls::{ClientHello, HANDSHAKE, HelloProgress};

const CHANGE_CIPHER: u8 = 20;
const CLIENT_HELLO: u8 = 1;
/// An encrypted record is not shorter; a piece of a readable message may be.
const SHORTEST_ENCRYPTED: usize = 16;

/// A connection from inside whose second first message is judged.
pub(crate) struct WatchedClient<S> {
    client: S,
    watch: HelloWatch,
}

/// What is known of what a client said.
pub(crate) struct HelloWatch {
    target: HostTarget,
    /// What came and is not judged.
    held: Vec<u8>,
    /// What may go on.
    fine: Vec<u8>,
    /// The first of the messages has still to pass.
    first: bool,
    over: bool,
}

/// Why a second message does not pass, as an error of the connection.
#[derive(Debug, thiserror::Error)]
#[error("a second first message is not for the same server")]
pub(crate) struct SecondHelloRefused(pub(crate) RefusalReason);

impl HelloWatch {
    pub(crate) fn new(target: HostTarget) -> Self {
        Self { target, held: Vec::new(), fine: Vec::new(), first: true, over: false }
    }

    /// Takes what came and lets through what is judged.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), RefusalReason> {
        self.held.extend_from_slice(bytes);
        while !self.over && self.judge_record()? {}
        if self.over {
            self.fine.append(&mut self.held);
        }
        Ok(())
    }

    /// Judges the record that stands first; false when more of it has to come.
    fn judge_record(&mut self) -> Result<bool, RefusalReason> {
        let [kind, _, _, high, low, rest @ ..] = self.held.as_slice() else { return Ok(false) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if *kind == HANDSHAKE {
            // A piece so short says nothing yet.
            let Some(begin) = rest.get(..length.min(4)) else { return Ok(false) };
            let readable = length < SHORTEST_ENCRYPTED
                || (begin.first() == Some(&CLIENT_HELLO) && begin.get(1) == Some(&0));
            if !readable {
                self.over = true;
                return Ok(true);
            }
            return self.judge_message();
        }
        if *kind != CHANGE_CIPHER {
            self.over = true;
            return Ok(true);
        }
        if rest.len() < length {
            return Ok(false);
        }
        self.release(5 + length);
        Ok(true)
    }

    fn judge_message(&mut self) -> Result<bool, RefusalReason> {
        // The message ends with a record, and the next one may already stand behind it.
        let Some(end) = message_end(&self.held) else {
            return match ClientHello::read(&self.held) {
                HelloProgress::Malformed(what) => Err(RefusalReason::Malformed { what: what.to_owned() }),
                _ => Ok(false),
            };
        };
        match ClientHello::read(self.held.get(..end).unwrap_or_default()) {
            HelloProgress::Whole(hello) => judge_hello(&hello, &self.target, false)?,
            HelloProgress::Incomplete => return Ok(false),
            HelloProgress::Malformed(what) => return Err(RefusalReason::Malformed { what: what.to_owned() }),
        }
        self.release(end);
        // There is no third.
        self.over = !self.first;
        self.first = false;
        Ok(true)
    }

    fn release(&mut self, count: usize) {
        self.fine.extend(self.held.drain(..count.min(self.held.len())));
    }
}

/// Where the records end that make up the message at the beginning.
fn message_end(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut have) = (0, Vec::new());
    loop {
        let length = usize::from(u16::from_be_bytes([*bytes.get(at + 3)?, *bytes.get(at + 4)?]));
        let part = bytes.get(at + 5..at + 5 + length)?;
        if *bytes.get(at)? != HANDSHAKE || length == 0 {
            return None;
        }
        have.extend_from_slice(part);
        at += 5 + length;
        let message =
            have.get(1..4).map(|three| three.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)));
        if message.is_some_and(|length| have.len() >= 4 + length) {
            return Some(at);
        }
    }
}

impl<S: ClientStream> WatchedClient<S> {
    pub(crate) fn new(client: S, target: HostTarget) -> Self {
        Self { client, watch: HelloWatch::new(target) }
    }
}

impl<S: ClientStream> AsyncRead for WatchedClient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if !this.watch.fine.is_empty() {
                let count = this.watch.fine.len().min(buffer.remaining());
                buffer.put_slice(this.watch.fine.get(..count).unwrap_or_default());
                this.watch.fine.drain(..count);
                return Poll::Ready(Ok(()));
            }
            if this.watch.over {
                return Pin::new(&mut this.client).poll_read(context, buffer);
            }
            let mut bytes = [0; 4096];
            let mut piece = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.client).poll_read(context, &mut piece))?;
            if piece.filled().is_empty() {
                // What is held back at the end was no whole message, and goes nowhere.
                return Poll::Ready(Ok(()));
            }
            this.watch.push(piece.filled()).map_err(|reason| io::Error::other(SecondHelloRefused(reason)))?;
        }
    }
}

impl<S: ClientStream> AsyncWrite for WatchedClient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.client).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    fn list(body: &[u8]) -> Vec<u8> {
        [&u16::try_from(body.len()).unwrap().to_be_bytes()[..], body].concat()
    }

    fn record(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind, 3, 3][..], &list(body)].concat()
    }

    fn hello(name: &str, record_size: usize) -> Vec<u8> {
        let entry = list(&[&[0][..], &list(name.as_bytes())].concat());
        let extensions = [&[0, 0][..], &list(&entry)].concat();
        let body = [&[3, 3][..], &[7; 32], &[0], &list(&[0x13, 1]), &[1, 0], &list(&extensions)].concat();
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[CLIENT_HELLO][..], &length[1..], &body].concat();
        message.chunks(record_size).flat_map(|part| record(HANDSHAKE, part)).collect()
    }

    /// What passes, and whether something was refused.
    fn passed(said: &[u8], piece: usize) -> (Vec<u8>, bool) {
        let mut watch = HelloWatch::new(HostTarget::parse("a.test:443", None).unwrap());
        let refused = said.chunks(piece).any(|piece| watch.push(piece).is_err());
        (watch.fine, refused)
    }

    #[test]
    fn a_second_message_for_another_server_does_not_pass() {
        let change = record(CHANGE_CIPHER, &[1]);
        for size in [1, 3, 10, 4000] {
            for between in [&[][..], &change] {
                let front = [&hello("a.test", 4000)[..], between].concat();
                let said = [&front[..], &hello("b.test", size)].concat();
                for piece in [1, 7, 5000] {
                    let (fine, refused) = passed(&said, piece);
                    assert!(refused && fine == front[..fine.len()], "{size} {piece}");
                }
            }
        }
    }

    #[test]
    fn what_is_usual_passes_as_it_is() {
        let change = record(CHANGE_CIPHER, &[1]);
        let data = record(23, &[1; 40]);
        let exchange = record(HANDSHAKE, &[16; 70]);
        let finished = record(HANDSHAKE, &[0x5a; 40]);
        for rest in [
            [&change[..], &data].concat(),
            [&exchange[..], &change, &finished, &data].concat(),
            [&change[..], &finished, &data].concat(),
            [&change[..], &hello("a.test", 4000), &data].concat(),
            [&hello("a.test", 50)[..], &change, &data].concat(),
            record(21, &[2, 40]),
        ] {
            let said = [&hello("a.test", 4000)[..], &rest].concat();
            for piece in [1, 7, 5000] {
                assert_eq!(passed(&said, piece), (said.clone(), false), "{piece}");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_passes_as_it_is_or_not_at_all(rest in prop::collection::vec(any::<u8>(), 0..200), piece in 1_usize..50) {
            let said = [&hello("a.test", 4000)[..], &rest].concat();
            let (fine, _) = passed(&said, piece);
            prop_assert_eq!(&fine[..], &said[..fine.len()]);
        }
    }
}
