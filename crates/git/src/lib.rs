//! The git command line behind types: hermetic environment, no hooks, no filters.
//!
//! Nothing here trusts a repository. Facts are read by hand from bounded regular files, patches are made in a
//! throw-away repository of the host's own. What runs inside the user's repository is `ls-files`, which reads the index and
//! nothing else, `diff-index --cached` and `hash-object --no-filters`, which read no file through a filter, and for a commit that was asked for, `rev-parse`, `var`, `config` and `update-ref`, without hooks.

pub mod apply;
pub mod command;
pub mod commit;
pub mod config;
mod convert;
mod error;
pub mod export;
pub mod index;
pub mod merge;
pub mod objects;
pub mod pointer;
mod quote;
mod read;
pub mod refs;
pub mod repo;
pub mod touched;
pub mod tracked;
pub mod uncommitted;
mod version;
pub mod waits;

pub use command::Git;
pub use error::GitError;
pub use objects::{ObjectFormat, ScratchRepository};
pub use repo::Repository;
pub use touched::{FileMode, PathDigest, TouchedPath};
pub use version::GitVersion;
