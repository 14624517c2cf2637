//! Who may come in, under which name, and how often.

mod door;
mod lively;
mod rate;
mod seats;
mod token;

pub(crate) use door::{Indoors, enter};
pub(crate) use lively::{Lively, PATIENCE};
pub(crate) use rate::Rates;
pub(crate) use seats::{Seat, Seats};
pub(crate) use token::Tokens;

/// Who asks; every request has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User(pub(crate) String);

/// The user when nobody needs a token.
pub(crate) const LOCAL: &str = "local";
