//! One client: a request on a connection of its own, and the times at which things came back.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::token;
use crate::BenchFailure;

/// Nothing waits longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who asks, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadClient {
    pub(crate) port: u16,
    pub(crate) user: usize,
}

/// A turn as it was heard.
#[derive(Debug, Clone, Default)]
pub(crate) struct MeasuredTurn {
    /// From the request to the first event.
    pub(crate) first: Duration,
    /// From the request to the first word of the model, which says it at once.
    pub(crate) word: Duration,
    pub(crate) events: usize,
}

impl LoadClient {
    fn post(&self, path: &str, body: &Value) -> Result<BufReader<TcpStream>, BenchFailure> {
        self.send("POST", path, &body.to_string())
    }

    fn get(&self, path: &str) -> Result<String, BenchFailure> {
        let mut answer = String::new();
        self.send("GET", path, "")?.read_to_string(&mut answer).map_err(|e| format!("{path}: {e}"))?;
        Ok(answer)
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Result<BufReader<TcpStream>, BenchFailure> {
        let broken = |e: std::io::Error| format!("{path}: {e}");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(broken)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.port,
            token(self.user),
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(broken)?;
        Ok(BufReader::with_capacity(2048, stream))
    }

    /// A new thread.
    pub(crate) fn thread(&self, workspace: &std::path::Path) -> Result<String, BenchFailure> {
        let mut answer = String::new();
        let mut stream = self.post("/api/threads", &json!({"workspace": workspace}))?;
        stream.read_to_string(&mut answer).map_err(|e| e.to_string())?;
        let id = answer.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
        id.map(str::to_owned).ok_or_else(|| format!("no thread: {}", answer.lines().next().unwrap_or("")))
    }

    /// Says something and hears it out.
    pub(crate) fn say(&self, thread: &str, message: &str) -> Result<MeasuredTurn, BenchFailure> {
        let began = Instant::now();
        let stream = self.post(&format!("/api/chat/{thread}"), &json!({"message": message}))?;
        let mut heard = MeasuredTurn::default();
        let (mut ended, mut trouble) = (false, None);
        for line in stream.lines() {
            let line = line.map_err(|e| format!("after {} events: {e}", heard.events))?;
            if heard.events == 0 && line.starts_with("HTTP/1.1 ") && !line.starts_with("HTTP/1.1 200") {
                return Err(line);
            }
            let Some(name) = line.strip_prefix("event: ") else { continue };
            heard.events += 1;
            match name {
                "message" if heard.word.is_zero() => heard.word = began.elapsed(),
                "error" => trouble = Some(format!("an error after {} events", heard.events)),
                "done" => ended = true,
                _ => {}
            }
            if heard.events == 1 {
                heard.first = began.elapsed();
            }
        }
        match trouble {
            Some(trouble) => Err(trouble),
            None if ended => Ok(heard),
            None => Err(format!("no end after {} events", heard.events)),
        }
    }

    /// Waits until the first turn of the thread is over: before it has begun, nothing is under way either.
    pub(crate) fn settled(&self, thread: &str) -> Result<(), BenchFailure> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let answer = self.get(&format!("/api/threads/{thread}"))?;
            if answer.contains("\"turns_count\":1") && answer.contains("\"state\":\"idle\"") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(format!("{thread}: its turn does not end"))
    }

    /// Says something and never reads a byte of the answer, as long as the connection is held.
    pub(crate) fn ignore(&self, thread: &str, message: &str) -> Result<TcpStream, BenchFailure> {
        self.post(&format!("/api/chat/{thread}"), &json!({"message": message})).map(BufReader::into_inner)
    }
}
