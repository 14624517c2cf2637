//! A conversation that can be kept, continued and resumed.

use holon_core::event::Todo;
use holon_model::{MessagePart, ModelMessage, Role, TokenUsage, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

use crate::context::TokenEstimator;
use crate::facts::ConversationFacts;
use crate::person::Interrupt;

/// Everything the agent knows between turns; plain data, to be stored by the host.
///
/// Every call in `messages` has its result in the message after it, except while `pending` is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentConversation {
    /// What was asked first; it survives every shortening.
    pub goal: String,
    /// What the host knew before it began; told after the goal.
    pub evidence: Option<String>,
    /// What was said, in order.
    pub messages: Vec<ModelMessage>,
    /// What the agent means to do.
    pub todos: Vec<Todo>,
    /// What is known from what was done.
    pub facts: ConversationFacts,
    /// What all its turns used.
    pub usage: TokenUsage,
    /// How many requests were made to the model.
    pub rounds: u64,
    /// How many bytes of this conversation make a token.
    pub gauge: TokenEstimator,
    /// The steward's text at the end of every request.
    pub correction: Option<String>,
    /// What waits for a person.
    pub pending: Option<PendingApproval>,
}

/// Calls of the last reply that are not answered yet, because a person must be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// What is asked.
    pub interrupt: Interrupt,
    /// The results of the calls before, in order.
    pub results: Vec<ToolResult>,
    /// Which calls of the reply, from 0, the asks are about.
    pub about: Vec<usize>,
}

impl AgentConversation {
    /// Adds something the user says; the first is the goal.
    pub(crate) fn ask(&mut self, text: &str) {
        let first = self.goal.is_empty();
        if first {
            text.clone_into(&mut self.goal);
        } else {
            self.facts.asked(text);
        }
        self.tell(text);
        if let Some(evidence) = self.evidence.take().filter(|_| first) {
            self.tell(evidence);
        }
    }

    /// Adds a text of the user's side, after results that are there already.
    pub(crate) fn tell(&mut self, text: impl Into<String>) {
        let part = MessagePart::Text(text.into());
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.parts.push(part),
            _ => self.messages.push(ModelMessage { role: Role::User, parts: vec![part] }),
        }
    }

    /// Adds a reply; one that says nothing is left out, since no server takes an empty message.
    pub(crate) fn keep(&mut self, parts: &[MessagePart]) {
        let says = |part: &MessagePart| !matches!(part, MessagePart::Text(text) if text.trim().is_empty());
        let parts: Vec<MessagePart> = parts.iter().filter(|part| says(part)).cloned().collect();
        if parts.iter().any(|part| !matches!(part, MessagePart::Reasoning(_))) {
            self.messages.push(ModelMessage { role: Role::Assistant, parts });
        }
    }

    /// The calls of the last reply.
    pub(crate) fn last_calls(&self) -> Vec<ToolCall> {
        let reply = self.messages.iter().rev().find(|message| message.role == Role::Assistant);
        reply.map(|message| message.calls().cloned().collect()).unwrap_or_default()
    }

    /// Answers what waits for a person with the news that nobody answered, so that the conversation can go on.
    pub(crate) fn give_up_waiting(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let calls = self.last_calls();
        let mut results = pending.results;
        for call in calls.iter().skip(results.len()) {
            results.push(ToolResult::error(
                &call.id,
                "not done: the person did not answer, see what they say next",
            ));
        }
        self.messages.push(ModelMessage::results(results));
    }

    /// The messages of the next request, with the steward's text at their end.
    pub(crate) fn for_request(&self) -> Vec<ModelMessage> {
        let mut messages = self.messages.clone();
        if let Some(text) = self.correction.as_ref().filter(|text| !text.is_empty()) {
            match messages.last_mut() {
                Some(last) if last.role == Role::User => last.parts.push(MessagePart::Text(text.clone())),
                _ => messages.push(ModelMessage::user(text)),
            }
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_reply_that_says_nothing_is_not_kept() {
        let mut conversation = AgentConversation::default();
        conversation.ask("Fix it");
        conversation.keep(&[
            MessagePart::Text("  \n".into()),
            MessagePart::Reasoning(holon_model::Reasoning::default()),
        ]);
        conversation.tell("Go on");
        assert_eq!(conversation.messages.len(), 1);
        assert_eq!(conversation.messages[0].text(), "Fix it\nGo on");
        assert_eq!(conversation.goal, "Fix it");
    }

    #[test]
    fn the_correction_stands_at_the_end_and_only_once() {
        let mut conversation = AgentConversation::default();
        conversation.ask("Fix it");
        for text in ["first", "second"] {
            conversation.correction = Some(text.into());
            assert_eq!(conversation.for_request().last().unwrap().text(), format!("Fix it\n{text}"));
        }
        assert_eq!(conversation.messages[0].text(), "Fix it");
    }

    #[test]
    fn it_can_be_stored() {
        let mut conversation = AgentConversation::default();
        conversation.ask("Fix it");
        conversation.facts.failed("make", "exit 1", "boom");
        let text = serde_json::to_string(&conversation).unwrap();
        assert_eq!(serde_json::from_str::<AgentConversation>(&text).unwrap(), conversation);
        assert_eq!(serde_json::from_str::<AgentConversation>("{}").unwrap(), AgentConversation::default());
    }
}
