//! How much a run may demand of its network.

use std::time::Duration;

/// Bounds on connections, bytes and patience; the defaults suit every client and leave a hostile one little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkLimits {
    /// Connections at a time; more are answered with 503 and closed.
    pub connections: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// The time for a request's head or the first message of an encrypted connection, and between two requests.
    pub head_time: Duration,
    /// Bytes of an address that is only read.
    pub url_bytes: usize,
    /// Bytes of what a git client says it has and wants, unpacked.
    pub git_request: usize,
    /// Bytes that go out to one host.
    pub sent: u64,
    /// Bytes that go out to one host that is only read.
    pub sent_reading: u64,
    /// Bytes that come in from one host.
    pub received: u64,
    /// How long a connection may be idle.
    pub idle: Duration,
    /// How long a name may take to resolve, and a connection to open.
    pub connect: Duration,
}

const MIB: u64 = 1024 * 1024;

impl Default for NetworkLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connections: 256,
            headers: 100,
            head_bytes: 32 * 1024,
            head_time: seconds(30),
            url_bytes: 2048,
            git_request: 2 * 1024 * 1024,
            sent: 1024 * MIB,
            sent_reading: 32 * MIB,
            received: 16 * 1024 * MIB,
            idle: seconds(120),
            connect: seconds(10),
        }
    }
}
