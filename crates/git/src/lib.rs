//! The git command line behind types: hermetic environment, no hooks, no filters.
//!
//! Nothing here trusts a repository. Facts are read by hand from bounded regular files, patches are made in a
//! throw-away repository of the host's own, and the one command that runs inside the user's repository
//! (`ls-files`) reads the index and nothing else.

pub mod apply;
pub mod command;
pub mod config;
mod error;
pub mod merge;
pub mod objects;
pub mod pointer;
mod quote;
mod read;
pub mod refs;
pub mod repo;
pub mod touched;
pub mod tracked;
mod version;

pub use command::Git;
pub use error::Error;
pub use objects::{ObjectFormat, Scratch};
pub use repo::Repository;
pub use touched::{Digest, FileMode, Touched};
pub use version::Version;
