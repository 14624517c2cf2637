//! What may be reached: rules as people write them, and the book a connection is judged by.

mod access;
mod book;
mod client_set;
mod error;
mod host_name;
mod host_target;
mod reading_scope;
mod repository_path;
mod rule;

pub use access::{Permit, PermitAccess, PermitSource};
pub use book::{PermitBook, PermitRefusal};
pub use client_set::{ClientSet, PackageFamily, RemoteName};
pub use error::PermitError;
pub use host_name::HostName;
pub use host_target::{HostTarget, TargetHost};
pub use repository_path::RepositoryPath;
pub use rule::{HostPattern, HostRule, PermitRule};

pub(crate) use reading_scope::{ReadingScope, ReadingSubject};
pub(crate) use repository_path::RepositoryRequest;
