//! `holon serve` under load: the server, a model that takes its time, and clients.

mod client;
mod load;
mod server;

pub(crate) use client::{LoadClient, MeasuredTurn};
pub(crate) use load::{LoadResult, p99};
pub(crate) use server::MeasuredServer;
