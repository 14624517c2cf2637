//! Credentials that the host puts on requests outside, and keeps out of everything that goes inside.

mod host_credential;
mod scrub;

pub use host_credential::{CredentialError, CredentialForm, HostCredential};

pub(crate) use scrub::{CredentialScrub, ScrubbedStream};
