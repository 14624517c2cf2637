//! Server-sent events out of bytes that may be cut anywhere.

/// The longest line and the most data of one event that are taken.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name, when it had one.
    pub name: Option<String>,
    /// Its data, lines joined by `\n`.
    pub data: String,
}

/// An event was larger than [`MAX_EVENT`] (or the limit given).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct SseEventTooLarge {
    /// The limit.
    pub limit: usize,
}

/// Turns chunks into events; the result does not depend on how the stream was cut.
///
/// Lines may end in LF, CR or CRLF, comments are dropped, a byte order mark at the start is skipped, bytes that are not
/// UTF-8 are replaced.
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    /// The line being read.
    line: Vec<u8>,
    /// The last byte was a CR, so a LF that follows belongs to it.
    after_cr: bool,
    /// No line has ended yet.
    first_line: bool,
    name: Option<String>,
    data: String,
    has_data: bool,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT)
    }
}

impl SseDecoder {
    /// A decoder that refuses larger events than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            first_line: true,
            name: None,
            data: String::new(),
            has_data: false,
        }
    }

    /// Takes a chunk and gives the events it completes.
    pub fn push(&mut self, mut chunk: &[u8]) -> Result<Vec<SseEvent>, SseEventTooLarge> {
        let mut events = Vec::new();
        if self.after_cr && !chunk.is_empty() {
            self.after_cr = false;
            chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        while let Some(end) = chunk.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            self.take(&chunk[..end])?;
            let cr = chunk[end] == b'\r';
            chunk = &chunk[end + 1..];
            if cr {
                self.after_cr = chunk.is_empty();
                chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
            }
            events.extend(self.end_line()?);
        }
        self.take(chunk)?;
        Ok(events)
    }

    /// Ends the stream; an event whose lines are complete but whose closing blank line is missing is still given.
    pub fn finish(mut self) -> Option<SseEvent> {
        self.dispatch()
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), SseEventTooLarge> {
        if self.line.len() + bytes.len() > self.limit {
            return Err(SseEventTooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseEventTooLarge> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&bytes);
        if std::mem::take(&mut self.first_line)
            && let Some(rest) = line.strip_prefix('\u{feff}')
        {
            line = rest.to_owned().into();
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match line.split_once(':') {
            // A comment, as OpenRouter sends them while it waits.
            Some(("", _)) => return Ok(None),
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
            None => (&*line, ""),
        };
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => {
                if self.data.len() + value.len() + 1 > self.limit {
                    return Err(SseEventTooLarge { limit: self.limit });
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            // `id` and `retry` are for reconnecting, which would be wrong for a request that costs money.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let name = self.name.take().filter(|name| !name.is_empty());
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(SseEvent { name, data })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut decoder = SseDecoder::default();
        let mut events: Vec<SseEvent> = chunks.iter().flat_map(|c| decoder.push(c).unwrap()).collect();
        events.extend(decoder.finish());
        events.into_iter().map(|e| (e.name, e.data)).collect()
    }

    fn check(text: &str, expect: &[(Option<&str>, &str)]) {
        let expect: Vec<_> = expect.iter().map(|(n, d)| (n.map(str::to_owned), (*d).to_owned())).collect();
        assert_eq!(decode(&[text.as_bytes()]), expect, "{text:?}");
    }

    #[test]
    fn lines_comments_names_and_marks() {
        check("data: a\n\ndata: b\n\n", &[(None, "a"), (None, "b")]);
        check("data: a\r\n\r\ndata: b\r\rdata:c\n\n", &[(None, "a"), (None, "b"), (None, "c")]);
        check(": OPENROUTER PROCESSING\n\n: again\ndata: x\n\n", &[(None, "x")]);
        check("event: ping\ndata: {}\n\n", &[(Some("ping"), "{}")]);
        check("data: one\ndata:\ndata: three\n\n", &[(None, "one\n\nthree")]);
        check("\u{feff}data: x\n\n", &[(None, "x")]);
        check("data: \u{feff}x\n\n", &[(None, "\u{feff}x")]);
        check("id: 1\nretry: 5\nunknown: 2\ndata:  two spaces\n\n", &[(None, " two spaces")]);
        check("data\n\n", &[(None, "")]);
        check("event: lonely\n\ndata: x\n\n", &[(None, "x")]);
        check("\n\n\r\n", &[]);
    }

    #[test]
    fn a_missing_blank_line_at_the_end_loses_nothing_but_a_cut_line_is_dropped() {
        check("data: x\n", &[(None, "x")]);
        check("data: x\n\ndata: cut", &[(None, "x")]);
    }

    #[test]
    fn an_endless_line_or_event_is_refused() {
        let mut decoder = SseDecoder::with_limit(10);
        assert_eq!(decoder.push(b"data: 12345678"), Err(SseEventTooLarge { limit: 10 }));
        let mut decoder = SseDecoder::with_limit(10);
        assert_eq!(decoder.push(b"data:1234\ndata:1234\ndata:1234\n"), Err(SseEventTooLarge { limit: 10 }));
        let mut decoder = SseDecoder::with_limit(10);
        for _ in 0..100 {
            assert_eq!(decoder.push(b": comment\n").unwrap(), []);
        }
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            text in r"(\u{feff})?((data|event|id)?:? ?[aé€]{0,3}(\r\n|\n|\r)|:c\n|\n){0,12}",
            cuts in prop::collection::vec(0usize..80, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(decode(&chunks), decode(&[bytes]));
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(decode(&single), decode(&[bytes]));
        }

        #[test]
        fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            decode(&[&bytes]);
        }
    }
}
