//! How much a client may demand of the door itself.

use std::time::Duration;

/// Bounds on connections, requests and patience; the defaults suit every agent and leave a hostile one little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayLimits {
    /// Connections at a time; more are answered with 503 and closed.
    pub connections: usize,
    /// Requests on one connection; it is closed after the last.
    pub requests: usize,
    /// Requests that wait for a provider at a time; more wait for their turn.
    pub exchanges: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// The time for a request's head, and for how long a connection may be idle.
    pub head_time: Duration,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of all bodies that are being read or served.
    pub bodies_bytes: usize,
    /// The time between two pieces of a body.
    pub body_idle: Duration,
    /// The time for a whole body.
    pub body_time: Duration,
    /// How long the rest of a body is taken in after its request was refused, so that the client can read why.
    pub linger: Duration,
    /// Values in a body; small ones take far more memory than bytes.
    pub json_values: usize,
    /// How long a client may leave an answer unread.
    pub write_idle: Duration,
    /// Bytes of an answer that wait for the client.
    pub pending_bytes: usize,
}

const MIB: usize = 1024 * 1024;

impl Default for GatewayLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connections: 64,
            requests: 1000,
            exchanges: 16,
            headers: 64,
            head_bytes: 64 * 1024,
            head_time: seconds(60),
            body_bytes: 32 * MIB,
            bodies_bytes: 96 * MIB,
            body_idle: seconds(30),
            body_time: seconds(300),
            linger: seconds(1),
            json_values: 400_000,
            write_idle: seconds(120),
            pending_bytes: MIB,
        }
    }
}
