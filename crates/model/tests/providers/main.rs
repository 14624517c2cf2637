//! Providers against scripted servers: every trap, over a real socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod detection;
mod failures;
mod fallback;
mod patience;
mod servers;
mod wires;

use std::time::Duration;

use holon_model::retry::Backoff;
use holon_model::{
    Blocking, Cancel, Delta, Http, ModelError, Provider, Reply, Request, Retrying, Timeouts, Wire,
};
use holon_testkit::model::ModelServer;

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Messages];

/// Long enough for a busy machine, short enough for a person.
fn timeouts() -> Timeouts {
    let seconds = Duration::from_secs(20);
    Timeouts { connect: seconds, head: seconds, idle: seconds }
}

fn http(server: &ModelServer) -> Http {
    Http::new(server.endpoint(), timeouts()).unwrap()
}

/// Retries that wait next to nothing unless the server asks for more.
fn retrying(server: &ModelServer) -> Retrying<Http> {
    Retrying::with(http(server), quick(), || 0.0)
}

fn quick() -> Backoff {
    Backoff { base: Duration::from_millis(1), ..Backoff::default() }
}

fn ask(provider: impl Provider, request: &Request) -> (Vec<Delta>, Result<Reply, ModelError>) {
    let mut deltas = Vec::new();
    let mut sink = |delta| deltas.push(delta);
    let reply = Blocking::new(provider).unwrap().stream(request, &mut sink, &Cancel::default());
    (deltas, reply)
}

fn hello() -> Request {
    Request::new("m", "hello")
}
