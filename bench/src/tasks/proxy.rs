//! Stands between one agent and the endpoint for one run: counts, and writes down when asked to.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holon_core::digest::sha256;
use serde::Serialize;

use super::endpoint::MeasuredEndpoint;
use super::http::{self, HttpMessage};
use super::recording::{RecordedExchange, ReplyPlayer};
use super::usage;
use crate::BenchFailure;

/// An agent that does not finish its request in this time is gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// An agent that is gone may have left a question behind; nobody waits longer for its answer.
const SETTLE: Duration = Duration::from_secs(2);
/// How the paths end on which a model is asked.
const ASKED: [&str; 3] = ["/completions", "/messages", "/responses"];

/// What one agent used in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ProxyTally {
    /// Questions to the model.
    pub(crate) calls: u64,
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    /// Calls whose tokens were made from bytes, because the reply did not say.
    pub(crate) estimated_calls: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    /// Replies of 400 and above, and those that never came.
    pub(crate) refused: u64,
    /// Recorded replies that were given to another request than the recorded one.
    pub(crate) drifted: u64,
}

impl ProxyTally {
    /// Adds another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.estimated_calls += other.estimated_calls;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.refused += other.refused;
        self.drifted += other.drifted;
    }
}

/// Who answers.
#[derive(Debug)]
pub(crate) enum ProxySource {
    Endpoint(MeasuredEndpoint),
    Recording(Mutex<ReplyPlayer>),
}

#[derive(Debug)]
struct ProxyState {
    source: ProxySource,
    tally: Mutex<ProxyTally>,
    exchanges: Mutex<Vec<RecordedExchange>>,
    over: AtomicBool,
    /// Requests that are being answered.
    busy: AtomicUsize,
}

/// The proxy of one run; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<ProxyState>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Listens on a free port of loopback.
    pub(crate) fn start(source: ProxySource) -> Result<Self, BenchFailure> {
        let cannot = |e: io::Error| format!("cannot listen on loopback: {e}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let over = AtomicBool::new(false);
        let (tally, exchanges, busy) = (Mutex::default(), Mutex::default(), AtomicUsize::new(0));
        let state = ProxyState { source, tally, exchanges, over, busy };
        let state = Arc::new(state);
        let own = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if own.over.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), own) = (stream, Arc::clone(&own)) else { continue };
                // A client that goes away early is none of our business.
                own.busy.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let _ = own.serve(&stream);
                    own.busy.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Ok(Self { address, state, thread: Some(thread) })
    }

    /// Its base URL, with the version at the end.
    pub(crate) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What was used, and what was said, once the last answer is through.
    pub(crate) fn settle(&self) -> (ProxyTally, Vec<RecordedExchange>) {
        let deadline = Instant::now() + SETTLE;
        while self.state.busy.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut tally = *self.state.tally.lock().unwrap_or_else(PoisonError::into_inner);
        if let ProxySource::Recording(player) = &self.state.source {
            tally.drifted = player.lock().unwrap_or_else(PoisonError::into_inner).drifted as u64;
        }
        (tally, self.state.exchanges.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl ProxyState {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let Some(request) = http::request(&mut BufReader::new(stream))? else { return Ok(()) };
        let (status, kind, body) = match self.answer(&request, stream) {
            Ok(answer) => answer,
            Err(error) => {
                let text =
                    format!(r#"{{"error":{{"message":"the endpoint did not answer: {}"}}}}"#, error.kind());
                let _ = send(stream, 502, "application/json", text.as_bytes());
                (502, "application/json".to_owned(), text.into_bytes())
            }
        };
        self.count(&request, status, &body);
        let exchange = RecordedExchange {
            method: request.word(0).to_owned(),
            path: request.word(1).to_owned(),
            request: sha256(&request.body),
            status,
            kind,
            body: String::from_utf8_lossy(&body).into_owned(),
        };
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        Ok(())
    }

    /// Hands the answer on while it comes, and gives it whole.
    fn answer(&self, request: &HttpMessage, mut stream: &TcpStream) -> io::Result<(u16, String, Vec<u8>)> {
        match &self.source {
            ProxySource::Endpoint(endpoint) => {
                let (head, mut reply) = endpoint.ask(request)?;
                let status = head.word(1).parse().unwrap_or(502);
                let kind = head.header("content-type").unwrap_or("application/json").to_owned();
                let mut whole = Vec::new();
                http::begin(&mut stream, status, &kind)?;
                let passed = http::body(&mut reply.0, &head, |piece| {
                    whole.extend_from_slice(piece);
                    http::chunk(&mut stream, piece)
                });
                // An answer that was cut off stays so, without its last chunk; what came of it counts.
                let _ = passed.and_then(|()| http::end(&mut stream));
                Ok((status, kind, whole))
            }
            ProxySource::Recording(player) => {
                let mut player = player.lock().unwrap_or_else(PoisonError::into_inner);
                let next = player.next(request.word(0), request.word(1), &request.body);
                let (status, kind, body) = next.map_or_else(
                    || {
                        let status = if request.word(0) == "GET" { 404 } else { 400 };
                        let text = r#"{"error":{"message":"the recording has no reply to this"}}"#;
                        (status, "application/json".to_owned(), text.to_owned())
                    },
                    |exchange| (exchange.status, exchange.kind, exchange.body),
                );
                send(stream, status, &kind, body.as_bytes())?;
                Ok((status, kind, body.into_bytes()))
            }
        }
    }

    fn count(&self, request: &HttpMessage, status: u16, reply: &[u8]) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let path = request.word(1).split('?').next().unwrap_or_default();
        if request.word(0) != "POST" || !ASKED.iter().any(|end| path.ends_with(end)) {
            return;
        }
        tally.calls += 1;
        tally.bytes_sent += request.body.len() as u64;
        tally.bytes_received += reply.len() as u64;
        if status >= 400 {
            tally.refused += 1;
            return;
        }
        let tokens = usage::tokens(&request.body, reply);
        tally.prompt_tokens += tokens.prompt;
        tally.completion_tokens += tokens.completion;
        tally.estimated_calls += u64::from(tokens.estimated);
    }
}

fn send(mut stream: impl Write, status: u16, kind: &str, body: &[u8]) -> io::Result<()> {
    http::begin(&mut stream, status, kind)?;
    http::chunk(&mut stream, body)?;
    http::end(&mut stream)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Read;

    use holon_model::WireFormat;
    use holon_model::cassette::CassetteTurn;
    use holon_testkit::model::{ModelServer, ScriptedResponse};

    use super::*;

    fn ask(base: &str, method: &str, path: &str, body: &str) -> String {
        let address = base.trim_start_matches("http://").trim_end_matches("/v1");
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn what_goes_through_is_counted_and_can_be_played_again() {
        let script = ["one", "two"].map(|text| ScriptedResponse::from(CassetteTurn::text(text)));
        let server = ModelServer::start(WireFormat::Chat, script);
        let endpoint = MeasuredEndpoint::new(&server.base(), None).unwrap();
        let proxy = Proxy::start(ProxySource::Endpoint(endpoint)).unwrap();
        let chat = "/v1/chat/completions";
        let models = ask(&proxy.base(), "GET", "/v1/models", "");
        assert!(models.contains("scripted-model"), "{models}");
        let first = ask(&proxy.base(), "POST", chat, r#"{"stream":true,"n":1}"#);
        let second = ask(&proxy.base(), "POST", chat, r#"{"stream":true,"n":2}"#);
        assert!(first.contains("one") && second.contains("two") && second.contains("[DONE]"), "{second}");
        let (tally, exchanges) = proxy.settle();
        assert_eq!((tally.calls, tally.bytes_sent, tally.refused), (2, 42, 0));
        assert!(tally.bytes_received > 40 && tally.completion_tokens > 0);

        let player = ReplyPlayer::new(exchanges);
        let again = Proxy::start(ProxySource::Recording(Mutex::new(player))).unwrap();
        assert!(ask(&again.base(), "POST", chat, r#"{"stream":true,"n":2}"#).contains("two"));
        assert!(ask(&again.base(), "POST", chat, r#"{"else":true}"#).contains("one"));
        assert!(ask(&again.base(), "POST", chat, "{}").contains(" 400 "));
        assert!(ask(&again.base(), "GET", "/v1/models", "").contains("scripted-model"));
        let (tally, _) = again.settle();
        assert_eq!((tally.calls, tally.drifted, tally.refused), (3, 1, 1));
    }

    #[test]
    fn an_endpoint_that_is_not_there_is_said() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let endpoint = MeasuredEndpoint::new(&format!("http://{free}/v1"), None).unwrap();
        let proxy = Proxy::start(ProxySource::Endpoint(endpoint)).unwrap();
        assert!(ask(&proxy.base(), "POST", "/v1/chat/completions", "{}").contains(" 502 "));
        assert_eq!(proxy.settle().0.refused, 1);
    }
}
