//! A patch on its way to a branch: applied in a repository of our own, pushed over nobody's work.

mod bench;
mod conflict;
mod remote;
mod stamp;

pub use bench::{Bench, Commit};
pub use conflict::Conflict;
pub use remote::Remote;
pub use stamp::{Existing, Stamp, Standing, standing};
