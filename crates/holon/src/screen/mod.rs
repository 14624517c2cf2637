//! A person at an agent's own screen.
//!
//! Two processes share the work. One has the person's terminal and nothing else to lose (`client`): it gives the terminal
//! away key by key, and takes it back whatever happens. The other carries the run (`process`, `carrier`) and has no terminal,
//! so that it outlives every one: whoever leaves can come back through the door in the run's folder. Each looks after the
//! other: when the first is killed, the second makes its terminal good; when the second is, the walls fall, and the first
//! takes the terminal back.

mod carrier;
mod client;
mod detach;
mod door;
mod filter;
mod frame;
mod modes;
mod person_side;
mod process;

pub(crate) use client::{SessionEnd, begin, come_back, is_there};
pub(crate) use process::carry_if_asked;
