//! The channel between the host and the hands inside the walls.

mod frame;
mod message;
pub(crate) mod remote;
pub(crate) mod serve;
