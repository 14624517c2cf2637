//! Tells a reply in a client's wire while it arrives.
//!
//! Words and thoughts are passed on at once. From the first call on everything is held back until the reply is whole:
//! a call's id is known only then, and no agent acts on half a call. Meanwhile the client gets signs of life.

use holon_model::{
    MessagePart, ModelError, ModelErrorKind, ModelReply, Reasoning, ReplyDelta, Seal, ToolCall,
};

/// How many bytes of arguments are held back between two signs of life.
const SIGN_OF_LIFE: usize = 1024;

/// What can be told piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Words,
    Thoughts,
}

/// The frames of one wire; everything is appended to `out`.
pub(super) trait WireFrames: Send {
    /// The beginning of the stream.
    fn begin(&mut self, out: &mut String);
    /// A block begins.
    fn open(&mut self, kind: PieceKind, out: &mut String);
    /// The open block grows.
    fn grow(&mut self, kind: PieceKind, text: &str, out: &mut String);
    /// The open block ends; `whole` is all of it.
    fn close(&mut self, kind: PieceKind, whole: &str, seal: Option<&Seal>, out: &mut String);
    /// The seal of a thought that was closed already, or had no words.
    fn carry(&mut self, text: &str, seal: &Seal, out: &mut String);
    /// A whole call.
    fn call(&mut self, call: &ToolCall, out: &mut String);
    /// Something a client ignores.
    fn sign_of_life(&mut self, out: &mut String);
    /// The end of the stream.
    fn end(&mut self, reply: &ModelReply, out: &mut String);
    /// The end of a stream that failed.
    fn fail(&mut self, error: &ModelError, out: &mut String);
}

/// Turns pieces of a reply into frames.
pub(crate) struct ReplyStreamEncoder {
    frames: Box<dyn WireFrames>,
    begun: bool,
    /// What was told of the reply so far; the last block is open.
    said: Vec<(PieceKind, String)>,
    open: bool,
    holding: bool,
    held: usize,
    /// The reply began anew after words that cannot be taken back.
    spoilt: bool,
}

impl ReplyStreamEncoder {
    pub(super) fn new(frames: Box<dyn WireFrames>) -> Self {
        Self { frames, begun: false, said: Vec::new(), open: false, holding: false, held: 0, spoilt: false }
    }

    /// Tells a piece.
    pub(crate) fn delta(&mut self, delta: &ReplyDelta) -> String {
        let mut out = String::new();
        self.begin(&mut out);
        match delta {
            ReplyDelta::Text(text) => self.piece(PieceKind::Words, text, &mut out),
            ReplyDelta::Reasoning(text) => self.piece(PieceKind::Thoughts, text, &mut out),
            ReplyDelta::CallStarted { .. } => self.holding = true,
            ReplyDelta::CallArguments { text, .. } => self.hold(text.len(), &mut out),
            ReplyDelta::Restart => self.restart(&mut out),
        }
        out
    }

    /// Tells the rest of the reply and its end.
    pub(crate) fn end(&mut self, reply: &ModelReply) -> String {
        if self.spoilt {
            let why = "the provider began its answer again after words had been passed on";
            return self.fail(&ModelError::new(ModelErrorKind::Cut, why));
        }
        let mut out = String::new();
        self.begin(&mut out);
        let mut late = Vec::new();
        let rest = self.catch_up(&reply.parts, &mut late, &mut out);
        for part in reply.parts.get(rest..).unwrap_or_default() {
            self.part(part, &mut out);
        }
        for thought in late {
            if let Some(seal) = &thought.seal {
                self.frames.carry(&thought.text, seal, &mut out);
            }
        }
        self.frames.end(reply, &mut out);
        out
    }

    /// Tells that there is no more, and why.
    pub(crate) fn fail(&mut self, error: &ModelError) -> String {
        let mut out = String::new();
        self.begin(&mut out);
        self.close_open(None, &mut out);
        self.frames.fail(error, &mut out);
        out
    }

    fn begin(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.begun, true) {
            self.frames.begin(out);
        }
    }

    fn piece(&mut self, kind: PieceKind, text: &str, out: &mut String) {
        if self.holding || self.spoilt {
            return self.hold(text.len(), out);
        }
        if text.is_empty() {
            return;
        }
        if !(self.open && self.said.last().is_some_and(|(last, _)| *last == kind)) {
            self.close_open(None, out);
            self.frames.open(kind, out);
            self.said.push((kind, String::new()));
            self.open = true;
        }
        if let Some((_, said)) = self.said.last_mut() {
            said.push_str(text);
        }
        self.frames.grow(kind, text, out);
    }

    fn hold(&mut self, bytes: usize, out: &mut String) {
        self.held += bytes;
        if self.held >= SIGN_OF_LIFE {
            self.held = 0;
            self.frames.sign_of_life(out);
        }
    }

    /// Thoughts may be thought again; words cannot be unsaid.
    fn restart(&mut self, out: &mut String) {
        self.spoilt |= self.said.iter().any(|(kind, _)| *kind == PieceKind::Words);
        self.close_open(None, out);
        self.said.clear();
        self.holding = false;
    }

    fn close_open(&mut self, seal: Option<&Seal>, out: &mut String) {
        if std::mem::replace(&mut self.open, false)
            && let Some((kind, whole)) = self.said.last()
        {
            self.frames.close(*kind, whole, seal, out);
        }
    }

    /// Compares what was told with the parts, tells what is missing of the open block, and gives the number of parts
    /// that are told. Thoughts that were closed before their seal came are collected.
    fn catch_up<'a>(
        &mut self,
        parts: &'a [MessagePart],
        late: &mut Vec<&'a Reasoning>,
        out: &mut String,
    ) -> usize {
        let mut next = 0;
        let mut open_seal = None;
        let blocks = self.said.len();
        for block in 0..blocks {
            let last = block + 1 == blocks && self.open;
            let (kind, said) = self.said[block].clone();
            let mut left = said.as_str();
            while let Some(part) = parts.get(next) {
                let (told, thought) = match (kind, part) {
                    (_, MessagePart::Reasoning(thought)) if thought.text.is_empty() => {
                        late.push(thought);
                        next += 1;
                        continue;
                    }
                    (PieceKind::Words, MessagePart::Text(text)) => (text.as_str(), None),
                    (PieceKind::Thoughts, MessagePart::Reasoning(thought)) => {
                        (thought.text.as_str(), Some(thought))
                    }
                    _ => break,
                };
                if left.is_empty() && !told.is_empty() {
                    break;
                }
                next += 1;
                if let Some(rest) = left.strip_prefix(told) {
                    left = rest;
                } else {
                    if last && let Some(missing) = told.strip_prefix(left) {
                        self.frames.grow(kind, missing, out);
                        self.said[block].1.push_str(missing);
                    }
                    left = "";
                }
                if last && left.is_empty() {
                    open_seal = thought.and_then(|thought| thought.seal.as_ref());
                } else {
                    late.extend(thought);
                }
            }
        }
        self.close_open(open_seal, out);
        next
    }

    fn part(&mut self, part: &MessagePart, out: &mut String) {
        let mut block = |kind, text: &str, seal: Option<&Seal>| {
            self.frames.open(kind, out);
            self.frames.grow(kind, text, out);
            self.frames.close(kind, text, seal, out);
        };
        match part {
            MessagePart::Text(text) if text.is_empty() => {}
            MessagePart::Text(text) => block(PieceKind::Words, text, None),
            MessagePart::Reasoning(Reasoning { text, seal }) if text.is_empty() => {
                if let Some(seal) = seal {
                    self.frames.carry(text, seal, out);
                }
            }
            MessagePart::Reasoning(thought) => {
                block(PieceKind::Thoughts, &thought.text, thought.seal.as_ref())
            }
            MessagePart::Call(call) => self.frames.call(call, out),
            MessagePart::Result(_) => {}
        }
    }
}
