//! Tests of the whole: runs told fact by fact, and random ones by the ten thousand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bounds;
mod keys;
mod modes;
mod never;
mod plans;
mod shadows;
mod streams;
mod takeovers;
mod tools;
