//! How an agent is driven, described as data: a TOML file per agent, built in, the user's, or the project's.

mod file;
mod find;

pub use file::{Adapter, Kind};
pub use find::{Agent, find, list};
