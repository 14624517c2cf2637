//! The proxy that a run's loopback leads to.

mod account_path;
mod carried_body;
mod carry;
mod head;
mod limits;
mod meter;
mod network_proxy;
mod opening;
mod prefixed;
mod race;
mod refusal_answer;
mod registry_addresses;
mod request;
mod requests;
mod run_network;
mod second_hello;
mod serve;
mod tunnel;

pub use limits::NetworkLimits;
pub use network_proxy::{NetworkProxy, NetworkProxyError};
pub use run_network::NetworkSettings;
