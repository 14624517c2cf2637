//! `holon serve` under load: the server, a model that takes its time, and clients.

mod client;
mod load;
mod server;

pub(crate) use client::{Client, Heard};
pub(crate) use load::{Load, p99};
pub(crate) use server::Served;
