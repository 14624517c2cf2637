//! Removes credentials from everything that is written: known values and well-known shapes.
//!
//! The stream form gives the same bytes however its input is cut into chunks, and holds back no more than what could
//! still become a match.

mod forms;
pub(crate) mod shapes;
mod stream;

pub use stream::RedactStream;

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use shapes::{SHAPES, SecretShape};

/// Values shorter than this are not registered: they would redact ordinary text.
pub const MIN_SECRET: usize = 8;

/// Knows what to remove; cheap to clone and share.
#[derive(Debug, Clone)]
pub struct Redactor {
    table: Arc<RedactionTable>,
}

#[derive(Debug)]
struct RedactionTable {
    /// Finds the start of everything below; without it nothing may pass.
    starts: Option<AhoCorasick>,
    /// By pattern number: the bytes, and what they start.
    patterns: Vec<(Vec<u8>, PatternStart)>,
    /// Numbers of the patterns that begin with each byte.
    by_first: Vec<Vec<usize>>,
    /// Length of the longest pattern.
    longest: usize,
}

#[derive(Debug, Clone)]
enum PatternStart {
    /// The bytes are the secret.
    Literal(Arc<str>),
    /// The bytes begin a shape.
    Shape(&'static SecretShape),
}

/// What a candidate turned out to be.
enum CandidateMatch<'a> {
    Nothing,
    /// More bytes are needed to tell.
    Undecided,
    /// It ends here.
    Until(usize, &'a str),
    /// An armoured block whose first line ends here.
    Block(usize, &'a str),
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new(std::iter::empty::<(&str, &[u8])>())
    }
}

impl Redactor {
    /// A redactor for well-known shapes and these values; each is replaced by `[redacted:ID]`.
    ///
    /// A value is also found base64-encoded, percent-encoded and JSON-escaped. Values under [`MIN_SECRET`] bytes are
    /// left alone.
    pub fn new<I, S, V>(secrets: I) -> Self
    where
        I: IntoIterator<Item = (S, V)>,
        S: AsRef<str>,
        V: AsRef<[u8]>,
    {
        let mut patterns: Vec<(Vec<u8>, PatternStart)> = Vec::new();
        for (id, value) in secrets {
            let id: Arc<str> = id.as_ref().into();
            for form in forms::of(value.as_ref().trim_ascii()) {
                patterns.push((form, PatternStart::Literal(Arc::clone(&id))));
            }
        }
        for shape in SHAPES.iter() {
            patterns.extend(shape.prefixes().map(|p| (p.as_bytes().to_vec(), PatternStart::Shape(shape))));
        }
        // Fails only past sizes that do not occur; a stream without a searcher then passes nothing on.
        let starts = AhoCorasick::new(patterns.iter().map(|(bytes, _)| bytes)).ok();
        let mut by_first = vec![Vec::new(); 256];
        for (number, (bytes, _)) in patterns.iter().enumerate() {
            if let Some(first) = bytes.first() {
                by_first[usize::from(*first)].push(number);
            }
        }
        let longest = patterns.iter().map(|(bytes, _)| bytes.len()).max().unwrap_or(1);
        Self { table: Arc::new(RedactionTable { starts, patterns, by_first, longest }) }
    }

    /// Redacts bytes that are there as a whole.
    pub fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.stream();
        let mut out = Vec::with_capacity(bytes.len());
        stream.push(bytes, &mut out);
        stream.finish(&mut out);
        out
    }

    /// Redacts a text; what is left is valid text again.
    pub fn redact_str(&self, text: &str) -> String {
        String::from_utf8(self.redact(text.as_bytes()))
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
    }

    /// Redacts every text in a JSON value, keys included; its form stays what it was.
    pub fn redact_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_str(text)),
            Value::Array(list) => list.iter().map(|value| self.redact_json(value)).collect(),
            Value::Object(map) => {
                map.iter().map(|(key, value)| (self.redact_str(key), self.redact_json(value))).collect()
            }
            Value::Number(number) => {
                let text = number.to_string();
                let clean = self.redact_str(&text);
                if clean == text { value.clone() } else { Value::String(clean) }
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// A redactor for bytes that arrive in chunks.
    pub fn stream(&self) -> RedactStream {
        RedactStream::new(self.clone())
    }

    /// Everything in `bytes` that would be redacted, in order and without overlaps: where it is and its id.
    pub fn hits(&self, bytes: &[u8]) -> Vec<(Range<usize>, String)> {
        let mut found: Vec<(Range<usize>, String)> = Vec::new();
        for (start, pattern) in self.table.candidates(bytes) {
            if found.last().is_some_and(|(range, _)| start < range.end) {
                continue;
            }
            let before = start.checked_sub(1).map(|i| bytes[i]);
            if let CandidateMatch::Until(end, id) | CandidateMatch::Block(end, id) =
                self.table.look(bytes, start, pattern, before, true)
            {
                found.push((start..end, id.to_owned()));
            }
        }
        found
    }

    /// The first thing in `bytes` that would be redacted, by its id.
    pub fn first_hit(&self, bytes: &[u8]) -> Option<String> {
        self.table.candidates(bytes).into_iter().find_map(|(start, pattern)| {
            let before = start.checked_sub(1).map(|i| bytes[i]);
            match self.table.look(bytes, start, pattern, before, true) {
                CandidateMatch::Until(_, id) | CandidateMatch::Block(_, id) => Some(id.to_owned()),
                CandidateMatch::Nothing | CandidateMatch::Undecided => None,
            }
        })
    }
}

impl RedactionTable {
    /// Where something could start, in order, with the number of its pattern.
    fn candidates(&self, bytes: &[u8]) -> Vec<(usize, usize)> {
        let Some(starts) = &self.starts else { return Vec::new() };
        let mut found: Vec<(usize, usize)> =
            starts.find_overlapping_iter(bytes).map(|m| (m.start(), m.pattern().as_usize())).collect();
        found.sort_unstable();
        found
    }

    /// Length of the longest end of `bytes` that could be the beginning of a pattern.
    fn unfinished(&self, bytes: &[u8]) -> usize {
        (1..self.longest.min(bytes.len() + 1))
            .rev()
            .find(|n| {
                let tail = &bytes[bytes.len() - n..];
                self.by_first[usize::from(tail[0])].iter().any(|number| {
                    let pattern = &self.patterns[*number].0;
                    pattern.len() > *n && pattern.starts_with(tail)
                })
            })
            .unwrap_or(0)
    }

    fn look(
        &self,
        bytes: &[u8],
        start: usize,
        pattern: usize,
        before: Option<u8>,
        ended: bool,
    ) -> CandidateMatch<'_> {
        let (text, starts) = &self.patterns[pattern];
        match starts {
            PatternStart::Literal(id) => CandidateMatch::Until(start + text.len(), id),
            // In the middle of a word it is something else.
            PatternStart::Shape(_) if before.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                CandidateMatch::Nothing
            }
            PatternStart::Shape(SecretShape::Rule(rule)) => {
                let window = &bytes[start..bytes.len().min(start + rule.max)];
                let stop = window.iter().position(|b| rule.within.stops(*b));
                if stop.is_none() && window.len() < rule.max && !ended {
                    return CandidateMatch::Undecided;
                }
                let window = &window[..stop.unwrap_or(window.len())];
                match rule.matches(window) {
                    Some(length) => CandidateMatch::Until(start + length, &rule.id),
                    None => CandidateMatch::Nothing,
                }
            }
            PatternStart::Shape(SecretShape::Block(block)) => {
                match block.first_line(&bytes[start..], ended) {
                    Some(Some(length)) => CandidateMatch::Block(start + length, &block.id),
                    Some(None) => CandidateMatch::Nothing,
                    None => CandidateMatch::Undecided,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
