//! What is added to the system prompt of one turn only.

use holon_store::{StoredTurn, StoredUpload, TurnState};

/// The notes of a turn, given the turns before it and the files that came with it.
pub(crate) fn notes(mode: &str, before: &[StoredTurn], files: &[StoredUpload]) -> String {
    let mut text = String::new();
    if mode == "plan" {
        text.push_str(
            "\n\n# Plan mode\n\nThis turn is for thinking. You can look, search and ask; running commands, writing and \
             editing files are refused, and a refused call ends the turn. Work out what should be done, and say that the \
             person can switch to build mode to have it done.",
        );
    }
    if !files.is_empty() {
        text.push_str("\n\n# Files of this message\n\nThe person sent these; they are read-only:\n");
        for file in files {
            text.push_str(&format!(
                "\n- /holon/input/context/uploads/{} ({} bytes)",
                seen_as(file),
                file.bytes
            ));
        }
    }
    let undone: Vec<String> = before
        .iter()
        .rev()
        .take_while(|turn| turn.state == TurnState::Undone)
        .map(|turn| turn.number.to_string())
        .collect();
    if !undone.is_empty() {
        text.push_str(&format!(
            "\n\n# Taken back\n\nThe person took back what you changed in turn {}: the files are as they were before it.",
            undone.join(", ")
        ));
    }
    if let Some(last) = before.last().filter(|turn| turn.state == TurnState::Interrupted) {
        let asked: String = last.message.chars().take(1000).collect();
        text.push_str(&format!(
            "\n\n# Cut off\n\nThe turn before was cut off in the middle. Some of what it did may be in the files and not \
             in this conversation: look before you go on. The person had said:\n\n> {}",
            asked.replace('\n', "\n> ")
        ));
    }
    text
}

/// The name of an upload inside: its own, told apart by its id.
pub(crate) fn seen_as(file: &StoredUpload) -> String {
    let tail = file.id.get(file.id.len().saturating_sub(6)..).unwrap_or_default();
    format!("{tail}-{}", file.name)
}
