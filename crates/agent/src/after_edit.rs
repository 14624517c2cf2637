//! After a reply that changed files, the quick checks speak by themselves: the host has their output before the model could
//! ask for it.

use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use std::time::Duration;

use holon_model::cassette::folded;

use crate::check::AgentCheckRun;
use crate::conversation::AgentConversation;
use crate::supervisor_hook::ToolCallEvidence;
use crate::turn::{AgentTurn, TurnFlow};

/// How long a check may take here that was quick before; one that takes longer is not run again.
const LIMIT: Duration = Duration::from_secs(30);

/// Which checks are to speak, and what they said last.
#[derive(Debug, Default)]
pub(crate) struct QuickChecksAfterEdit {
    /// Those that are run.
    quick: Vec<String>,
    /// Those whose last answer is older than the last edit.
    outdated: Vec<String>,
    /// What the model was told of each last, with times folded.
    told: BTreeMap<String, String>,
}

impl QuickChecksAfterEdit {
    pub(crate) fn new(quick: &[String]) -> Self {
        Self { quick: quick.to_vec(), ..Self::default() }
    }

    /// Learns from a call whether a check has something new to say; one that the model ran itself has said it.
    pub(crate) fn hear(&mut self, evidence: &[ToolCallEvidence]) {
        for one in evidence {
            match one {
                ToolCallEvidence::Changed { before, after, .. } if before != after => {
                    self.outdated.clone_from(&self.quick);
                }
                ToolCallEvidence::Ran { command, .. } => {
                    self.outdated.retain(|check| check.trim() != command.trim());
                    self.told.remove(command.trim());
                }
                _ => {}
            }
        }
    }

    /// What the model is told of a check that ran; nothing of one that did not come to its end.
    fn words(&mut self, command: &str, ran: &AgentCheckRun) -> Option<String> {
        let Some(exit) = ran.exit else {
            self.quick.retain(|check| check != command);
            return None;
        };
        if exit == 0 {
            self.told.remove(command.trim());
            return Some(format!("[The host ran `{command}` after this edit: it passes.]"));
        }
        let failing = ran.failing.trim_end();
        let before = self.told.insert(command.trim().to_owned(), folded(failing.to_owned()));
        Some(match before {
            Some(before) if before == self.told[command.trim()] => format!(
                "[The host ran `{command}` after this edit: it fails with the same words as after the edit before.]"
            ),
            _ => {
                format!("[The host ran `{command}` after this edit: it fails, exit code {exit}.]\n{failing}")
            }
        })
    }
}

impl AgentTurn<'_> {
    /// Lets the checks speak that an edit may have changed the answer of.
    pub(crate) async fn check_after_edit(&mut self, conversation: &mut AgentConversation) -> TurnFlow {
        let Some(checker) = self.agent.checker else { return Continue(()) };
        for command in std::mem::take(&mut self.after_edit.outdated) {
            let Ok(Some(ran)) = self.agent.cancel.race(checker.run(&command, LIMIT)).await else {
                return Continue(());
            };
            match self.after_edit.words(&command, &ran) {
                Some(words) => conversation.tell(words),
                None => continue,
            }
            match ran.exit {
                Some(0) => conversation.facts.passed(&command),
                exit => {
                    let how = exit.map_or_else(String::new, |code| format!("exit code {code}"));
                    conversation.facts.failed(&command, &how, &ran.failing);
                }
            }
            let advice = self.tell_check(&command, &ran);
            self.heed(conversation, advice)?;
        }
        Continue(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn edit() -> Vec<ToolCallEvidence> {
        vec![ToolCallEvidence::Changed {
            path: "a".into(),
            before: Some("1".into()),
            after: Some("2".into()),
        }]
    }

    fn own_run(command: &str) -> Vec<ToolCallEvidence> {
        vec![ToolCallEvidence::Ran { command: command.into(), exit: Some(1), output_sha256: String::new() }]
    }

    fn ran(exit: Option<i32>, failing: &str) -> AgentCheckRun {
        AgentCheckRun { exit, output: failing.into(), failing: failing.into(), duration_ms: 1 }
    }

    #[test]
    fn a_check_speaks_after_an_edit_unless_the_model_ran_it_since() {
        let mut after = QuickChecksAfterEdit::new(&["make test".into(), "make lint".into()]);
        after.hear(&own_run("make"));
        assert!(after.outdated.is_empty(), "nothing was edited");
        after.hear(&edit());
        after.hear(&own_run("make test "));
        assert_eq!(after.outdated, ["make lint"]);
        after.outdated.clear();
        after.hear(&[ToolCallEvidence::Changed { path: "a".into(), before: None, after: None }]);
        assert!(after.outdated.is_empty(), "nothing came of it");
    }

    #[test]
    fn the_same_words_are_not_told_twice_and_nothing_untrue_is() {
        let mut after = QuickChecksAfterEdit::new(&["t".into()]);
        let first = after.words("t", &ran(Some(1), "boom in 0.10s")).unwrap();
        assert!(first.contains("exit code 1") && first.contains("boom"), "{first}");
        let second = after.words("t", &ran(Some(1), "boom in 0.22s")).unwrap();
        assert!(second.contains("same words") && !second.contains("boom"), "{second}");
        assert!(after.words("t", &ran(Some(1), "other")).unwrap().contains("other"));
        assert!(after.words("t", &ran(Some(0), "")).unwrap().contains("it passes"));
        let again = after.words("t", &ran(Some(1), "other")).unwrap();
        assert!(again.contains("exit code 1") && again.contains("other"), "it passed in between: {again}");
        after.hear(&own_run("t"));
        assert!(after.words("t", &ran(Some(1), "other")).unwrap().contains("exit code 1"));
    }

    #[test]
    fn a_check_that_takes_too_long_is_not_run_again() {
        let mut after = QuickChecksAfterEdit::new(&["t".into()]);
        assert_eq!(after.words("t", &ran(None, "half")), None);
        after.hear(&edit());
        assert!(after.outdated.is_empty());
    }
}
