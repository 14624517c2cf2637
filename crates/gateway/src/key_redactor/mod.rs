//! Keeps a key out of what is passed to a client, however it is written and however the bytes are cut.
//!
//! An answer is looked at line by line, which is what clients act on. In a line of JSON each string is looked at as the next
//! piece of what its path said before ([`trail`]), so a key does not pass in the pieces of a stream either; the line as it is
//! written is looked at, too. Only the key itself is covered, or so long a piece of it that it can be nothing else ([`needle`]),
//! also where it is written in escapes, percent signs, entities, hex or base64 ([`view`]): an answer of a model may well hold
//! text that looks like somebody's key, and changing that would damage the agent's work.

mod line;
mod needle;
mod spot;
mod trail;
mod view;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use line::VeiledLine;
use needle::Needle;
use trail::Trails;

/// Shorter values would cover ordinary text.
const SHORTEST: usize = 8;
/// What stands where a key was.
const COVER: &str = "[key]";
/// So many bytes may wait for what comes next; more is passed on, without the key's first characters being taken back.
const MOST_HELD: usize = 64 * 1024;

/// A line that is longer is passed on before its end is there, as bytes; an answer without any line end would fill the memory.
const LONGEST_LINE: usize = 1 << 20;

/// The values that must not pass; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct HiddenKeys(Arc<Vec<Needle>>);

impl HiddenKeys {
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let values = values.into_iter().map(str::trim).filter(|value| value.len() >= SHORTEST);
        Self(Arc::new(values.map(Needle::new).collect()))
    }

    pub(crate) fn redactor(&self) -> KeyRedactor {
        let trails = Trails::new(Arc::clone(&self.0));
        let open = OpenLine::default();
        KeyRedactor { keys: self.clone(), open, held: VecDeque::new(), size: 0, first: 0, trails }
    }

    /// Covers bytes that are there as a whole.
    pub(crate) fn cover(&self, bytes: &[u8]) -> Vec<u8> {
        let mut veil = self.redactor();
        let mut out = veil.push(bytes);
        out.extend(veil.finish());
        out
    }
}

/// A part of a string that is taken out; where a key began, a cover stands instead.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextCut {
    range: Range<usize>,
    covered: bool,
}

/// The line that is not over.
#[derive(Default)]
struct OpenLine {
    bytes: Vec<u8>,
    /// Whether its beginning is passed on.
    begun: bool,
}

/// Covers keys in a stream; holds back a line that is not over, and those whose end may be the beginning of a key.
pub(crate) struct KeyRedactor {
    keys: HiddenKeys,
    open: OpenLine,
    held: VecDeque<VeiledLine>,
    /// Bytes in `held`.
    size: usize,
    /// The number of the first line in `held`.
    first: u64,
    trails: Trails,
}

impl KeyRedactor {
    /// Takes a piece and gives what is certain.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.keys.0.is_empty() {
            return piece.to_vec();
        }
        let mut out = Vec::with_capacity(piece.len());
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
        for part in piece.split_inclusive(ends) {
            self.open.bytes.extend_from_slice(part);
            if part.last().is_some_and(ends) {
                self.close_line(&mut out);
            } else if self.open.begun || self.open.bytes.len() > LONGEST_LINE {
                self.pass_beginning(&mut out);
            }
        }
        out
    }

    /// Gives what was held back.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.open.bytes.is_empty() {
            self.close_line(&mut out);
        }
        self.release(u64::MAX, &mut out);
        out
    }

    /// Passes on what is certain of a line that is too long to wait for its end.
    fn pass_beginning(&mut self, out: &mut Vec<u8>) {
        self.release(u64::MAX, out);
        self.open.begun = true;
        let (clean, rest) = spot::cover_beginning(&self.keys.0, &self.open.bytes);
        self.open.bytes.drain(..rest);
        out.extend(clean);
    }

    fn close_line(&mut self, out: &mut Vec<u8>) {
        let OpenLine { bytes, begun } = std::mem::take(&mut self.open);
        if begun {
            out.extend(spot::cover(&self.keys.0, bytes));
            return;
        }
        let line = VeiledLine::read(bytes);
        let number = self.first + self.held.len() as u64;
        self.size += line.size();
        self.held.push_back(line);
        let strings = self.held.back().map(VeiledLine::strings).unwrap_or_default();
        for cut in self.trails.follow(number, self.first, &strings) {
            let held =
                cut.line.checked_sub(self.first).and_then(|at| self.held.get_mut(usize::try_from(at).ok()?));
            if let Some(line) = held {
                line.cut(cut.string, cut.cut);
            }
        }
        let until = self.trails.waits_from().filter(|_| self.size <= MOST_HELD).unwrap_or(u64::MAX);
        self.release(until, out);
    }

    /// Passes on what stands before a line, and covers what a line says by itself.
    fn release(&mut self, until: u64, out: &mut Vec<u8>) {
        while self.first < until
            && let Some(line) = self.held.pop_front()
        {
            self.first += 1;
            self.size = self.size.saturating_sub(line.size());
            out.extend(spot::cover(&self.keys.0, line.written()));
        }
    }
}

#[cfg(test)]
mod tests;
