//! A client that writes what it is told to, well formed or not.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use holon_model::sse::SseDecoder;
use holon_model::{ModelError, ModelReply, WireFormat};
use serde_json::Value;

use crate::{PATIENCE, TOKEN};

pub(crate) struct RawClient(pub(crate) TcpStream);

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl RawClient {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    pub(crate) fn post(self, path: &str, body: &str) -> RawResponse {
        self.request("POST", path, &[("authorization", &format!("Bearer {TOKEN}"))], body)
    }

    pub(crate) fn request(
        self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> RawResponse {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
        self.raw(text.as_bytes())
    }

    /// Sends bytes as they are and reads to the end.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> RawResponse {
        self.send(bytes);
        self.rest()
    }

    /// Sends what the other side takes; it may close in the middle.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    pub(crate) fn rest(mut self) -> RawResponse {
        let mut bytes = Vec::new();
        // A reset after the answer is as good as its end.
        let _ = self.0.read_to_end(&mut bytes);
        RawResponse::parse(&bytes)
    }

    /// Reads until some text has come.
    pub(crate) fn read_until(&mut self, wanted: &str) -> String {
        let mut text = String::new();
        let mut buffer = [0; 4096];
        while !text.contains(wanted) {
            let count = self.0.read(&mut buffer).unwrap();
            assert!(count > 0, "the connection ended before `{wanted}`: {text}");
            text += &String::from_utf8_lossy(&buffer[..count]);
        }
        text
    }

    /// True once the other side has closed.
    pub(crate) fn closes(mut self) -> bool {
        let mut bytes = Vec::new();
        match self.0.read_to_end(&mut bytes) {
            Ok(_) => true,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    pub(crate) fn hang_up(self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl RawResponse {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = bytes.get(end + 4..).unwrap_or_default();
        let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_vec() };
        Self { status, head, body: String::from_utf8_lossy(&body).into_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// What a client of the wire makes of the stream.
    pub(crate) fn reply(&self, wire: WireFormat) -> Result<ModelReply, ModelError> {
        assert_eq!(self.status, 200, "{}", self.body);
        assert!(self.header("content-type").unwrap().starts_with("text/event-stream"), "{}", self.head);
        let mut sse = SseDecoder::default();
        let mut decoder = wire.decoder();
        for event in sse.push(self.body.as_bytes()).unwrap() {
            decoder.push(&event);
        }
        decoder.finish()
    }

    /// What a client of the wire makes of the body.
    pub(crate) fn whole(&self, wire: WireFormat) -> ModelReply {
        assert_eq!(self.status, 200, "{}", self.body);
        wire.decode_whole(self.body.as_bytes()).unwrap()
    }

    /// The message of an error in the words of a wire, which is checked.
    pub(crate) fn error(&self, wire: WireFormat) -> String {
        let json = self.json();
        if wire == WireFormat::Messages {
            assert_eq!(json["type"], "error", "{json}");
            assert!(json["error"]["type"].is_string(), "{json}");
        } else {
            assert!(json["error"]["type"].is_string() && json["error"].get("code").is_some(), "{json}");
        }
        json["error"]["message"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(line) = body.windows(2).position(|two| two == b"\r\n") {
        let size =
            std::str::from_utf8(&body[..line]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some((size, data)) = size.filter(|size| *size > 0).zip(body.get(line + 2..)) else { break };
        let Some(chunk) = data.get(..size) else { break };
        out.extend_from_slice(chunk);
        body = data.get(size + 2..).unwrap_or_default();
    }
    out
}
