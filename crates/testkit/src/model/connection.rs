//! One connection of a scripted server: requests and their answers.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::script::{BodyPiece, PreparedResponse, ScriptedResponse};
use super::server::{ModelServerState, ReceivedRequest};

/// Nothing waits longer than this for a client.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn answer(stream: TcpStream, number: usize, shared: &ModelServerState) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let _ = stream.set_nodelay(true);
    // A client that goes away early is none of our business.
    while let Ok(true) = converse(&stream, number, shared) {}
}

/// One request and its answer; true when the connection can be used again.
fn converse(stream: &TcpStream, number: usize, shared: &ModelServerState) -> io::Result<bool> {
    let Some(seen) = read_request(stream, number)? else { return Ok(false) };
    let facts = shared.facts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((_, status, kind, body)) = facts.into_iter().find(|(path, ..)| *path == seen.path) {
        let pieces = vec![BodyPiece::Bytes(body.into_bytes())];
        return send(
            stream,
            shared,
            PreparedResponse { status, kind, headers: Vec::new(), pieces, abrupt: false },
        );
    }
    if seen.method == "GET" && seen.path.ends_with("/models") {
        let models = shared.models.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let data: Vec<Value> = models.iter().map(|id| json!({"id": id, "object": "model"})).collect();
        return send(stream, shared, plain(200, json!({"object": "list", "data": data})));
    }
    let wire = shared.source.wire_of(&seen.path).filter(|_| seen.method == "POST");
    // Questions about the server itself are no requests to the model.
    let about_itself = wire.is_none() && (seen.method == "GET" || seen.path.starts_with("/api/"));
    if about_itself {
        let body = json!({"error": {"message": format!("nothing at {}", seen.path)}});
        return send(stream, shared, plain(404, body));
    }
    if shared.source.keeps() {
        shared.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen.clone());
    }
    let count = shared.count.fetch_add(1, Ordering::SeqCst) + 1;
    let Some(wire) = wire else {
        let body = json!({"error": {"message": format!("nothing at {}", seen.path)}});
        return send(stream, shared, plain(404, body));
    };
    let (number, scripted) = match shared.source.next(wire, &seen, count) {
        Some(next) => next,
        None => (0, ScriptedResponse::json(400, r#"{"error":{"message":"the script is over"}}"#)),
    };
    std::thread::sleep(scripted.before_head);
    send(stream, shared, scripted.answer(wire, number))
}

fn plain(status: u16, body: Value) -> PreparedResponse {
    let pieces = vec![BodyPiece::Bytes(body.to_string().into_bytes())];
    PreparedResponse {
        status,
        kind: "application/json".to_owned(),
        headers: Vec::new(),
        pieces,
        abrupt: false,
    }
}

/// The next request, unless the client is gone.
fn read_request(stream: &TcpStream, connection: usize) -> io::Result<Option<ReceivedRequest>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, path) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, n)| n.parse().ok());
    let mut body = Vec::new();
    reader.take(length.unwrap_or(0)).read_to_end(&mut body)?;
    let bytes = body.len();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(ReceivedRequest { connection, method, path, headers, body, bytes }))
}

fn send(mut stream: &TcpStream, shared: &ModelServerState, answer: PreparedResponse) -> io::Result<bool> {
    let mut head = format!(
        "HTTP/1.1 {} Scripted\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n",
        answer.status, answer.kind
    );
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    for piece in answer.pieces {
        match piece {
            BodyPiece::Bytes(bytes) if bytes.is_empty() => {}
            BodyPiece::Bytes(bytes) => {
                let mut packet = format!("{:x}\r\n", bytes.len()).into_bytes();
                packet.extend(bytes);
                packet.extend(b"\r\n");
                stream.write_all(&packet)?;
            }
            BodyPiece::Pause(pause) => std::thread::sleep(pause),
            BodyPiece::Hang => return hang(stream, shared),
        }
    }
    if !answer.abrupt {
        stream.write_all(b"0\r\n\r\n")?;
    }
    stream.flush()?;
    Ok(!answer.abrupt)
}

/// Holds the connection until the client closes it, the server ends, or patience does.
fn hang(mut stream: &TcpStream, shared: &ModelServerState) -> io::Result<bool> {
    let deadline = Instant::now() + PATIENCE;
    stream.set_read_timeout(Some(Duration::from_millis(20)))?;
    let mut byte = [0];
    while Instant::now() < deadline && !shared.over.load(Ordering::SeqCst) {
        match stream.read(&mut byte) {
            Ok(0) => return Ok(false),
            Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(false)
}
