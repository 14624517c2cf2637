//! What is said over the channel. Bytes and long texts travel in a frame's body, never as JSON.

use serde::{Deserialize, Serialize};

use crate::{Deed, Done, HandsError};

/// Both sides must speak the same.
pub(crate) const VERSION: u32 = 1;

/// From the host to the hands.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Carry this out; the body is what [`lighten`] took out of it.
    Do { id: u64, deed: Deed, watched: bool },
    /// Nobody waits for this any longer.
    Stop { id: u64 },
}

/// From the hands to the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The first word.
    Ready { version: u32 },
    /// The body is a piece of output.
    Piece { id: u64 },
    /// It is done; the body is what [`Load::lighten`] took out of it.
    Done { id: u64, done: Done },
    /// It could not be done.
    Failed { id: u64, error: HandsError },
}

/// Something whose weight travels in the body.
pub(crate) trait Load {
    /// Takes the weight out.
    fn lighten(&mut self) -> Vec<u8>;
    /// Puts it back; `false` if it does not fit.
    fn restore(&mut self, body: Vec<u8>) -> bool;
}

impl Load for Deed {
    fn lighten(&mut self) -> Vec<u8> {
        match self {
            Deed::Store { bytes, .. } | Deed::Feed { bytes, .. } => std::mem::take(bytes),
            Deed::Run(run) | Deed::Start(run) => std::mem::take(&mut run.line).into_bytes(),
            _ => Vec::new(),
        }
    }

    fn restore(&mut self, body: Vec<u8>) -> bool {
        match self {
            Deed::Store { bytes, .. } | Deed::Feed { bytes, .. } => *bytes = body,
            Deed::Run(run) | Deed::Start(run) => return put(&mut run.line, body),
            _ => return body.is_empty(),
        }
        true
    }
}

impl Load for Done {
    fn lighten(&mut self) -> Vec<u8> {
        match self {
            Done::Bytes(file) => std::mem::take(&mut file.bytes),
            Done::Heard(bytes) => std::mem::take(bytes),
            Done::Text(file) => std::mem::take(&mut file.text).into_bytes(),
            Done::Ran(ran) => std::mem::take(&mut ran.output).into_bytes(),
            Done::Look(look) => std::mem::take(&mut look.output).into_bytes(),
            Done::Nothing | Done::Stored(_) | Done::Listing(_) | Done::Found(_) | Done::Started(_) => {
                Vec::new()
            }
        }
    }

    fn restore(&mut self, body: Vec<u8>) -> bool {
        match self {
            Done::Bytes(file) => file.bytes = body,
            Done::Heard(bytes) => *bytes = body,
            Done::Text(file) => return put(&mut file.text, body),
            Done::Ran(ran) => return put(&mut ran.output, body),
            Done::Look(look) => return put(&mut look.output, body),
            Done::Nothing | Done::Stored(_) | Done::Listing(_) | Done::Found(_) | Done::Started(_) => {
                return body.is_empty();
            }
        }
        true
    }
}

fn put(text: &mut String, body: Vec<u8>) -> bool {
    String::from_utf8(body).map(|body| *text = body).is_ok()
}

/// What was asked for, as far as an answer can be held against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    kind: Kind,
    /// Most bytes or entries an honest answer has.
    most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Text,
    Bytes,
    Stored,
    Listing,
    Found,
    Ran,
    Started,
    Look,
    Heard,
}

/// Room for the line between beginning and end of a long output.
const NOTE: u64 = 8 << 10;

impl Asked {
    pub(crate) fn of(deed: &Deed) -> Self {
        let (kind, most) = match deed {
            Deed::Read { max_bytes, .. } => (Kind::Text, *max_bytes),
            Deed::Load { max_bytes, .. } => (Kind::Bytes, *max_bytes),
            Deed::Store { .. } => (Kind::Stored, 0),
            Deed::Remove { .. } | Deed::Rename { .. } | Deed::Feed { .. } => (Kind::Nothing, 0),
            Deed::List { limit, .. } | Deed::Glob { limit, .. } => (Kind::Listing, *limit),
            Deed::Grep(search) => {
                let around = 1 + 2 * u64::from(search.context);
                (Kind::Found, search.limit.saturating_mul(around))
            }
            Deed::Run(run) => (Kind::Ran, run.max_bytes.saturating_add(NOTE)),
            Deed::Start(_) | Deed::Open(_) => (Kind::Started, 0),
            Deed::Look { max_bytes, .. } => (Kind::Look, max_bytes.saturating_add(NOTE)),
            Deed::End { .. } => (Kind::Look, 1 << 20),
            Deed::Hear { max_bytes, .. } => (Kind::Heard, (*max_bytes).max(1)),
        };
        Self { kind, most }
    }

    /// Whether this could be an honest answer.
    pub(crate) fn fits(self, done: &Done) -> bool {
        let (kind, size) = match done {
            Done::Nothing => (Kind::Nothing, 0),
            Done::Text(file) => (Kind::Text, file.text.len()),
            Done::Bytes(file) => (Kind::Bytes, file.bytes.len()),
            Done::Stored(_) => (Kind::Stored, 0),
            Done::Listing(listing) => (Kind::Listing, listing.entries.len()),
            Done::Found(found) => (Kind::Found, found.hits.len()),
            Done::Ran(ran) => (Kind::Ran, ran.output.len()),
            Done::Started(_) => (Kind::Started, 0),
            Done::Look(look) => (Kind::Look, look.output.len()),
            Done::Heard(bytes) => (Kind::Heard, bytes.len()),
        };
        kind == self.kind && size as u64 <= self.most
    }
}
