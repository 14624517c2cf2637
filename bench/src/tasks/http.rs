//! As much of HTTP/1.1 as stands between an agent and an endpoint.

use std::io::{self, BufRead, Write};

/// Heads longer than this are nobody's.
const MOST_HEADERS: usize = 200;

/// A head and, of a request, its body.
#[derive(Debug, Default)]
pub(crate) struct HttpMessage {
    /// The first line in words: method and path, or version and status.
    pub(crate) first: Vec<String>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpMessage {
    /// The first header of this name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// A word of the first line.
    pub(crate) fn word(&self, at: usize) -> &str {
        self.first.get(at).map_or("", String::as_str)
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Reads a head; nothing when the other side is gone.
pub(crate) fn head(reader: &mut impl BufRead) -> io::Result<Option<HttpMessage>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut message =
        HttpMessage { first: line.split_whitespace().map(str::to_owned).collect(), ..HttpMessage::default() };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(Some(message));
        }
        if message.headers.len() >= MOST_HEADERS {
            return Err(broken("too many headers"));
        }
        if let Some((name, value)) = line.split_once(':') {
            message.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
}

/// Reads a whole request; nothing when the other side is gone.
pub(crate) fn request(reader: &mut impl BufRead) -> io::Result<Option<HttpMessage>> {
    let Some(mut message) = head(reader)? else { return Ok(None) };
    let mut whole = Vec::new();
    let bounded = message.header("content-length").is_some() || message.header("transfer-encoding").is_some();
    if bounded {
        body(reader, &message, |piece| {
            whole.extend_from_slice(piece);
            Ok(())
        })?;
    }
    message.body = whole;
    Ok(Some(message))
}

/// Hands the body of a message on, piece by piece as it comes; one without bounds ends with the connection.
pub(crate) fn body(
    reader: &mut impl BufRead,
    message: &HttpMessage,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    if message.header("transfer-encoding").is_some_and(|value| value.to_ascii_lowercase().contains("chunked"))
    {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let size = line.trim().split(';').next().unwrap_or_default();
            let size = u64::from_str_radix(size, 16).map_err(|_| broken("a chunk without its size"))?;
            if size == 0 {
                reader.read_line(&mut String::new())?;
                return Ok(());
            }
            exactly(reader, size, &mut take)?;
            reader.read_line(&mut String::new())?;
        }
    }
    match message.header("content-length").map(str::parse::<u64>) {
        Some(Ok(length)) => exactly(reader, length, &mut take),
        Some(Err(_)) => Err(broken("a length that is no number")),
        None => exactly(reader, u64::MAX, &mut take).or_else(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(()),
            _ => Err(error),
        }),
    }
}

fn exactly(
    reader: &mut impl BufRead,
    mut left: u64,
    take: &mut impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut piece = [0; 16 * 1024];
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let length = reader.read(&mut piece[..most])?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        take(&piece[..length])?;
        left -= length as u64;
    }
    Ok(())
}

/// Begins an answer whose body comes in chunks, and which is the last on its connection.
pub(crate) fn begin(writer: &mut impl Write, status: u16, kind: &str) -> io::Result<()> {
    write!(
        writer,
        "HTTP/1.1 {status} Passed on\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
}

/// One chunk.
pub(crate) fn chunk(writer: &mut impl Write, piece: &[u8]) -> io::Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    write!(writer, "{:x}\r\n", piece.len())?;
    writer.write_all(piece)?;
    writer.write_all(b"\r\n")?;
    writer.flush()
}

/// The end of the chunks.
pub(crate) fn end(writer: &mut impl Write) -> io::Result<()> {
    writer.write_all(b"0\r\n\r\n")?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bodies_are_read_by_all_their_bounds() {
        let check = |text: &str, expect: &str| {
            let mut reader = text.as_bytes();
            let message = head(&mut reader).unwrap().unwrap();
            let mut found = Vec::new();
            body(&mut reader, &message, |piece| {
                found.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), expect);
        };
        check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, rest", "hello");
        check(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nrest",
            "abcde",
        );
        check("HTTP/1.0 200 OK\r\n\r\nto the end", "to the end");
        assert!(head(&mut &b""[..]).unwrap().is_none());
        let mut cut = &b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"[..];
        let message = head(&mut cut).unwrap().unwrap();
        assert!(body(&mut cut, &message, |_| Ok(())).is_err());
    }

    #[test]
    fn what_is_written_can_be_read() {
        let mut bytes = Vec::new();
        begin(&mut bytes, 404, "text/plain").unwrap();
        chunk(&mut bytes, b"no").unwrap();
        chunk(&mut bytes, b"").unwrap();
        chunk(&mut bytes, b"where").unwrap();
        end(&mut bytes).unwrap();
        let mut reader = &bytes[..];
        let message = request(&mut reader).unwrap().unwrap();
        assert_eq!((message.word(1), message.header("content-type")), ("404", Some("text/plain")));
        assert_eq!(message.body, b"nowhere");
    }
}
