//! Bodies on their way: bounded, looked through, and taken the digest of while they pass.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use sha2::{Digest as _, Sha256};

use crate::credential::ScrubbedStream;

/// What ends a body early.
pub(crate) type BodyError = Box<dyn Error + Send + Sync>;

/// Told the digest and the length of a body that came in as a whole.
pub(crate) type WhenArrived = Box<dyn FnOnce(String, u64) + Send>;

/// A body in either direction; what trails behind one never passes.
pub(crate) struct CarriedBody {
    source: BodySource,
    /// Bytes that may still pass.
    left: u64,
    scrub: Option<ScrubbedStream>,
    arrival: Option<(Sha256, u64, WhenArrived)>,
}

enum BodySource {
    Whole(Option<Bytes>),
    Incoming(Incoming),
    Over,
}

impl CarriedBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        let source = BodySource::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()));
        Self { source, left: u64::MAX, scrub: None, arrival: None }
    }

    pub(crate) fn empty() -> Self {
        Self::whole(Bytes::new())
    }

    /// At most so many bytes of what comes.
    pub(crate) fn incoming(body: Incoming, most: u64) -> Self {
        Self { source: BodySource::Incoming(body), left: most, scrub: None, arrival: None }
    }

    /// Covers secrets in it.
    pub(crate) fn scrubbed(mut self, scrub: ScrubbedStream) -> Self {
        self.scrub = Some(scrub);
        self
    }

    /// Tells its digest once all of it has passed.
    pub(crate) fn counted(mut self, when: WhenArrived) -> Self {
        self.arrival = Some((Sha256::new(), 0, when));
        self
    }

    fn pass(&mut self, data: Bytes) -> Result<Bytes, BodyError> {
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(length).ok_or("the body is larger than may pass")?;
        if let Some((digest, count, _)) = &mut self.arrival {
            digest.update(&data);
            *count += length;
        }
        Ok(match &mut self.scrub {
            Some(scrub) => scrub.push(&data).into(),
            None => data,
        })
    }

    fn end(&mut self) -> Option<Bytes> {
        self.source = BodySource::Over;
        if let Some((digest, count, when)) = self.arrival.take() {
            let hex = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            when(hex, count);
        }
        let rest = self.scrub.take()?.finish();
        Some(Bytes::from(rest)).filter(|rest| !rest.is_empty())
    }
}

impl Body for CarriedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        loop {
            let polled = match &mut this.source {
                BodySource::Over => return Poll::Ready(None),
                BodySource::Whole(bytes) => {
                    let bytes = bytes.take();
                    return Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))));
                }
                BodySource::Incoming(body) => Pin::new(body).poll_frame(context),
            };
            let frame = match polled {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(this.end().map(|rest| Ok(Frame::data(rest)))),
                Poll::Ready(Some(Err(error))) => {
                    this.source = BodySource::Over;
                    return Poll::Ready(Some(Err(error.into())));
                }
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            match this.pass(data) {
                Ok(data) => {
                    // Whoever reads a body of a known length does not ask once more for its end.
                    let over = matches!(&this.source, BodySource::Incoming(body) if body.is_end_stream());
                    let rest = if over { this.end() } else { None };
                    let data = rest.map_or(data.clone(), |rest| [data, rest].concat().into());
                    if !data.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(data))));
                    }
                }
                Err(error) => {
                    this.source = BodySource::Over;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            BodySource::Over => true,
            BodySource::Whole(bytes) => bytes.is_none(),
            // The end itself has to be seen where something is done at it.
            BodySource::Incoming(body) => {
                body.is_end_stream() && self.scrub.is_none() && self.arrival.is_none()
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            BodySource::Over => SizeHint::with_exact(0),
            BodySource::Whole(bytes) => SizeHint::with_exact(
                bytes.as_ref().map_or(0, |bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            ),
            // Bytes that are held back still come, but no hint says when.
            BodySource::Incoming(_) if self.scrub.is_some() => SizeHint::default(),
            BodySource::Incoming(body) => body.size_hint(),
        }
    }
}
