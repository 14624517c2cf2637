//! Finds model servers on this machine.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::endpoint::Endpoint;

/// The ports that local servers listen on unless told otherwise.
pub const DEFAULT_PORTS: [(&str, u16); 4] =
    [("ollama", 11434), ("lm-studio", 1234), ("vllm", 8000), ("llama.cpp", 8080)];

/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 1024 * 1024;

/// How long a port is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// To connect; on loopback that takes microseconds.
    pub connect: Duration,
    /// For the whole answer.
    pub answer: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_millis(5), answer: Duration::from_millis(40) }
    }
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// How to talk to it.
    pub endpoint: Endpoint,
    /// The models it has.
    pub models: Vec<String>,
}

/// The servers that answer on these ports of this machine, all asked at once, in the order given.
///
/// Only loopback is asked: finding a model must not tell anyone on a network that it was looked for.
pub fn detect(ports: &[(&str, u16)], patience: Patience) -> Vec<Local> {
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            ports.iter().map(|(name, port)| scope.spawn(move || ask(name, *port, patience))).collect();
        asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    })
}

fn ask(name: &str, port: u16, patience: Patience) -> Option<Local> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, patience.connect).ok()?;
    let deadline = Instant::now() + patience.answer;
    stream.set_write_timeout(Some(patience.answer)).ok()?;
    // The old version of the protocol, so that the answer comes in one piece and the connection ends.
    let question =
        format!("GET /v1/models HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\naccept: application/json\r\n\r\n");
    stream.write_all(question.as_bytes()).ok()?;
    let answer = read_until(&mut stream, deadline)?;
    let models = models_in(&answer)?;
    let base = format!("http://127.0.0.1:{port}/v1");
    Some(Local { endpoint: Endpoint::compatible(name, &base, None), models })
}

fn read_until(stream: &mut TcpStream, deadline: Instant) -> Option<Vec<u8>> {
    let mut answer = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        match stream.read(&mut buffer) {
            Ok(0) => return Some(answer),
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        // Some servers keep the connection open all the same.
        if answer.len() > MAX_ANSWER || models_in(&answer).is_some() {
            return Some(answer);
        }
    }
}

/// The models an HTTP answer lists; `None` when it is something else.
fn models_in(answer: &[u8]) -> Option<Vec<String>> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.lines().next()?.split(' ').nth(1)?;
    if !head.starts_with("HTTP/1.") || status != "200" {
        return None;
    }
    // Chunks begin with their size; the list is the only object there is.
    let body = &answer[end + 4..];
    let start = body.iter().position(|b| *b == b'{')?;
    let json: Value = serde_json::Deserializer::from_slice(&body[start..]).into_iter().next()?.ok()?;
    let list = json.get("data")?.as_array()?;
    Some(list.iter().filter_map(|model| model.get("id")?.as_str().map(str::to_owned)).collect())
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
            ("HTTP/1.1 200 OK\r\nx: y\r\n\r\n1a\r\n{\"data\":[]}\r\n0\r\n\r\n", Some(vec![])),
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
