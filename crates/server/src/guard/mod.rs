//! Who may come in, under which name, and how often.

mod concurrency_limit;
mod idle_guard;
mod kept;
mod peer;
mod rate;
mod request_handler;
mod session;
mod token;

pub(crate) use concurrency_limit::{ConcurrencyLimit, ConcurrencyPermit};
pub(crate) use idle_guard::{IdleGuardListener, PATIENCE};
pub(crate) use kept::kept;
pub use kept::{TokenFileError, only_its_owners};
pub(crate) use peer::OwnUsers;
pub(crate) use rate::RateLimiter;
pub(crate) use request_handler::{ViaUnixSocket, enter};
pub(crate) use session::Sessions;
pub(crate) use token::AccessTokens;

/// Who asks; every request has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestUser(pub(crate) String);

/// The owner of a server that knows nobody else.
pub(crate) const LOCAL: &str = "local";
