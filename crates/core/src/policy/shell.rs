//! Stub.
use std::fmt;
/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Fully known.
    Literal(String),
    /// Unknown until it runs.
    Dynamic,
}
/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    /// Names of variables set.
    pub assignments: Vec<String>,
    /// Words.
    pub words: Vec<Word>,
}
impl fmt::Display for SimpleCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.words)
    }
}
/// Not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unparsable(pub String);
/// Splits.
pub fn split(_line: &str) -> Result<Vec<SimpleCommand>, Unparsable> {
    Err(Unparsable("not yet".into()))
}
