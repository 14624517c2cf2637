//! The little of HTTP that talking to our own server takes: one request per connection, bodies and event streams.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};

use serde_json::Value;

/// The most that is read of an answer that is no stream; a patch can be long.
const MOST_BODY: u64 = 256 << 20;
/// The most of one line of a head or a stream.
const MOST_LINE: u64 = 16 << 20;

/// What is sent along.
pub(crate) enum RequestBody<'a> {
    /// Nothing.
    None,
    /// JSON.
    Json(&'a Value),
    /// Anything.
    Bytes(&'a [u8]),
}

/// The head of an answer, and the rest of it to be read.
pub(crate) struct HttpResponse<R> {
    pub(crate) status: u16,
    body: BodyReader<R>,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    /// Its number; the last one has none.
    pub(crate) id: Option<u64>,
    /// What happened.
    pub(crate) name: String,
    /// The particulars.
    pub(crate) data: Value,
}

/// Sends one request and reads the head of its answer.
pub(crate) fn send<S: Read + Write>(
    mut stream: S,
    method: &str,
    path: &str,
    language: &str,
    body: &RequestBody<'_>,
) -> io::Result<HttpResponse<S>> {
    let (kind, bytes) = match body {
        RequestBody::None => ("", Vec::new()),
        RequestBody::Json(value) => ("content-type: application/json\r\n", value.to_string().into_bytes()),
        RequestBody::Bytes(bytes) => ("content-type: application/octet-stream\r\n", bytes.to_vec()),
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept-language: {language}\r\n\
         {kind}content-length: {}\r\n\r\n",
        bytes.len()
    );
    let said = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&bytes));
    let said = said.and_then(|()| stream.flush());
    // Whoever refuses a body does not hear it out; the answer says more than the broken connection.
    let unheard = match said {
        Err(e) if !matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => return Err(e),
        said => said.err(),
    };
    let mut reader = BufReader::new(stream);
    let line = read_line(&mut reader).map_err(|e| unheard.unwrap_or(e))?;
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| strange("the first line of an answer"))?;
    let mut left = BodyRemainder::ToTheEnd;
    loop {
        let line = read_line(&mut reader)?;
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            left = BodyRemainder::Bytes(value.parse().map_err(|_| strange("the length of an answer"))?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
            left = BodyRemainder::Chunk(0);
        }
    }
    Ok(HttpResponse { status, body: BodyReader { reader, left } })
}

impl<R: Read> HttpResponse<R> {
    /// The whole body as JSON; none when it is empty.
    pub(crate) fn json(self) -> io::Result<Value> {
        let mut text = Vec::new();
        self.body.take(MOST_BODY).read_to_end(&mut text)?;
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&text).map_err(|_| strange("an answer that is no JSON"))
    }

    /// The whole body as text; bytes that are none are replaced.
    pub(crate) fn text(self) -> io::Result<String> {
        let mut text = Vec::new();
        self.body.take(MOST_BODY).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The body as events.
    pub(crate) fn events(self) -> EventStream<R> {
        EventStream { reader: BufReader::new(self.body), over: false }
    }
}

/// The events of a stream as they come; after `done` there are none.
pub(crate) struct EventStream<R> {
    reader: BufReader<BodyReader<R>>,
    over: bool,
}

impl<R: Read> EventStream<R> {
    fn read(&mut self) -> io::Result<StreamEvent> {
        let mut event = StreamEvent { id: None, name: String::new(), data: Value::Null };
        loop {
            let line = read_line(&mut self.reader)?;
            if line.is_empty() {
                if event.name.is_empty() {
                    continue;
                }
                return Ok(event);
            }
            match line.split_once(": ") {
                Some(("id", id)) => event.id = id.parse().ok(),
                Some(("event", name)) => event.name = name.to_owned(),
                Some(("data", data)) => {
                    event.data =
                        serde_json::from_str(data).map_err(|_| strange("an event that is no JSON"))?;
                }
                // Comments show that the connection lives.
                _ => {}
            }
        }
    }
}

impl<R: Read> Iterator for EventStream<R> {
    type Item = io::Result<StreamEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let event = self.read();
        self.over = event.as_ref().map_or(true, |event| event.name == "done");
        Some(event)
    }
}

/// A body, without the marks of its pieces.
struct BodyReader<R> {
    reader: BufReader<R>,
    left: BodyRemainder,
}

enum BodyRemainder {
    /// What is left of a body of known length.
    Bytes(u64),
    /// What is left of a piece.
    Chunk(u64),
    /// Until the other side closes.
    ToTheEnd,
}

impl<R: Read> Read for BodyReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let BodyRemainder::Chunk(0) = self.left {
            let mut line = read_line(&mut self.reader)?;
            if line.is_empty() {
                // The break after the piece before.
                line = read_line(&mut self.reader)?;
            }
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(|_| strange("the length of a piece"))?;
            self.left = if size == 0 { BodyRemainder::Bytes(0) } else { BodyRemainder::Chunk(size) };
        }
        let (BodyRemainder::Bytes(left) | BodyRemainder::Chunk(left)) = &mut self.left else {
            return self.reader.read(into);
        };
        let room = usize::try_from(*left).unwrap_or(usize::MAX).min(into.len());
        if room == 0 {
            return Ok(0);
        }
        let read = self.reader.read(&mut into[..room])?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        *left -= read as u64;
        Ok(read)
    }
}

/// A line without its end; none at all means that the other side is gone.
fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    let read = reader.take(MOST_LINE).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    if line.pop() != Some(b'\n') {
        return Err(strange("a line without an end"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| strange("a line that is no text"))
}

fn strange(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{what} could not be understood"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A connection that says something prepared, in pieces of some size.
    struct CannedConnection {
        says: Vec<u8>,
        at: usize,
        piece: usize,
        heard: Vec<u8>,
    }

    impl Read for CannedConnection {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let end = (self.at + self.piece.min(into.len())).min(self.says.len());
            let part = &self.says[self.at..end];
            into[..part.len()].copy_from_slice(part);
            self.at = end;
            Ok(part.len())
        }
    }

    impl Write for CannedConnection {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.heard.extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn canned(says: &[u8], piece: usize) -> CannedConnection {
        CannedConnection { says: says.to_vec(), at: 0, piece, heard: Vec::new() }
    }

    /// A stream in three pieces, as a server sends it.
    fn stream() -> String {
        let pieces = [
            "id: 1\nevent: message\ndata: {",
            "\"text\":\"h\u{e9}\"}\n\n: ping\n\n",
            "event: done\ndata: {}\n\n",
        ];
        let chunks = pieces.map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len())).concat();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";
        format!("{head}\r\n{chunks}0\r\n\r\n")
    }

    fn read(text: &str, piece: usize) -> io::Result<Vec<StreamEvent>> {
        send(canned(text.as_bytes(), piece), "GET", "/", "en", &RequestBody::None)?.events().collect()
    }

    #[test]
    fn a_stream_is_read_however_it_is_cut() {
        for piece in 1..stream().len() {
            let events = read(&stream(), piece).unwrap();
            let said = StreamEvent { id: Some(1), name: "message".into(), data: json!({"text": "hé"}) };
            let done = StreamEvent { id: None, name: "done".into(), data: json!({}) };
            assert_eq!(events, [said, done], "in pieces of {piece}");
        }
    }

    #[test]
    fn an_answer_with_a_length_is_read() {
        let text = b"HTTP/1.1 409 Conflict\r\nContent-Length: 12\r\n\r\n{\"code\":\"x\"}more";
        let answer =
            send(canned(text, 7), "POST", "/api", "zh", &RequestBody::Json(&json!({"a": 1}))).unwrap();
        assert_eq!((answer.status, answer.json().unwrap()), (409, json!({"code": "x"})));
    }

    #[test]
    fn a_stream_that_breaks_off_is_an_error() {
        let whole = stream();
        assert!(read(&whole[..whole.len() - 20], 1000).is_err());
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_nothing_panics(text in ".{0,300}", piece in 1_usize..50) {
            let _ = read(&text, piece);
            let _ = read(&format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{text}"), piece);
        }
    }
}
