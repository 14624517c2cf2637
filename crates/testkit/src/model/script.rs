//! What a scripted server does with a request.

use std::time::Duration;

use holon_model::cassette::{CassetteStep, CassetteTurn};
use holon_model::{ModelError, ModelErrorKind, WireFormat};

use super::frames;

/// One entry of a script.
#[derive(Debug, Clone, Default)]
pub struct ScriptedResponse {
    pub(super) content: ResponseContent,
    pub(super) split: StreamSplit,
    pub(super) headers: Vec<(String, String)>,
    pub(super) before_head: Duration,
    pub(super) comments: bool,
    pub(super) abrupt: bool,
}

#[derive(Debug, Clone)]
pub(super) enum ResponseContent {
    Turn(Box<CassetteTurn>),
    Raw { status: u16, kind: String, pieces: Vec<BodyPiece> },
}

impl Default for ResponseContent {
    fn default() -> Self {
        Self::Turn(Box::default())
    }
}

/// A part of an answer's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyPiece {
    /// Bytes, sent at once.
    Bytes(Vec<u8>),
    /// Nothing, for this long.
    Pause(Duration),
    /// Nothing more until the client goes away (or ten seconds have passed).
    Hang,
}

/// How the bytes of a stream are cut into packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StreamSplit {
    /// One packet per event.
    #[default]
    Events,
    /// Packets of this many bytes.
    Every(usize),
    /// One packet for everything.
    Whole,
}

impl From<CassetteTurn> for ScriptedResponse {
    fn from(turn: CassetteTurn) -> Self {
        Self { content: ResponseContent::Turn(Box::new(turn)), ..Self::default() }
    }
}

impl ScriptedResponse {
    /// An answer with a status and a JSON body.
    pub fn json(status: u16, body: impl Into<String>) -> Self {
        Self::raw(status, "application/json", vec![BodyPiece::Bytes(body.into().into_bytes())])
    }

    /// A stream with exactly these pieces.
    pub fn stream(pieces: impl IntoIterator<Item = BodyPiece>) -> Self {
        Self::raw(200, "text/event-stream", pieces.into_iter().collect())
    }

    /// An answer with a status, a content type and a body in pieces.
    pub fn raw(status: u16, kind: &str, pieces: Vec<BodyPiece>) -> Self {
        Self { content: ResponseContent::Raw { status, kind: kind.to_owned(), pieces }, ..Self::default() }
    }

    /// Cuts the body this way.
    #[must_use]
    pub fn split(mut self, split: StreamSplit) -> Self {
        self.split = split;
        self
    }

    /// Gives a turn without an id this one: some clients take replies without one for parts of the same.
    #[must_use]
    pub fn named(mut self, id: impl Into<String>) -> Self {
        if let ResponseContent::Turn(turn) = &mut self.content {
            turn.id.get_or_insert_with(|| id.into());
        }
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits before the answer begins.
    #[must_use]
    pub fn slow_head(mut self, pause: Duration) -> Self {
        self.before_head = pause;
        self
    }

    /// Puts comments between the events.
    #[must_use]
    pub fn with_comments(mut self) -> Self {
        self.comments = true;
        self
    }

    /// Closes the connection in the middle of the body instead of ending it.
    #[must_use]
    pub fn abrupt(mut self) -> Self {
        self.abrupt = true;
        self
    }

    /// Status, content type, headers and pieces of the answer.
    pub(super) fn answer(&self, wire: WireFormat, number: usize) -> PreparedResponse {
        let (status, kind, mut headers, pieces) = match &self.content {
            ResponseContent::Raw { status, kind, pieces } => {
                (*status, kind.clone(), Vec::new(), pieces.clone())
            }
            ResponseContent::Turn(turn) => turn_answer(wire, turn, number),
        };
        headers.extend(self.headers.iter().cloned());
        let pieces = if self.comments { commented(pieces) } else { pieces };
        PreparedResponse { status, kind, headers, pieces: cut(pieces, self.split), abrupt: self.abrupt }
    }
}

pub(super) struct PreparedResponse {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) pieces: Vec<BodyPiece>,
    pub(super) abrupt: bool,
}

type ResponseParts = (u16, String, Vec<(String, String)>, Vec<BodyPiece>);

/// A turn that fails before it says anything is an HTTP error; everything else is a stream.
fn turn_answer(wire: WireFormat, turn: &CassetteTurn, number: usize) -> ResponseParts {
    let spoken = turn.steps.iter().find(|step| !matches!(step, CassetteStep::Delay(_)));
    if let Some(CassetteStep::Error(error)) = spoken {
        let mut headers = Vec::new();
        headers.extend(
            error.retry_after.map(|wait| ("retry-after-ms".to_owned(), wait.as_millis().to_string())),
        );
        headers.extend(error.request_id.clone().map(|id| ("request-id".to_owned(), id)));
        let body = frames::error_body(wire, error).to_string();
        let status = error.status.unwrap_or_else(|| status_of(error));
        return (status, "application/json".to_owned(), headers, vec![BodyPiece::Bytes(body.into_bytes())]);
    }
    (200, "text/event-stream".to_owned(), Vec::new(), frames::stream(wire, turn, number))
}

fn status_of(error: &ModelError) -> u16 {
    match error.kind {
        ModelErrorKind::Overloaded => 529,
        kind => kind.status(),
    }
}

fn commented(pieces: Vec<BodyPiece>) -> Vec<BodyPiece> {
    let comment = || BodyPiece::Bytes(b": OPENROUTER PROCESSING\n\n".to_vec());
    pieces.into_iter().flat_map(|piece| [comment(), piece]).collect()
}

/// Cuts runs of bytes; pauses stay where they are.
fn cut(pieces: Vec<BodyPiece>, split: StreamSplit) -> Vec<BodyPiece> {
    if split == StreamSplit::Events {
        return pieces;
    }
    let mut joined: Vec<BodyPiece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(BodyPiece::Bytes(all)), BodyPiece::Bytes(more)) => all.extend(more),
            (_, piece) => joined.push(piece),
        }
    }
    let StreamSplit::Every(size) = split else { return joined };
    joined
        .into_iter()
        .flat_map(|piece| match piece {
            BodyPiece::Bytes(bytes) => {
                bytes.chunks(size.max(1)).map(|chunk| BodyPiece::Bytes(chunk.to_vec())).collect::<Vec<_>>()
            }
            other => vec![other],
        })
        .collect()
}
