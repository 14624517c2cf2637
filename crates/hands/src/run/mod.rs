//! Commands: a shell line to its end, jobs in the background, programs to converse with.

pub(crate) mod command;
mod ends;
mod fold;
mod follow;
pub(crate) mod group;
pub(crate) mod job;
mod legible;
mod output;
pub(crate) mod output_store;
pub(crate) mod shell;
