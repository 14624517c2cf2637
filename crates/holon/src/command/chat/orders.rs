//! The orders about a thread itself: its changes, and what its tools may do.

use serde_json::{Map, Value};

use super::conversation::ChatConversation;
use super::view::text;
use crate::show::patch;
use crate::terminal::{TextStyle, visible};
use crate::threads::ApiTrouble;

impl ChatConversation<'_> {
    /// The thread, or the remark that there is none yet.
    fn begun(&mut self) -> Option<String> {
        if self.thread.is_none() {
            self.screen.line("nothing was said in this thread yet");
        }
        self.thread.clone()
    }

    /// Shows what is not applied yet.
    pub(super) fn diff(&mut self) -> Result<(), ApiTrouble> {
        let Some(id) = self.begun() else { return Ok(()) };
        let diff = self.api.diff(&id)?;
        let words = text(&diff["patch"]);
        if words.is_empty() {
            self.screen.line("nothing is changed");
            return Ok(());
        }
        self.screen.as_it_is(patch::coloured(words.as_bytes(), self.terminal.stdout).trim_end());
        let listed = |name: &str| -> Vec<String> {
            diff[name].as_array().into_iter().flatten().map(|path| visible(text(path))).collect()
        };
        for (name, remark) in [
            ("moved", "changed in the folder meanwhile, so it cannot be applied"),
            ("sensitive", "steers tools: /apply --allow-sensitive"),
        ] {
            for path in listed(name) {
                self.screen.styled(TextStyle::Yellow, &format!("{path}: {remark}"));
            }
        }
        Ok(())
    }

    /// Brings it into the folder.
    pub(super) fn apply(&mut self, allow_sensitive: bool) -> Result<(), ApiTrouble> {
        let Some(id) = self.begun() else { return Ok(()) };
        let applied = self.api.apply(&id, allow_sensitive)?;
        let files: Vec<String> =
            applied["files"].as_array().into_iter().flatten().map(|path| visible(text(path))).collect();
        if files.is_empty() {
            self.screen.line("there is nothing to apply");
        } else {
            self.screen.styled(TextStyle::Green, &format!("applied: {}", files.join(", ")));
        }
        Ok(())
    }

    /// Shows what tools may do, or changes it.
    pub(super) fn tools(&mut self, change: Option<(String, String)>) -> Result<(), ApiTrouble> {
        let Some(id) = self.begun() else { return Ok(()) };
        let thread = self.api.head(&id)?;
        let mut table: Map<String, Value> = thread["tools"].as_object().cloned().unwrap_or_default();
        if let Some((name, verdict)) = change {
            if verdict == "-" {
                table.remove(&name);
            } else {
                table.insert(name, verdict.into());
            }
            let set = self.api.set_tools(&id, &Value::Object(table))?;
            table = set["tools"].as_object().cloned().unwrap_or_default();
        }
        if table.is_empty() {
            self.screen.line("every tool as the mode says");
        }
        for (name, verdict) in table {
            self.screen.line(&visible(&format!("{name}: {}", text(&verdict))));
        }
        Ok(())
    }

    /// Takes turns back.
    pub(super) fn undo(&mut self, turn: Option<u64>) -> Result<(), ApiTrouble> {
        let Some(id) = self.begun() else { return Ok(()) };
        let undone = self.api.undo(&id, turn)?;
        let turns: Vec<String> =
            undone["turns"].as_array().into_iter().flatten().map(Value::to_string).collect();
        self.screen.line(&format!("taken back: turn {}", turns.join(", ")));
        Ok(())
    }
}
