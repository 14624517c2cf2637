//! Signed statements about what a run made, and the policies that decide whether a statement is good enough.
//!
//! A statement is an in-toto Statement v1 made of a manifest and nothing else; it travels in a DSSE envelope, signed by an
//! SSH key (through `ssh-keygen -Y`, so agents and hardware keys work) or an Ed25519 key. [`AttestationPolicy::judge`] is pure: it sees an envelope whose
//! signatures were looked at, and says every rule that is broken.

mod envelope;
mod error;
mod judge;
mod key;
mod policy;
mod rerun;
mod ssh;
mod statement;

pub use envelope::{DsseEnvelope, PAYLOAD_TYPE, Signature};
pub use error::AttestError;
pub use judge::{PresentedChange, Violation, ViolationKind, judge};
pub use key::{PublicKey, SigningKey};
pub use policy::{AttestationPolicy, Signer, builtin_policies};
pub use rerun::{RerunCheck, compare};
pub use ssh::NAMESPACE;
pub use statement::{
    AttestedCheck, AttestedVerification, PREDICATE_TYPE, Predicate, RunStatement, STATEMENT_TYPE,
    StatementSubject,
};
