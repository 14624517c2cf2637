//! What happened on the network of a run, as it happens.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reason::RefusalReason;
use crate::arrival::PackageArrival;

/// How a connection is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionManner {
    /// Encrypted bytes that the host does not read.
    Tunnel,
    /// The same, for a host that should have been read but whose client does not accept the run's authority.
    Opaque,
    /// Bytes of another protocol, at a port that a permit names.
    Raw,
    /// Requests that the host reads, unencrypted from end to end.
    Plain,
    /// Requests that the host reads, encrypted on both sides.
    Read,
}

/// Something that happened; free of secrets, queries and bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum NetworkEvent {
    /// A connection to the outside was opened.
    Allowed {
        /// Its number, from 1.
        connection: u64,
        /// Where to: host and port.
        target: String,
        /// The address it went to; absent behind a company's proxy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
        /// How it is carried.
        manner: ConnectionManner,
        /// The client whose set permits it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        set: Option<String>,
    },
    /// A connection or a request was refused.
    Refused {
        /// Where to; empty when the request does not say.
        target: String,
        /// Why.
        #[serde(flatten)]
        reason: RefusalReason,
        /// The same, to read.
        message: String,
        /// The flag that would allow it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flag: Option<String>,
    },
    /// A connection ended.
    Finished {
        /// Its number.
        connection: u64,
        /// Where to.
        target: String,
        /// Bytes that went out.
        sent: u64,
        /// Bytes that came in.
        received: u64,
    },
    /// A package came in.
    Arrived {
        /// What it is.
        package: PackageArrival,
    },
}

/// Receives events on the network's own threads; it must not block.
pub type NetworkWatch = Arc<dyn Fn(&NetworkEvent) + Send + Sync>;
