//! `holon acp` as an editor sees it: the real binary, driven by the protocol's own client library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod editor;
mod people;
mod refusals;
mod runs;
mod sessions;
mod turns;
