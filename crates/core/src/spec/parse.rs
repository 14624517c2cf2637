//! Stub
use serde::Deserialize;
use super::*;
/// Largest.
pub const MAX_BYTES: usize = 256 * 1024;
/// Warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub key: String,
    /// The line, when known.
    pub line: Option<u64>,
    /// Text.
    pub message: String,
}
/// Error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct SpecError {
    /// The file.
    pub file: String,
    /// Line.
    pub line: Option<u64>,
    /// The key.
    pub key: Option<String>,
    /// Message.
    pub message: String,
    /// What to do.
    pub remedy: Option<String>,
}
pub(super) fn goal<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Goal, D::Error> {
    Goal::deserialize(d)
}
/// Parses.
pub fn parse(_text: &str, file: &str) -> Result<(Spec, Vec<Warning>), SpecError> {
    Err(SpecError { file: file.to_owned(), line: None, key: None, message: "stub".into(), remedy: None })
}
