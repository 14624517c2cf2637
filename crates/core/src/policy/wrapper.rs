//! Stub.
use super::shell::{SimpleCommand, Word};
pub(super) struct Unwrapped {
    pub(super) shells: Vec<SimpleCommand>,
    pub(super) command: SimpleCommand,
}
pub(super) fn unwrap_all(commands: Vec<SimpleCommand>) -> Result<Vec<Unwrapped>, String> {
    Ok(commands.into_iter().map(|command| Unwrapped { shells: vec![], command }).collect())
}
pub(super) fn without_global_options(_words: &[Word]) -> Option<Vec<Word>> {
    None
}
