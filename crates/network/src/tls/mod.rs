//! Encryption: what a client's first message says, the run's own authority, and what this machine trusts.

mod authority;
mod hello;
mod trust;

pub use authority::{AuthorityError, RunAuthority};
pub use trust::{TrustError, UpstreamTrust, machine_bundle};

pub(crate) use hello::{ClientHello, HANDSHAKE, HelloProgress};
