//! Finds model servers on this machine.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ability::{DeclaredAbilities, ServerMetadata, read};
use crate::endpoint::Endpoint;

/// The ports that local servers listen on unless told otherwise.
pub const DEFAULT_PORTS: [(&str, u16); 4] =
    [("ollama", 11434), ("lm-studio", 1234), ("vllm", 8000), ("llama.cpp", 8080)];

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 1024 * 1024;

/// How long a port is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetectionTimeouts {
    /// To connect; on loopback that takes microseconds.
    pub connect: Duration,
    /// For the whole answer.
    pub answer: Duration,
}

impl Default for DetectionTimeouts {
    fn default() -> Self {
        Self { connect: Duration::from_millis(5), answer: Duration::from_millis(40) }
    }
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalServer {
    /// How to talk to it.
    pub endpoint: Endpoint,
    /// The models it has.
    pub models: Vec<String>,
}

/// The servers that answer on these ports of this machine, all asked at once, in the order given.
///
/// Only loopback is asked: finding a model must not tell anyone on a network that it was looked for.
pub fn detect(ports: &[(&str, u16)], patience: DetectionTimeouts) -> Vec<LocalServer> {
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            ports.iter().map(|(name, port)| scope.spawn(move || ask(name, *port, patience))).collect();
        asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    })
}

fn ask(name: &str, port: u16, patience: DetectionTimeouts) -> Option<LocalServer> {
    let base = format!("http://127.0.0.1:{port}/v1");
    let endpoint = Endpoint::compatible(name, &base, None);
    list(&endpoint, port, patience).ok()
}

/// Why a server does not list its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnlistedReason {
    /// Nothing answers there, or not in time.
    Down,
    /// It answers with this status.
    Status(u16),
    /// It answers with something that is no list.
    Odd,
}

/// The models of the server at an endpoint on this machine, asked with its key.
pub fn list(
    endpoint: &Endpoint,
    port: u16,
    patience: DetectionTimeouts,
) -> Result<LocalServer, UnlistedReason> {
    let path = endpoint.path();
    let question = question(endpoint, port, &format!("{path}/models"), None);
    let answer = exchange(port, &question, patience).ok_or(UnlistedReason::Down)?;
    match (models_in(&answer), status_of(&answer)) {
        (Some(models), _) => Ok(LocalServer { endpoint: endpoint.clone(), models }),
        (None, Some(200)) => Err(UnlistedReason::Odd),
        (None, Some(status)) => Err(UnlistedReason::Status(status)),
        (None, None) => Err(UnlistedReason::Down),
    }
}

/// What the server on this port says about a model; five small questions at once.
pub fn tell(endpoint: &Endpoint, port: u16, model: &str, patience: DetectionTimeouts) -> DeclaredAbilities {
    let show = json!({ "model": model }).to_string();
    let asked = [
        (format!("{}/models", endpoint.path()), None),
        ("/props".to_owned(), None),
        ("/api/v0/models".to_owned(), None),
        ("/api/show".to_owned(), Some(show)),
        ("/api/ps".to_owned(), None),
    ];
    let answered = std::thread::scope(|scope| {
        let threads = asked.map(|(path, body)| {
            let question = question(endpoint, port, &path, body.as_deref());
            scope.spawn(move || object_in(&exchange(port, &question, patience)?))
        });
        threads.map(|thread| thread.join().ok().flatten())
    });
    let [models, props, studio, shown, running] = answered;
    read(&ServerMetadata { models, props, studio, shown, running }, model)
}

fn question(endpoint: &Endpoint, port: u16, path: &str, body: Option<&str>) -> String {
    let key = endpoint.key.as_ref().map(|key| format!("authorization: Bearer {}\r\n", key.expose()));
    let head = format!("host: 127.0.0.1:{port}\r\naccept: application/json\r\n{}", key.unwrap_or_default());
    match body {
        None => format!("GET {path} HTTP/1.0\r\n{head}\r\n"),
        Some(body) => format!(
            "POST {path} HTTP/1.0\r\n{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ),
    }
}

/// One question in the old version of the protocol, so that the answer comes in one piece and the connection ends.
fn exchange(port: u16, question: &str, patience: DetectionTimeouts) -> Option<Vec<u8>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, patience.connect).ok()?;
    let deadline = Instant::now() + patience.answer;
    stream.set_write_timeout(Some(patience.answer)).ok()?;
    stream.write_all(question.as_bytes()).ok()?;
    read_until(&mut stream, deadline)
}

/// The answer so far when it is whole, refused, or the connection ends.
fn read_until(stream: &mut TcpStream, deadline: Instant) -> Option<Vec<u8>> {
    let mut answer = Vec::new();
    let mut buffer = [0; 8192];
    while answer.len() <= MAX_ANSWER {
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        }
        // Some servers keep the connection open all the same; what can be complete ends with the object.
        let complete = answer.trim_ascii_end().ends_with(b"}");
        if refused(&answer) || ended(&answer) || (complete && object_in(&answer).is_some()) {
            break;
        }
    }
    Some(answer)
}

/// Whether an answer is as long as it says that it is, or its last chunk has come.
fn ended(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    if head.contains("transfer-encoding: chunked") {
        return answer.ends_with(b"\r\n0\r\n\r\n");
    }
    length.is_some_and(|length: usize| answer.len() - end - 4 >= length)
}

/// The status of an HTTP answer.
fn status_of(answer: &[u8]) -> Option<u16> {
    let start = std::str::from_utf8(answer.get(..12)?).ok()?;
    start.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}

/// Whether an answer has begun that will not be one; who keeps the connection open is not waited for.
fn refused(answer: &[u8]) -> bool {
    let start = &answer[..answer.len().min(12)];
    start.len() == 12 && !(start.starts_with(b"HTTP/1.") && start.ends_with(b" 200"))
}

/// The models an HTTP answer lists; `None` when it is something else.
fn models_in(answer: &[u8]) -> Option<Vec<String>> {
    let json = object_in(answer)?;
    let list = json.get("data")?.as_array()?;
    Some(list.iter().filter_map(|model| model.get("id")?.as_str().map(str::to_owned)).collect())
}

/// The object an HTTP answer carries.
fn object_in(answer: &[u8]) -> Option<Value> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.lines().next()?.split(' ').nth(1)?;
    if !head.starts_with("HTTP/1.") || status != "200" {
        return None;
    }
    let body = &answer[end + 4..];
    let chunked = head.lines().any(|line| line.eq_ignore_ascii_case("transfer-encoding: chunked"));
    let joined = if chunked { Some(unchunked(body)?) } else { None };
    let body = joined.as_deref().unwrap_or(body);
    let start = body.iter().position(|b| *b == b'{')?;
    serde_json::Deserializer::from_slice(&body[start..]).into_iter().next()?.ok()
}

/// The chunks of a body in one piece; `None` while one is missing.
fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&body[..line]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size <= MAX_ANSWER)?;
        if size == 0 {
            return Some(whole);
        }
        let rest = &body[line + 2..];
        whole.extend_from_slice(rest.get(..size)?);
        body = rest.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::models_in;

    #[test]
    fn answers_are_told_apart() {
        for (answer, expect) in [
            (
                "HTTP/1.0 200 OK\r\n\r\n{\"object\":\"list\",\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}",
                Some(vec!["a", "b"]),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"d\r\n8\r\nata\":[]}\r\n0\r\n\r\n",
                Some(vec![]),
            ),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"d\r\n8\r\nata\":[", None),
            ("HTTP/1.1 404 Not Found\r\n\r\n{\"data\":[]}", None),
            ("HTTP/1.1 200 OK\r\n\r\n<html>", None),
            ("HTTP/1.1 200 OK\r\n\r\n{\"hello\":1}", None),
            ("HTTP/1.1 200 OK\r\n\r\n{\"data\":[{\"id\"", None),
            ("SSH-2.0\r\n\r\n", None),
            ("", None),
        ] {
            let expect = expect.map(|names| names.into_iter().map(str::to_owned).collect());
            assert_eq!(models_in(answer.as_bytes()), expect, "{answer}");
        }
    }
}
