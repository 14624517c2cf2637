//! The walls around a run: probe, snapshot, isolate, diff.

pub mod backend;
pub mod mount;
pub mod walls;
