//! Who may come in, under which name, and how often.

mod concurrency_limit;
mod idle_guard;
mod rate;
mod request_handler;
mod token;

pub(crate) use concurrency_limit::{ConcurrencyLimit, ConcurrencyPermit};
pub(crate) use idle_guard::{IdleGuardListener, PATIENCE};
pub(crate) use rate::RateLimiter;
pub(crate) use request_handler::{ViaUnixSocket, enter};
pub(crate) use token::AccessTokens;

/// Who asks; every request has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestUser(pub(crate) String);

/// The user when nobody needs a token.
pub(crate) const LOCAL: &str = "local";
