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
    BlockingProvider, HttpProvider, HttpTimeouts, ModelCancel, ModelError, ModelReply, ModelRequest,
    Provider, ReplyDelta, RetryingProvider, WireFormat,
};
use holon_testkit::model::ModelServer;

const WIRES: [WireFormat; 3] = [WireFormat::Chat, WireFormat::Responses, WireFormat::Messages];

/// Long enough for a busy machine, short enough for a person.
fn timeouts() -> HttpTimeouts {
    let seconds = Duration::from_secs(20);
    HttpTimeouts { connect: seconds, head: seconds, idle: seconds }
}

fn http(server: &ModelServer) -> HttpProvider {
    HttpProvider::new(server.endpoint(), timeouts()).unwrap()
}

/// Retries that wait next to nothing unless the server asks for more.
fn retrying(server: &ModelServer) -> RetryingProvider<HttpProvider> {
    RetryingProvider::with(http(server), quick(), || 0.0)
}

fn quick() -> Backoff {
    Backoff { base: Duration::from_millis(1), ..Backoff::default() }
}

fn ask(provider: impl Provider, request: &ModelRequest) -> (Vec<ReplyDelta>, Result<ModelReply, ModelError>) {
    let mut deltas = Vec::new();
    let mut sink = |delta| deltas.push(delta);
    let reply = BlockingProvider::new(provider).unwrap().stream(request, &mut sink, &ModelCancel::default());
    (deltas, reply)
}

fn hello() -> ModelRequest {
    ModelRequest::new("m", "hello")
}
