//! Tests of the whole: runs told fact by fact, and random ones by the ten thousand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bounds;
mod healthy;
mod keys;
mod never;
mod plans;
mod shadows;
mod streams;
mod takeovers;
mod tools;
