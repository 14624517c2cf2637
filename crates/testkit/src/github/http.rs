//! HTTP as far as a client library and git speak it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(super) struct IncomingRequest {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl IncomingRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Query parameters, decoded.
    pub(super) fn parameters(&self) -> Vec<(String, String)> {
        let pairs = self.query.split('&').filter(|part| !part.is_empty());
        pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(k, v)| (decoded(k), decoded(v)))
            .collect()
    }

    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        self.parameters().into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// Percent-decoding.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let code = (*first == b'%').then(|| more.get(..2)).flatten();
        let code = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An answer to be sent.
#[derive(Debug, Clone)]
pub(super) struct OutgoingResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl OutgoingResponse {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        let kind = ("content-type".to_owned(), "application/json; charset=utf-8".to_owned());
        Self { status, headers: vec![kind], body: body.to_string().into_bytes() }
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// The next request, unless the client is gone.
pub(super) fn read(stream: &TcpStream) -> io::Result<Option<IncomingRequest>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let address = words.next().unwrap_or_default();
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let mut incoming =
        IncomingRequest { method, path: path.into(), query: query.into(), ..IncomingRequest::default() };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            incoming.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    if incoming.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if incoming.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        incoming.body = chunked(&mut reader)?;
    } else if let Some(length) = incoming.header("content-length").and_then(|n| n.parse().ok()) {
        reader.take(length).read_to_end(&mut incoming.body)?;
    }
    Ok(Some(incoming))
}

fn chunked(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| io::Error::other("a chunk without a size"))?;
        reader.by_ref().take(size).read_to_end(&mut body)?;
        let mut end = String::new();
        reader.read_line(&mut end)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

pub(super) fn write(mut stream: &TcpStream, answer: &OutgoingResponse) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Fake\r\ncontent-length: {}\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend(&answer.body);
    stream.write_all(&bytes)?;
    stream.flush()
}
