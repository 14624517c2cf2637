//! Threads as the terminal and editors see them: one server carries them, in this process or in another one.

mod api;
mod carrier;
mod http;
mod language;

pub(crate) use api::{ApiTrouble, ThreadsApi};
pub(crate) use carrier::{Carrier, ReplySourceFlags};
pub(crate) use http::{EventStream, StreamEvent};
pub(crate) use language::own_words;
