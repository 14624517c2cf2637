//! Snapshots and patches, end to end: a workspace, what an agent does to its copy, and the patch applied to
//! another copy of the workspace as it was.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod battery;
mod cases;
mod kernel;
mod layers;
mod moved;
mod random;
mod snapshots;
mod world;
