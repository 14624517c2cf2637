//! The walls around a run: probe, snapshot, isolate, diff.

pub mod backend;
pub mod diff;
pub mod disk;
pub mod fallback;
pub mod host_mounts;
pub mod isolation;
pub mod memory;
pub mod mount;
mod ready;
pub mod snapshot;
pub mod writers;
