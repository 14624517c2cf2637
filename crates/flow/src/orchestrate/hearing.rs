//! Hears what people say about single tasks, between the steps of an orchestration and while its children run.

use holon_core::event::EventBody;
use holon_host::ModelCancel;
use serde_json::json;

use super::drive::OrchestrationDriver;
use super::planner::word::{self, HeardWord, TaskWord};
use super::state::OrchestrationState;
use super::task_inbox::{TaskAnswer, TaskInbox, TaskMessage};
use crate::error::FlowError;

/// A child that runs, and how it alone is ended.
pub(super) struct RunningChild {
    pub(super) node: usize,
    pub(super) cancel: ModelCancel,
}

impl OrchestrationDriver<'_, '_> {
    /// Takes the words that were kept since the process before ended.
    pub(super) fn hear_kept(&mut self, state: &mut OrchestrationState) -> Result<(), FlowError> {
        self.hear_with(state, &[], word::hear_before_going_on)
    }

    /// Takes the words that were left. One that cannot be taken is answered with the reason.
    pub(super) fn hear_people(
        &mut self,
        state: &mut OrchestrationState,
        running: &[RunningChild],
    ) -> Result<(), FlowError> {
        self.hear_with(state, running, word::hear)
    }

    fn hear_with(
        &mut self,
        state: &mut OrchestrationState,
        running: &[RunningChild],
        hear: fn(&mut OrchestrationState, usize, TaskWord) -> Result<HeardWord, String>,
    ) -> Result<(), FlowError> {
        for left in TaskInbox::of(self.held.path()).waiting() {
            if state.last_word == Some(left.name()) {
                left.answer(&TaskAnswer::Taken { says: "it was heard before".to_owned() })?;
                continue;
            }
            let message = left.message.clone();
            let node = state.nodes.iter().position(|node| node.task.id == message.task);
            let said = self.without_secrets(message.word.clone());
            let heard = match node {
                Some(node) => hear(state, node, said).map(|heard| (node, heard)),
                None => Err("there is no such task".to_owned()),
            };
            match heard {
                Ok((node, heard)) => {
                    self.note_word(state, &message, &heard.says)?;
                    // The word is kept before anything follows from it.
                    state.last_word = Some(left.name());
                    self.save(state)?;
                    left.answer(&TaskAnswer::Taken { says: heard.says })?;
                    let child = running.iter().find(|child| child.node == node && heard.ends_run);
                    if let Some(child) = child {
                        child.cancel.cancel();
                    }
                }
                Err(problem) => left.answer(&TaskAnswer::Refused { problem })?,
            }
        }
        Ok(())
    }

    fn note_word(
        &mut self,
        state: &OrchestrationState,
        message: &TaskMessage,
        says: &str,
    ) -> Result<(), FlowError> {
        let (task, word) = (&message.task, message.word.name());
        let detail = json!({ "run_id": state.id, "task": task, "word": word });
        self.dispatcher.audit().append(&message.person, "task_word", detail, true)?;
        self.journal
            .emit(EventBody::Warning { message: format!("{task}: {} said {word}: {says}", message.person) });
        Ok(())
    }

    fn without_secrets(&self, word: TaskWord) -> TaskWord {
        let clean = |text: String| self.journal.redact(&text);
        match word {
            TaskWord::Stop { reason } => TaskWord::Stop { reason: reason.map(clean) },
            TaskWord::Skip { reason } => TaskWord::Skip { reason: reason.map(clean) },
            TaskWord::Say { text } => TaskWord::Say { text: clean(text) },
            TaskWord::Retry => TaskWord::Retry,
        }
    }
}
