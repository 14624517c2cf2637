//! What is known from what was done: the part of a conversation that no shortening may lose.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::supervisor_hook::ToolCallEvidence;
use crate::text::{head, shorten};

/// How many entries each list keeps, newest ones.
const MOST: usize = 10;
/// How many changed files are remembered.
const MOST_FILES: usize = 200;

/// Facts of a conversation; lists are bounded, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationFacts {
    /// What the user said after the goal.
    pub asked: Vec<String>,
    /// Files that were changed.
    pub changed: BTreeMap<String, NetFileChange>,
    /// Commands whose last run failed.
    pub failures: Vec<CommandFailure>,
    /// The command that passed last.
    pub passed: Option<String>,
    /// What was denied or answered by a person.
    pub decisions: Vec<String>,
    /// What the model said last.
    pub said: Vec<String>,
    /// Artifacts that were handed over.
    pub handed: BTreeSet<String>,
    /// Whether anything was looked at: read, searched, run, or by a helper.
    pub looked: bool,
}

/// A file before and after everything that was done to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetFileChange {
    /// Its first digest; `None` when there was no such file.
    pub before: Option<String>,
    /// Its last digest; `None` when it is gone.
    pub after: Option<String>,
}

/// A command whose last run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandFailure {
    /// The shell line.
    pub command: String,
    /// How it ended.
    pub how: String,
    /// The end of what it printed.
    pub tail: String,
}

impl ConversationFacts {
    /// The user said something more.
    pub(crate) fn asked(&mut self, text: &str) {
        push(&mut self.asked, shorten(text, 2_000));
    }

    /// The model said something.
    pub(crate) fn said(&mut self, text: &str) {
        if !text.trim().is_empty() {
            push(&mut self.said, head(text.trim(), 300));
        }
    }

    /// Something was decided.
    pub(crate) fn decided(&mut self, text: &str) {
        let text = head(text, 300);
        self.decisions.retain(|known| *known != text);
        push(&mut self.decisions, text);
    }

    /// A command failed; its earlier failure is replaced.
    pub(crate) fn failed(&mut self, command: &str, how: &str, output: &str) {
        let command = head(command, 300);
        self.failures.retain(|failure| failure.command != command);
        let tail = crate::text::tail(output.trim_end(), 800);
        push(&mut self.failures, CommandFailure { command, how: how.to_owned(), tail });
    }

    /// A command passed, so an earlier failure of it is history.
    pub(crate) fn passed(&mut self, command: &str) {
        let command = head(command, 300);
        self.failures.retain(|failure| failure.command != command);
        self.passed = Some(command);
    }

    /// Takes what a call proves about files.
    pub(crate) fn learn(&mut self, evidence: &ToolCallEvidence) {
        let ToolCallEvidence::Changed { path, before, after } = evidence else { return };
        let full = self.changed.len() >= MOST_FILES && !self.changed.contains_key(path);
        if !full {
            let change = self
                .changed
                .entry(path.clone())
                .or_insert_with(|| NetFileChange { before: before.clone(), after: None });
            change.after.clone_from(after);
        }
    }
}

fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() >= MOST {
        list.remove(0);
    }
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_open_until_the_command_passes() {
        let mut facts = ConversationFacts::default();
        facts.failed("cargo test", "exit code 101", "first");
        facts.failed("make", "exit code 2", "other");
        facts.failed("cargo test", "exit code 101", "second");
        let open: Vec<&str> = facts.failures.iter().map(|f| f.tail.as_str()).collect();
        assert_eq!(open, ["other", "second"]);
        facts.passed("cargo test");
        assert_eq!(facts.failures.len(), 1);
        assert_eq!(facts.passed.as_deref(), Some("cargo test"));
    }

    #[test]
    fn a_change_remembers_its_first_and_last_state() {
        let mut facts = ConversationFacts::default();
        let mut learn = |before: Option<&str>, after: Option<&str>| {
            facts.learn(&ToolCallEvidence::Changed {
                path: "a".into(),
                before: before.map(Into::into),
                after: after.map(Into::into),
            });
        };
        learn(Some("1"), Some("2"));
        learn(Some("2"), None);
        assert_eq!(facts.changed["a"], NetFileChange { before: Some("1".into()), after: None });
    }

    #[test]
    fn lists_stay_short() {
        let mut facts = ConversationFacts::default();
        for i in 0..100 {
            facts.failed(&format!("c{i}"), "exit code 1", &"x".repeat(5_000));
            facts.asked(&"y".repeat(5_000));
        }
        assert_eq!((facts.failures.len(), facts.asked.len()), (MOST, MOST));
        assert!(serde_json::to_string(&facts).is_ok_and(|text| text.len() < 50_000));
    }
}
