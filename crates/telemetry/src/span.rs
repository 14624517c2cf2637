//! A span: one piece of work with its beginning, its end, and what is known about it.

use std::fmt;

/// Names a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// Names a span within its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// Reads one as it is shown; all zeros name nothing.
    pub(crate) fn read(text: &str) -> Option<Self> {
        hexadecimal(text).map(Self)
    }

    /// A new one.
    pub fn random() -> Self {
        Self(random())
    }
}

impl SpanId {
    /// Reads one as it is shown; all zeros name nothing.
    pub(crate) fn read(text: &str) -> Option<Self> {
        hexadecimal(text).map(Self)
    }

    /// A new one.
    pub fn random() -> Self {
        Self(random())
    }
}

impl SpanId {
    /// A number that differs from process to process, for whatever should not happen everywhere at once.
    pub(crate) fn chance(self) -> u8 {
        self.0[0]
    }
}

/// Bytes in small hexadecimal digits, not all zero.
fn hexadecimal<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let digits = text.as_bytes();
    if digits.len() != N * 2 || !digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    bytes.iter().any(|byte| *byte != 0).then_some(bytes)
}

/// Random bytes that are never all zero, which would name nothing.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without randomness two traces share a name, and nothing else happens.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    if bytes.iter().all(|byte| *byte == 0) {
        bytes[N - 1] = 1;
    }
    bytes
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Where a span belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanParent {
    /// Its trace.
    pub trace: TraceId,
    /// The span it is part of; none for the whole.
    pub parent: Option<SpanId>,
}

/// Which side of a conversation a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Work of this process.
    Internal,
    /// A request to another one.
    Client,
}

/// What is known about a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanAttribute {
    /// A word.
    Text(String),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Words.
    List(Vec<String>),
}

impl From<&str> for SpanAttribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for SpanAttribute {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for SpanAttribute {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for SpanAttribute {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// One piece of work that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSpan {
    /// Where it belongs.
    pub place: SpanParent,
    /// Its name in the trace.
    pub id: SpanId,
    /// What it is called.
    pub name: String,
    /// Which side it is.
    pub kind: SpanKind,
    /// Its beginning, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// What is known about it.
    pub attributes: Vec<(&'static str, SpanAttribute)>,
    /// The sort of failure it ended with.
    pub error: Option<String>,
    /// What whoever asked wants to be carried along with the trace.
    pub state: Option<String>,
}

impl TraceSpan {
    /// A span that went well and about which nothing else is known.
    pub fn new(
        place: SpanParent,
        name: impl Into<String>,
        kind: SpanKind,
        start_ns: u64,
        end_ns: u64,
    ) -> Self {
        Self {
            place,
            id: SpanId::random(),
            name: name.into(),
            kind,
            start_ns: start_ns.min(end_ns),
            end_ns,
            attributes: Vec::new(),
            error: None,
            state: None,
        }
    }

    /// Adds what is known.
    pub fn with(mut self, key: &'static str, value: impl Into<SpanAttribute>) -> Self {
        self.attributes.push((key, value.into()));
        self
    }

    /// Adds it where it is known.
    pub fn with_some(self, key: &'static str, value: Option<impl Into<SpanAttribute>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The same, failed: `sort` is a stable word, not a message.
    pub fn failed(mut self, sort: Option<impl Into<String>>) -> Self {
        if let Some(sort) = sort.map(Into::into) {
            self.attributes.push(("error.type", SpanAttribute::Text(sort.clone())));
            self.error = Some(sort);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hexadecimal_and_never_empty() {
        let (trace, span) = (TraceId::random().to_string(), SpanId::random().to_string());
        assert_eq!((trace.len(), span.len()), (32, 16));
        assert!(
            trace.bytes().chain(span.bytes()).all(|b| b"0123456789abcdef".contains(&b)),
            "{trace} {span}"
        );
        assert_ne!(TraceId::random(), TraceId::random());
        assert_eq!(TraceId([0; 16]).to_string(), "0".repeat(32));
    }
}
