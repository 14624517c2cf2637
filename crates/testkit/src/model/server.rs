//! A server on a free port of loopback that follows a script.

use std::collections::VecDeque;
use std::fmt;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use holon_model::{Cassette, Endpoint, ProviderKey, WireFormat};
use serde_json::Value;

use super::connection;
use super::script::ScriptedResponse;

/// A request that a server saw.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    /// The connection it came on, counted from 0.
    pub connection: usize,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, `null` when that is no JSON.
    pub body: Value,
    /// Bytes of the body as it was sent.
    pub bytes: usize,
}

impl ReceivedRequest {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A scripted model server; it ends when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    wire: WireFormat,
    shared: Arc<ModelServerState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct ModelServerState {
    pub(super) source: ResponseSource,
    pub(super) seen: Mutex<Vec<ReceivedRequest>>,
    /// Requests so far.
    pub(super) count: AtomicUsize,
    pub(super) models: Mutex<Vec<String>>,
    /// What is answered at other paths: a status, a type and a body.
    pub(super) facts: Mutex<Vec<(String, u16, String, String)>>,
    pub(super) over: AtomicBool,
}

/// Where answers come from.
#[derive(Debug)]
pub(super) enum ResponseSource {
    /// In the order of a script, on one wire.
    Script(WireFormat, Mutex<ServerScript>),
    /// From a function that knows the request, on all wires.
    Function(Improviser),
}

pub(super) struct Improviser(Box<ImproviserFn>);

type ImproviserFn = dyn Fn(WireFormat, &ReceivedRequest) -> ScriptedResponse + Send + Sync;

impl fmt::Debug for Improviser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Improviser")
    }
}

impl ResponseSource {
    /// The wire a path belongs to, if it is served.
    pub(super) fn wire_of(&self, path: &str) -> Option<WireFormat> {
        let path = path.split('?').next().unwrap_or_default();
        let served = |wire: &WireFormat| match self {
            Self::Script(own, _) => own == wire,
            Self::Function(_) => true,
        };
        [WireFormat::Chat, WireFormat::Responses, WireFormat::Messages]
            .into_iter()
            .filter(served)
            .find(|wire| path.ends_with(wire.path()))
    }

    /// Whether requests are kept; a function sees each of them, and there may be very many.
    pub(super) fn keeps(&self) -> bool {
        matches!(self, Self::Script(..))
    }

    /// The next answer and its number, from 1.
    pub(super) fn next(
        &self,
        wire: WireFormat,
        seen: &ReceivedRequest,
        number: usize,
    ) -> Option<(usize, ScriptedResponse)> {
        match self {
            Self::Script(_, script) => script.lock().unwrap_or_else(PoisonError::into_inner).next(),
            Self::Function(Improviser(answer)) => Some((number, answer(wire, seen))),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct ServerScript {
    entries: VecDeque<ScriptedResponse>,
    number: usize,
}

impl ServerScript {
    /// The next entry and its number, from 1.
    pub(super) fn next(&mut self) -> Option<(usize, ScriptedResponse)> {
        let entry = self.entries.pop_front()?;
        self.number += 1;
        Some((self.number, entry))
    }
}

impl ModelServer {
    /// Serves a cassette; what its turns expect of requests is not checked here, ask [`Self::requests`].
    #[track_caller]
    pub fn play(wire: WireFormat, cassette: &str) -> Self {
        let cassette: Cassette = cassette.parse().unwrap_or_else(|error| panic!("{error}"));
        Self::start(wire, cassette.turns.into_iter().map(ScriptedResponse::from))
    }

    /// Serves a script.
    pub fn start(wire: WireFormat, script: impl IntoIterator<Item = ScriptedResponse>) -> Self {
        let script = ServerScript { entries: script.into_iter().collect(), number: 0 };
        Self::serving(wire, ResponseSource::Script(wire, Mutex::new(script)))
    }

    /// Serves all three wires, each told by the path; what `answer` makes of a request is its answer.
    /// Requests are not kept.
    pub fn improvise(
        answer: impl Fn(WireFormat, &ReceivedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Self {
        Self::serving(WireFormat::Chat, ResponseSource::Function(Improviser(Box::new(answer))))
    }

    fn serving(wire: WireFormat, source: ResponseSource) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(ModelServerState {
            source,
            seen: Mutex::default(),
            count: AtomicUsize::default(),
            models: Mutex::new(vec!["scripted-model".to_owned()]),
            facts: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || serve(&listener, &for_thread));
        Self { address, wire, shared, thread: Some(thread) }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The base URL for clients.
    pub fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The endpoint for [`holon_model::HttpProvider`], with a key that is none.
    pub fn endpoint(&self) -> Endpoint {
        let endpoint =
            Endpoint::compatible("scripted", &self.base(), Some(ProviderKey::new("test-key-0123456789")));
        Endpoint { wire: self.wire, ..endpoint }
    }

    /// Says that it has these models instead of `scripted-model`.
    #[must_use]
    pub fn with_models<'a>(self, models: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = self.shared.models.lock().unwrap_or_else(PoisonError::into_inner);
        *all = models.into_iter().map(str::to_owned).collect();
        drop(all);
        self
    }

    /// Answers with this JSON at a path, such as `/props`, whatever is asked there; `/v1/models` may be one.
    #[must_use]
    pub fn with_fact(self, path: &str, body: &Value) -> Self {
        self.with_answer(path, 200, "application/json", &body.to_string())
    }

    /// Answers with a status, a type and a body at a path; what was said there before is forgotten.
    #[must_use]
    pub fn with_answer(self, path: &str, status: u16, kind: &str, body: &str) -> Self {
        let fact = (path.to_owned(), status, kind.to_owned(), body.to_owned());
        let mut facts = self.shared.facts.lock().unwrap_or_else(PoisonError::into_inner);
        facts.retain(|(known, ..)| known != path);
        facts.push(fact);
        drop(facts);
        self
    }

    /// The requests so far; those for what the server says about itself are left out.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many entries of the script are left; none when there is no script.
    pub fn left(&self) -> usize {
        match &self.shared.source {
            ResponseSource::Script(_, script) => {
                script.lock().unwrap_or_else(PoisonError::into_inner).entries.len()
            }
            ResponseSource::Function(_) => 0,
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, shared: &Arc<ModelServerState>) {
    for (number, stream) in listener.incoming().enumerate() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || connection::answer(stream, number, &shared));
    }
}
