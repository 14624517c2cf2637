//! Redaction of bytes that arrive in chunks.

use super::shapes::{SHAPES, SecretBlock, SecretShape};
use super::{CandidateMatch, Redactor};

/// The longest armoured block that is swallowed.
const MAX_BLOCK: usize = 64 * 1024;

/// Redacts a stream; the result does not depend on how the stream was cut.
#[derive(Debug)]
pub struct RedactStream {
    redactor: Redactor,
    /// What has arrived and is not decided yet.
    held: Vec<u8>,
    /// The byte before `held`, to tell the middle of a word.
    before: Option<u8>,
    /// How much of the beginning of `held` already belongs to something redacted.
    covered: usize,
    /// Inside an armoured block: which one, and how many bytes it has had.
    block: Option<(&'static SecretBlock, usize)>,
}

impl RedactStream {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, held: Vec::new(), before: None, covered: 0, block: None }
    }

    /// Takes a chunk and appends what is certain to `out`.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(chunk);
        self.advance(false, out);
    }

    /// Ends the stream and appends what was held back.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.flush(out);
    }

    /// Treats everything so far as ended, as after a line or a message; later bytes start afresh.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.advance(true, out);
        self.before = None;
        self.block = None;
        self.covered = 0;
    }

    fn advance(&mut self, ended: bool, out: &mut Vec<u8>) {
        while !self.held.is_empty() {
            let more = match self.block {
                Some((block, had)) => self.in_block(block, had, ended),
                None => self.in_text(ended, out),
            };
            if !more {
                return;
            }
        }
    }

    /// Drops what belongs to the block; true when text follows.
    fn in_block(&mut self, block: &'static SecretBlock, had: usize, ended: bool) -> bool {
        let room = MAX_BLOCK.saturating_sub(had).min(self.held.len());
        let full = had + room >= MAX_BLOCK;
        let (length, over) = block.rest(&self.held[..room], ended || full);
        self.drop_front(length);
        self.block = (!over).then_some((block, had + length));
        over
    }

    /// Passes on text and replaces what must go; true when a block began.
    fn in_text(&mut self, ended: bool, out: &mut Vec<u8>) -> bool {
        let table = std::sync::Arc::clone(&self.redactor.table);
        let length = self.held.len();
        if table.starts.is_none() {
            out.extend_from_slice(b"[redacted:all]");
            self.drop_front(length);
            return false;
        }
        let settled = if ended { length } else { length - table.unfinished(&self.held) };
        let mut stop = settled;
        let mut done = self.covered.min(length);
        for (start, pattern) in table.candidates(&self.held) {
            if start >= stop {
                break;
            }
            let before = start.checked_sub(1).map_or(self.before, |i| Some(self.held[i]));
            let (end, id, block) = match table.look(&self.held, start, pattern, before, ended) {
                CandidateMatch::Nothing => continue,
                CandidateMatch::Undecided => {
                    stop = start;
                    break;
                }
                CandidateMatch::Until(end, id) => (end, id, false),
                CandidateMatch::Block(end, id) => (end, id, true),
            };
            if start >= done {
                out.extend_from_slice(&self.held[done..start]);
                out.extend_from_slice(format!("[redacted:{id}]").as_bytes());
            }
            done = done.max(end);
            if block && let Some(found) = block_named(id) {
                self.drop_front(end);
                self.covered = 0;
                self.block = Some((found, 0));
                return true;
            }
        }
        if stop > done {
            out.extend_from_slice(&self.held[done..stop]);
            done = stop;
        }
        self.drop_front(stop);
        self.covered = done - stop;
        false
    }

    fn drop_front(&mut self, length: usize) {
        if let Some(last) = length.checked_sub(1) {
            self.before = self.held.get(last).copied();
            self.held.drain(..length);
        }
    }
}

fn block_named(id: &str) -> Option<&'static SecretBlock> {
    SHAPES.iter().find_map(|shape| match shape {
        SecretShape::Block(block) if block.id == id => Some(block),
        _ => None,
    })
}
