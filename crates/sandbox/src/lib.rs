//! The walls around a run: probe, snapshot, isolate, diff.

pub mod backend;
pub mod diff;
pub mod disk;
pub mod expose;
pub mod fallback;
pub mod memory;
pub mod mount;
mod ready;
pub mod snapshot;
pub mod walls;
pub mod writers;
