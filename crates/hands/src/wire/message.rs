//! What is said over the channel. Bytes and long texts travel in a frame's body, never as JSON.

use serde::{Deserialize, Serialize};

use crate::{ExecutorError, ToolRequest, ToolResponse};

/// Both sides must speak the same.
pub(crate) const VERSION: u32 = 1;

/// From the host to the hands.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExecutorOrder {
    /// Carry this out; the body is what [`lighten`] took out of it.
    Do { id: u64, deed: ToolRequest, watched: bool },
    /// Nobody waits for this any longer.
    Stop { id: u64 },
}

/// From the hands to the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExecutorReport {
    /// The first word.
    Ready { version: u32 },
    /// The body is a piece of output.
    Piece { id: u64 },
    /// It is done; the body is what [`FramePayload::lighten`] took out of it.
    Done { id: u64, done: ToolResponse },
    /// It could not be done.
    Failed { id: u64, error: ExecutorError },
}

/// Something whose weight travels in the body.
pub(crate) trait FramePayload {
    /// Takes the weight out.
    fn lighten(&mut self) -> Vec<u8>;
    /// Puts it back; `false` if it does not fit.
    fn restore(&mut self, body: Vec<u8>) -> bool;
}

impl FramePayload for ToolRequest {
    fn lighten(&mut self) -> Vec<u8> {
        match self {
            ToolRequest::Store { bytes, .. } | ToolRequest::Feed { bytes, .. } => std::mem::take(bytes),
            ToolRequest::Run(run) | ToolRequest::Start(run) => std::mem::take(&mut run.line).into_bytes(),
            _ => Vec::new(),
        }
    }

    fn restore(&mut self, body: Vec<u8>) -> bool {
        match self {
            ToolRequest::Store { bytes, .. } | ToolRequest::Feed { bytes, .. } => *bytes = body,
            ToolRequest::Run(run) | ToolRequest::Start(run) => return put(&mut run.line, body),
            _ => return body.is_empty(),
        }
        true
    }
}

impl FramePayload for ToolResponse {
    fn lighten(&mut self) -> Vec<u8> {
        match self {
            ToolResponse::Bytes(file) => std::mem::take(&mut file.bytes),
            ToolResponse::Heard(bytes) => std::mem::take(bytes),
            ToolResponse::Text(file) => std::mem::take(&mut file.text).into_bytes(),
            ToolResponse::Ran(ran) => std::mem::take(&mut ran.output).into_bytes(),
            ToolResponse::Look(look) => std::mem::take(&mut look.output).into_bytes(),
            ToolResponse::Nothing
            | ToolResponse::Stored(_)
            | ToolResponse::Listing(_)
            | ToolResponse::Found(_)
            | ToolResponse::Started(_) => Vec::new(),
        }
    }

    fn restore(&mut self, body: Vec<u8>) -> bool {
        match self {
            ToolResponse::Bytes(file) => file.bytes = body,
            ToolResponse::Heard(bytes) => *bytes = body,
            ToolResponse::Text(file) => return put(&mut file.text, body),
            ToolResponse::Ran(ran) => return put(&mut ran.output, body),
            ToolResponse::Look(look) => return put(&mut look.output, body),
            ToolResponse::Nothing
            | ToolResponse::Stored(_)
            | ToolResponse::Listing(_)
            | ToolResponse::Found(_)
            | ToolResponse::Started(_) => {
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
pub(crate) struct ExpectedResponse {
    kind: ResponseKind,
    /// Most bytes or entries an honest answer has.
    most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseKind {
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

impl ExpectedResponse {
    pub(crate) fn of(deed: &ToolRequest) -> Self {
        let (kind, most) = match deed {
            ToolRequest::Read { max_bytes, .. } => (ResponseKind::Text, *max_bytes),
            ToolRequest::Load { max_bytes, .. } => (ResponseKind::Bytes, *max_bytes),
            ToolRequest::Store { .. } => (ResponseKind::Stored, 0),
            ToolRequest::Remove { .. } | ToolRequest::Rename { .. } | ToolRequest::Feed { .. } => {
                (ResponseKind::Nothing, 0)
            }
            ToolRequest::List { limit, .. } | ToolRequest::Glob { limit, .. } => {
                (ResponseKind::Listing, *limit)
            }
            ToolRequest::Grep(search) => {
                let around = 1 + 2 * u64::from(search.context);
                (ResponseKind::Found, search.limit.saturating_mul(around))
            }
            ToolRequest::Run(run) => (ResponseKind::Ran, run.max_bytes.saturating_add(NOTE)),
            ToolRequest::Start(_) | ToolRequest::Open(_) => (ResponseKind::Started, 0),
            ToolRequest::Look { max_bytes, .. } => (ResponseKind::Look, max_bytes.saturating_add(NOTE)),
            ToolRequest::End { .. } => (ResponseKind::Look, 1 << 20),
            ToolRequest::Hear { max_bytes, .. } => (ResponseKind::Heard, (*max_bytes).max(1)),
        };
        Self { kind, most }
    }

    /// Whether this could be an honest answer.
    pub(crate) fn fits(self, done: &ToolResponse) -> bool {
        let (kind, size) = match done {
            ToolResponse::Nothing => (ResponseKind::Nothing, 0),
            ToolResponse::Text(file) => (ResponseKind::Text, file.text.len()),
            ToolResponse::Bytes(file) => (ResponseKind::Bytes, file.bytes.len()),
            ToolResponse::Stored(_) => (ResponseKind::Stored, 0),
            ToolResponse::Listing(listing) => (ResponseKind::Listing, listing.entries.len()),
            ToolResponse::Found(found) => (ResponseKind::Found, found.hits.len()),
            ToolResponse::Ran(ran) => (ResponseKind::Ran, ran.output.len()),
            ToolResponse::Started(_) => (ResponseKind::Started, 0),
            ToolResponse::Look(look) => (ResponseKind::Look, look.output.len()),
            ToolResponse::Heard(bytes) => (ResponseKind::Heard, bytes.len()),
        };
        kind == self.kind && size as u64 <= self.most
    }
}
