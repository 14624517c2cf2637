//! Turns: from a message to stored events.

mod call_output;
mod checkpointer;
mod end;
mod event_writer;
mod execution;
mod notes;
mod plan;
mod recover;
mod report;
mod start;
mod title;
mod traced;

pub(crate) use recover::recover;
pub(crate) use start::{MODES, ResumeRequest, TurnRequest, cancel, given_up, resume, start};
