//! The real gateway on loopback, with scripted providers behind it and raw sockets before it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attended;
mod budgets;
mod client;
mod echo;
mod failures;
mod gemini;
mod hostile;
mod login;
mod recording;
mod secrets;
mod serving;

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{Answer, Client};
use holon_gateway::{Event, Gateway, Settings, Token, Upstream};
use holon_model::{Cassette, Dialect, Endpoint, Normaliser, Replay, Request, Timeouts, Wire};
use holon_testkit::model::ModelServer;
use serde_json::{Value, json};

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Messages];
const TOKEN: &str = "holon-token-for-tests";
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn timeouts() -> Timeouts {
    Timeouts { connect: PATIENCE, head: PATIENCE, idle: PATIENCE }
}

/// A gateway, its address and what it told.
struct Open {
    gateway: Gateway,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Open {
    fn with(upstream: Upstream, change: impl FnOnce(&mut Settings)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut settings = Settings::new(Token::new(TOKEN), "the-model", upstream);
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let heard = Arc::clone(&events);
        settings.watch = Some(Arc::new(move |event: &Event| heard.lock().unwrap().push(event.clone())));
        change(&mut settings);
        Self { gateway: Gateway::start(listener, settings).unwrap(), events }
    }

    fn pass(server: &ModelServer) -> Self {
        Self::with(passing(server.endpoint()), |_| {})
    }

    fn any(cassette: &str) -> Self {
        Self::with(replay(cassette), |_| {})
    }

    fn client(&self) -> Client {
        Client::connect(self.gateway.address().unwrap())
    }

    /// Sends a request with the token and gives the whole answer.
    fn ask(&self, wire: Wire, body: &Value) -> Answer {
        self.client().post(&format!("/v1{}", wire.path()), &body.to_string())
    }

    fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }
}

fn passing(endpoint: Endpoint) -> Upstream {
    Upstream::Pass { endpoint, timeouts: timeouts() }
}

fn replay(cassette: &str) -> Upstream {
    let cassette: Cassette = cassette.parse().unwrap();
    Upstream::Any(Arc::new(Replay::new(cassette, Normaliser::default())))
}

/// A small request on a wire, as the model crate writes it.
fn body(wire: Wire, text: &str) -> Value {
    let mut request = Request::new("whatever", text);
    request.max_output = Some(100);
    wire.encode(&request, Dialect::Compatible)
}

fn not_streamed(wire: Wire, text: &str) -> Value {
    let mut body = body(wire, text);
    body["stream"] = json!(false);
    body
}
