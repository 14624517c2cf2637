//! The real gateway on loopback, with scripted providers behind it and raw sockets before it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attended;
mod budgets;
mod client;
mod echo;
mod failures;
mod gemini;
mod hostile;
mod recording;
mod secrets;
mod serving;

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{RawClient, RawResponse};
use holon_gateway::{Gateway, GatewayEvent, GatewaySettings, GatewayToken, Upstream};
use holon_model::{
    Cassette, Endpoint, HttpTimeouts, ModelRequest, Normaliser, ReplayProvider, WireDialect, WireFormat,
};
use holon_testkit::model::ModelServer;
use serde_json::{Value, json};

const WIRES: [WireFormat; 3] = [WireFormat::Chat, WireFormat::Responses, WireFormat::Messages];
const TOKEN: &str = "holon-token-for-tests";
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn timeouts() -> HttpTimeouts {
    HttpTimeouts { connect: PATIENCE, head: PATIENCE, idle: PATIENCE }
}

/// A gateway, its address and what it told.
struct OpenGateway {
    gateway: Gateway,
    events: Arc<Mutex<Vec<GatewayEvent>>>,
}

impl OpenGateway {
    fn with(upstream: Upstream, change: impl FnOnce(&mut GatewaySettings)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut settings = GatewaySettings::new(GatewayToken::new(TOKEN), "the-model", upstream);
        let events: Arc<Mutex<Vec<GatewayEvent>>> = Arc::default();
        let heard = Arc::clone(&events);
        settings.watch =
            Some(Arc::new(move |event: &GatewayEvent| heard.lock().unwrap().push(event.clone())));
        change(&mut settings);
        Self { gateway: Gateway::start(listener, settings).unwrap(), events }
    }

    fn pass(server: &ModelServer) -> Self {
        Self::with(passing(server.endpoint()), |_| {})
    }

    fn any(cassette: &str) -> Self {
        Self::with(replay(cassette), |_| {})
    }

    fn client(&self) -> RawClient {
        RawClient::connect(self.gateway.address().unwrap())
    }

    /// Sends a request with the token and gives the whole answer.
    fn ask(&self, wire: WireFormat, body: &Value) -> RawResponse {
        self.client().post(&format!("/v1{}", wire.path()), &body.to_string())
    }

    fn events(&self) -> Vec<GatewayEvent> {
        self.events.lock().unwrap().clone()
    }
}

fn passing(endpoint: Endpoint) -> Upstream {
    Upstream::Pass { endpoint, timeouts: timeouts() }
}

fn replay(cassette: &str) -> Upstream {
    let cassette: Cassette = cassette.parse().unwrap();
    Upstream::Any(Arc::new(ReplayProvider::new(cassette, Normaliser::default())))
}

/// A small request on a wire, as the model crate writes it.
fn body(wire: WireFormat, text: &str) -> Value {
    let mut request = ModelRequest::new("whatever", text);
    request.max_output = Some(100);
    wire.encode(&request, WireDialect::Compatible)
}

fn not_streamed(wire: WireFormat, text: &str) -> Value {
    let mut body = body(wire, text);
    body["stream"] = json!(false);
    body
}
