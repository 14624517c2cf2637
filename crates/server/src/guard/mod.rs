//! Who may come in, under which name, and how often.

mod door;
mod kept;
mod lively;
mod peer;
mod rate;
mod seats;
mod session;
mod token;

pub(crate) use door::{Indoors, enter};
pub(crate) use kept::kept;
pub use kept::{TokenFileError, only_its_owners};
pub(crate) use lively::{Lively, PATIENCE};
pub(crate) use peer::OwnUsers;
pub(crate) use rate::Rates;
pub(crate) use seats::{Seat, Seats};
pub(crate) use session::Sessions;
pub(crate) use token::Tokens;

/// Who asks; every request has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User(pub(crate) String);

/// The owner of a server that knows nobody else.
pub(crate) const LOCAL: &str = "local";
