//! The only door from a sandbox to a model: per-run token, key injection, budgets, recording.
//!
//! The listener is inside the sandbox's network namespace and answered from outside. Clients show a placeholder; the real
//! key is added on the way out and never comes back. A client of the provider's own wire has its bytes passed through,
//! narrowed to what is harmless; any other is translated by way of the model crate's requests and replies. Google's wire is
//! always translated: clients may speak it, but no provider is asked in it.

mod account;
mod attend;
mod body;
mod door;
mod event;
mod exchange;
mod flow;
mod gateway;
mod ledger;
mod limits;
mod listen;
mod login;
mod pass;
mod refusal;
mod route;
mod serve;
mod stall;
mod token;
mod tongue;
mod veil;

pub use account::{Account, Budget, Limit};
pub use attend::{Attendance, Attendant, Coming, Inserted, Step, Word, Words};
pub use event::{Event, Watch};
pub use gateway::{Gateway, GatewayError, Recording, Save, Settings, Upstream};
pub use limits::Limits;
pub use token::Token;
pub use tongue::Tongue;
