//! Turns: from a message to stored events.

mod carry;
mod end;
mod keeper;
mod notes;
mod plan;
mod recover;
mod report;
mod scribe;
mod start;
mod title;
mod traced;

pub(crate) use recover::recover;
pub(crate) use start::{Ask, MODES, Resume, cancel, given_up, resume, start};
