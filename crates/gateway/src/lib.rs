//! The only door from a sandbox to a model: per-run token, key injection, budgets, recording.
//!
//! The listener is inside the sandbox's network namespace and answered from outside. Clients show a placeholder; the real
//! key is added on the way out and never comes back. A client of the provider's own wire has its bytes passed through,
//! narrowed to what is harmless; any other is translated by way of the model crate's requests and replies. Google's wire is
//! always translated: clients may speak it, but no provider is asked in it.

mod account;
mod attend;
mod body;
mod client_wire;
mod event;
mod exchange;
mod flow;
mod gateway;
mod key_redactor;
mod ledger;
mod limits;
mod listen;
mod pass;
mod refusal;
mod request_handler;
mod route;
mod serve;
mod stall;
mod token;

pub use account::{BudgetLimit, GatewayAccount, GatewayBudget};
pub use attend::{
    AttendanceSetup, Attendant, AttendantFuture, AttendantVerdict, ConversationStep, ConversationWords,
    InsertionEvent,
};
pub use client_wire::ClientWire;
pub use event::{GatewayEvent, GatewayWatch};
pub use gateway::{CassetteAppend, CassetteRecording, Gateway, GatewayError, GatewaySettings, Upstream};
pub use limits::GatewayLimits;
pub use token::GatewayToken;
