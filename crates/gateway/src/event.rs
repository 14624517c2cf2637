//! What the host gets to know while a run goes on.

use std::sync::Arc;

use holon_model::{ModelError, ReplyStop, TokenUsage};

use crate::account::BudgetLimit;
use crate::client_wire::ClientWire;

/// Something that happened at the door; free of secrets.
#[derive(Debug, Clone, PartialEq)]
pub enum GatewayEvent {
    /// A request was let through.
    Started {
        /// Its number, from 1.
        number: u64,
        /// The wire the client speaks.
        wire: ClientWire,
        /// Bytes of its body.
        bytes: usize,
        /// Whether the answer comes piece by piece.
        stream: bool,
        /// What the client asked for and did not get passed on: fields, and tools that would run at the provider.
        dropped: Vec<String>,
    },
    /// Its answer ended.
    Finished {
        /// Its number.
        number: u64,
        /// The wire the client speaks.
        wire: ClientWire,
        /// Tokens and cost.
        usage: TokenUsage,
        /// True when nobody told the tokens.
        estimated: bool,
        /// The model that answered, where it told.
        model: Option<String>,
        /// Why the answer ended.
        stop: Option<ReplyStop>,
        /// Why there is no whole reply.
        error: Option<ModelError>,
    },
    /// A request was turned away.
    Refused {
        /// The HTTP status of the answer.
        status: u16,
        /// Why.
        message: String,
    },
    /// A request was turned away because this is used up; told once.
    Spent {
        /// What is used up.
        limit: BudgetLimit,
    },
}

/// Receives events on the door's own thread; it must not block.
pub type GatewayWatch = Arc<dyn Fn(&GatewayEvent) + Send + Sync>;
