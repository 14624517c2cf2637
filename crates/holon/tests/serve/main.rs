//! The chat server end to end: the real binary over real HTTP, real walls, and a cassette or a scripted model server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod branches;
mod changes;
mod doors;
mod ending;
mod evidence;
mod full;
mod gone;
mod heavy;
mod http;
mod killed;
mod meanwhile;
mod modes;
mod numbers;
mod outputs;
mod page;
mod people;
mod runs;
mod stage;
mod streams;
mod supervised;
mod traces;
mod ways;
