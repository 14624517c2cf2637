//! A line typed at the terminal: keys, the text they make, how it is drawn, and the terminal's modes meanwhile.

mod editor;
mod keyboard;
mod keys;
mod layout;

pub(super) use editor::LineEditor;
pub(super) use keyboard::{Keyboard, LinePrompt, TypedLine};
