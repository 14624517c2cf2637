//! Threads as the terminal and editors see them: one server carries them, in this process or in another one.

mod api;
mod carrier;
mod http;
mod language;

pub(crate) use api::{Api, Trouble};
pub(crate) use carrier::{Carrier, Wish};
pub(crate) use http::{Event, Events};
pub(crate) use language::own_words;
