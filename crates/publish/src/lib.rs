//! Finished output folders to GitHub, code scanning, test reports and plain Markdown; and context the other way.
//!
//! The agent never holds a publishing token. A separate step takes the folder that a run left, checks that it is the folder
//! the host sealed, decides in pure functions what belongs where, and carries that out. Everything can be repeated: state
//! is read back from the forge through markers, and what is already there is left alone.

pub mod api;
pub mod auth;
pub mod branch;
pub mod context;
mod error;
mod facts;
pub mod folder;
pub mod github;
mod marker;
pub mod report;
pub mod review;
mod target;
pub mod text;
mod token;
mod whole;

pub use error::PublishError;
pub use facts::PublicationFacts;
pub use folder::{PublishReadiness, VerifiedOutput};
pub use marker::Marker;
pub use target::{PublishTarget, RepoName};
pub use token::ForgeToken;
