//! A small HTTP client: one connection per request, nothing hidden.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

/// An answer whose body is still to be read.
pub(crate) struct TestHttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    body: BufReader<TcpStream>,
    chunked: bool,
    /// Bytes of the chunk at hand.
    left: usize,
    text: Vec<u8>,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TestSseEvent {
    pub(crate) id: Option<u64>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// The tokens of the servers that were started, by port; what is sent shows them unless it says who it is itself.
static TOKENS: Mutex<BTreeMap<u16, String>> = Mutex::new(BTreeMap::new());

/// Reads a server's port and token out of what it printed.
pub(crate) fn learn(said: &str) -> u16 {
    let url = said.split("http://").nth(1).unwrap().split_whitespace().next().unwrap();
    let (address, rest) = url.split_once('/').unwrap();
    let port = address.rsplit(':').next().unwrap().parse().unwrap();
    let token = rest.strip_prefix("?token=").map(str::to_owned);
    let mut tokens = TOKENS.lock().unwrap();
    match token {
        Some(token) => drop(tokens.insert(port, token)),
        None => drop(tokens.remove(&port)),
    }
    port
}

/// The token of the server at a port.
pub(crate) fn token(port: u16) -> Option<String> {
    TOKENS.lock().unwrap().get(&port).cloned()
}

/// The header line that shows it, for requests that are written by hand.
pub(crate) fn bearer(port: u16) -> String {
    token(port).map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default()
}

/// Sends a request, as the server's owner unless a header says otherwise.
pub(crate) fn send(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> TestHttpResponse {
    let bearer = token(port).map(|token| format!("Bearer {token}"));
    let mut all = headers.to_vec();
    if let Some(bearer) =
        bearer.as_deref().filter(|_| !headers.iter().any(|(name, _)| *name == "authorization"))
    {
        all.push(("authorization", bearer));
    }
    send_as(port, method, path, &all, body)
}

/// Sends a request with these headers and no others.
pub(crate) fn send_as(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> TestHttpResponse {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut text =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        text += &format!("host: 127.0.0.1:{port}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    // A server that refuses early may not read all of a large body.
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(body));
    let mut body = BufReader::new(stream);
    let status = line(&mut body).split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let mut headers = Vec::new();
    loop {
        let line = line(&mut body);
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    TestHttpResponse { status, headers, body, chunked, left: 0, text: Vec::new() }
}

fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    let _ = from.read_line(&mut line);
    line.trim_end().to_owned()
}

impl TestHttpResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The whole body.
    pub(crate) fn text(mut self) -> String {
        while self.more() {}
        String::from_utf8(self.text).unwrap()
    }

    /// The whole body as JSON.
    pub(crate) fn json(self) -> Value {
        let status = self.status;
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{status} {e}: {text}"))
    }

    /// The next event; `None` when the stream ended.
    pub(crate) fn next(&mut self) -> Option<TestSseEvent> {
        loop {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                let block = String::from_utf8(block).unwrap();
                if let Some(event) = parse(&block) {
                    return Some(event);
                }
            } else if !self.more() {
                return None;
            }
        }
    }

    /// All events to the end of the stream.
    pub(crate) fn events(mut self) -> Vec<TestSseEvent> {
        assert_eq!(self.status, 200);
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Reads some more of the body.
    fn more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        if !self.chunked {
            let read = self.body.read(&mut buffer).unwrap_or(0);
            self.text.extend_from_slice(&buffer[..read]);
            return read > 0;
        }
        if self.left == 0 {
            let size = line(&mut self.body);
            self.left = usize::from_str_radix(&size, 16).unwrap_or(0);
            if self.left == 0 {
                return false;
            }
        }
        let most = self.left.min(buffer.len());
        let read = self.body.read(&mut buffer[..most]).unwrap_or(0);
        self.text.extend_from_slice(&buffer[..read]);
        self.left -= read;
        if self.left == 0 && read > 0 {
            line(&mut self.body);
        }
        read > 0
    }
}

fn parse(block: &str) -> Option<TestSseEvent> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    Some(TestSseEvent {
        id: field("id:").map(|id| id.parse().unwrap()),
        name: field("event:")?.to_owned(),
        data: serde_json::from_str(field("data:")?).unwrap(),
    })
}

/// The events of one kind.
pub(crate) fn of<'a>(events: &'a [TestSseEvent], name: &str) -> Vec<&'a TestSseEvent> {
    events.iter().filter(|event| event.name == name).collect()
}

/// Everything the agent said, however it was cut.
pub(crate) fn words(events: &[TestSseEvent]) -> String {
    of(events, "message").iter().map(|event| event.data["text"].as_str().unwrap()).collect()
}
