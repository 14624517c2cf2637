//! Why a statement could not be made, signed or read.

use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum AttestError {
    /// There is nothing a statement could be about.
    #[error("run {run} left nothing that a statement could be about")]
    NoSubject {
        /// The run.
        run: String,
    },
    /// The manifest cannot be read.
    #[error("it is no manifest: {0}")]
    Manifest(String),
    /// A key cannot be used.
    #[error("the key {path} cannot be used: {why}")]
    Key {
        /// Its file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// `ssh-keygen` is missing or refused.
    #[error("ssh-keygen {doing}: {why}")]
    Ssh {
        /// What it was asked for.
        doing: &'static str,
        /// What it said.
        why: String,
    },
    /// What should be an envelope is none.
    #[error("it is no signed statement: {0}")]
    Envelope(String),
    /// A policy cannot be used.
    #[error("the policy {name}: {why}")]
    Policy {
        /// Its name or file.
        name: String,
        /// Why.
        why: String,
    },
}
