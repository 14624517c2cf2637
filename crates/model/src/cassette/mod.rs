//! Conversations with a model as files: recorded or written by hand, and played back.
//!
//! A cassette is a YAML list of turns; each answers one request. By hand a turn is short:
//!
//! ```yaml
//! - text: Let me look.
//!   tool: read_file
//!   args: { path: src/lib.rs }
//! - expect: { last: "fn main", tools: [read_file] }     # about the request
//!   tools:
//!     - edit_file: { path: a.rs, old: x, new: y }
//!     - ls: {}
//! - error: rate_limit                                    # or { kind: overloaded, message: …, retry_after: 2s }
//! - text: half of an ans
//!   cut: true                                            # the stream ends here
//! - reply: [{ reasoning: hm }, { text: a }, { delay: 20ms }, { text: b }, { tool: ls, id: call_7 }]
//!   stop: max_tokens
//!   usage: { input: 10, output: 5 }
//! ```
//!
//! A recording has the same form with a `request` in each turn: the digest of the normalised request, and its text so that
//! a difference can be shown. Turns without a `request` match by their order alone.

mod difference;
mod normal;
mod outcome;
mod read;
mod record;
mod replay;
#[cfg(test)]
mod tests;
mod write;

pub use normal::{Normaliser, folded};
pub use read::CassetteError;
pub use record::RecordingProvider;
pub use replay::ReplayProvider;

use std::time::Duration;

use crate::error::ModelError;
use crate::message::Reasoning;
use crate::reply::ReplyStop;
use crate::usage::TokenUsage;

/// A conversation: what to answer to the first request, the second, and so on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cassette {
    /// The answers in order.
    pub turns: Vec<CassetteTurn>,
}

impl Cassette {
    /// The model that a recording was made with; its requests name it.
    pub fn model(&self) -> Option<&str> {
        let first =
            self.turns.iter().find_map(|turn| turn.asked.as_ref()).filter(|asked| asked.keeps == 0)?;
        first.text.lines().next()?.strip_prefix("model ")
    }

    /// The window of the model that a recording was made with.
    pub fn window(&self) -> Option<u64> {
        self.turns.first()?.window
    }
}

/// One answer, and what its request must look like.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CassetteTurn {
    /// What a hand-written turn demands of the request.
    pub expect: TurnExpectation,
    /// The recorded request.
    pub asked: Option<RecordedRequest>,
    /// What happens, in order.
    pub steps: Vec<CassetteStep>,
    /// Why the reply ends; follows from the steps when absent.
    pub stop: Option<ReplyStop>,
    /// Tokens, when told.
    pub usage: Option<TokenUsage>,
    /// The provider's id of the reply.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The model's window as the run knew it, in the first turn of a recording: the same decisions follow from it.
    pub window: Option<u64>,
}

/// A step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum CassetteStep {
    /// Words.
    Text(String),
    /// Thoughts.
    Reasoning(Reasoning),
    /// A tool call.
    Call(CassetteCall),
    /// Nothing, for this long.
    Delay(Duration),
    /// A failure; nothing follows.
    Error(ModelError),
    /// The stream ends without its end; nothing follows.
    Cut,
}

/// A tool call of a cassette; without an id it gets one from its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CassetteCall {
    /// Its id.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments as the model writes them.
    pub arguments: String,
    /// A custom tool of the Responses wire.
    pub custom: bool,
}

/// What a hand-written turn demands of the request; all of it must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnExpectation {
    /// Texts anywhere in the request.
    pub contains: Vec<String>,
    /// Texts in its last message, results included.
    pub last: Vec<String>,
    /// Texts nowhere in it.
    pub lacks: Vec<String>,
    /// The names of exactly the tools it offers, in any order.
    pub tools: Option<Vec<String>>,
    /// The model it is for.
    pub model: Option<String>,
}

/// A recorded request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Digest of the normalised request.
    pub digest: String,
    /// How many lines of the previous request's text this one begins with.
    pub keeps: usize,
    /// The lines after those.
    pub text: String,
}

impl RecordedRequest {
    /// The whole text, given that of the previous request.
    pub(crate) fn whole(&self, previous: &str) -> String {
        let kept: String = previous.split_inclusive('\n').take(self.keeps).collect();
        kept + &self.text
    }

    /// The record of a request's text after a previous one's.
    pub(crate) fn after(previous: &str, text: &str) -> Self {
        let same = previous.split_inclusive('\n').zip(text.split_inclusive('\n')).take_while(|(a, b)| a == b);
        let keeps = same.count();
        let rest = text.split_inclusive('\n').skip(keeps).collect();
        Self { digest: normal::digest(text), keeps, text: rest }
    }
}

impl CassetteTurn {
    /// A turn that says something and ends.
    pub fn text(text: impl Into<String>) -> Self {
        Self { steps: vec![CassetteStep::Text(text.into())], ..Self::default() }
    }

    /// A turn that fails.
    pub fn error(error: ModelError) -> Self {
        Self { steps: vec![CassetteStep::Error(error)], ..Self::default() }
    }
}
