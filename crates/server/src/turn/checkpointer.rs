//! Keeps the conversation after every round, so that a killed server goes on from there.
//!
//! What was said is a list that is written as it grows: a long turn is stored once, not once for every round.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::{Mutex, PoisonError};

use holon_agent::{AgentConversation, SupervisorAdvice, SupervisorHook, TurnFact};
use holon_core::ids::ThreadId;
use holon_model::ModelMessage;
use holon_store::{ListTail, StoreWrite};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::mpsc::UnboundedSender;

use super::event_writer::EventWriterInput;
use crate::app::AppState;
use crate::problem::{ApiProblem, ApiResult};

/// A steward that keeps, and otherwise does what another one says.
pub(crate) struct ConversationCheckpointer<'a> {
    thread: ThreadId,
    tell: UnboundedSender<EventWriterInput>,
    inner: &'a dyn SupervisorHook,
    /// Rounds of the conversation before this turn: the other one counts from its own beginning.
    before: u64,
    kept: Mutex<CheckpointedMessages>,
}

/// The name under which a conversation is kept: a text with everything but what was said, and a list of that.
const CONVERSATION: &str = "conversation";

/// What of a conversation is in the store, in short.
#[derive(Default)]
struct CheckpointedMessages {
    hashes: RandomState,
    said: Vec<u64>,
}

impl CheckpointedMessages {
    /// Everything of this conversation is in the store.
    fn of(conversation: &AgentConversation) -> Self {
        let hashes = RandomState::new();
        let said = conversation.messages.iter().map(|message| hash(&hashes, message)).collect();
        Self { hashes, said }
    }

    /// The writes that bring the store up to date.
    fn catch_up(&mut self, thread: &ThreadId, conversation: &AgentConversation) -> Vec<StoreWrite> {
        let said: Vec<u64> =
            conversation.messages.iter().map(|message| hash(&self.hashes, message)).collect();
        let stay = self.said.iter().zip(&said).take_while(|(old, new)| old == new).count();
        let mut writes = Vec::new();
        if stay < self.said.len().max(said.len()) {
            let then = conversation.messages[stay..].iter().map(json).collect();
            let end = ListTail { thread: thread.clone(), name: CONVERSATION, stay: stay as u64, then };
            writes.push(StoreWrite::KeepFrom(Box::new(end)));
        }
        self.said = said;
        writes.push(StoreWrite::Keep(thread.clone(), CONVERSATION, json(&without_messages(conversation))));
        writes
    }
}

/// Everything but what was said, which is what can be long.
fn without_messages(conversation: &AgentConversation) -> AgentConversation {
    let AgentConversation {
        goal,
        evidence,
        messages: _,
        todos,
        facts,
        usage,
        rounds,
        gauge,
        correction,
        pending,
    } = conversation;
    AgentConversation {
        goal: goal.clone(),
        evidence: evidence.clone(),
        messages: Vec::new(),
        todos: todos.clone(),
        facts: facts.clone(),
        usage: *usage,
        rounds: *rounds,
        gauge: *gauge,
        correction: correction.clone(),
        pending: pending.clone(),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    // Plain data with string keys always serialises.
    serde_json::to_string(value).unwrap_or_default()
}

/// Nobody outside knows the key, so no two messages can be made to look the same.
fn hash(keyed: &RandomState, message: &ModelMessage) -> u64 {
    let mut sink = HasherWriter(keyed.build_hasher());
    let _ = serde_json::to_writer(&mut sink, message);
    sink.0.finish()
}

struct HasherWriter<H>(H);

impl<H: Hasher> io::Write for HasherWriter<H> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The kept conversation of a thread; a new one when there is none.
pub(super) async fn conversation(app: &AppState, id: &ThreadId) -> ApiResult<AgentConversation> {
    let thread = id.clone();
    let read = app.store.read(move |backend| {
        Ok((backend.kept(&thread, CONVERSATION)?, backend.kept_list(&thread, CONVERSATION)?))
    });
    let (rest, said) = read.await?;
    let unreadable = |e| ApiProblem::internal(format!("the conversation cannot be read: {e}"));
    let mut conversation: AgentConversation = match rest {
        None => AgentConversation::default(),
        Some(text) => serde_json::from_str(&text).map_err(unreadable)?,
    };
    for text in said {
        conversation.messages.push(serde_json::from_str(&text).map_err(unreadable)?);
    }
    Ok(conversation)
}

impl<'a> ConversationCheckpointer<'a> {
    /// For a turn that begins with this conversation, as it was read.
    pub(crate) fn new(
        thread: ThreadId,
        tell: UnboundedSender<EventWriterInput>,
        inner: &'a dyn SupervisorHook,
        talk: &AgentConversation,
    ) -> Self {
        Self { thread, tell, inner, before: talk.rounds, kept: Mutex::new(CheckpointedMessages::of(talk)) }
    }

    fn since<'f>(&self, fact: TurnFact<'f>) -> TurnFact<'f> {
        match fact {
            TurnFact::RoundStarted { round } => {
                TurnFact::RoundStarted { round: round.saturating_sub(self.before).max(1) }
            }
            TurnFact::RoundEnded { round, calls, words, usage } => {
                TurnFact::RoundEnded { round: round.saturating_sub(self.before).max(1), calls, words, usage }
            }
            other => other,
        }
    }
}

impl SupervisorHook for ConversationCheckpointer<'_> {
    fn notice(&self, fact: TurnFact<'_>) -> SupervisorAdvice {
        let fact = self.since(fact);
        match fact {
            TurnFact::RoundStarted { .. } | TurnFact::Proposed { .. } => self.inner.notice(fact),
            // After these it may look at the files, which takes its time.
            _ => aside(|| self.inner.notice(fact)),
        }
    }

    fn keep(&self, conversation: &AgentConversation) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.tell.send(EventWriterInput::Writes(kept.catch_up(&self.thread, conversation)));
        self.inner.keep(conversation);
    }

    fn report(&self) -> Option<String> {
        self.inner.report()
    }
}

/// Does what may block without holding up the tasks that share this thread.
pub(super) fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    /// Plays the store.
    fn store(said: &mut Vec<String>, writes: &[StoreWrite]) -> usize {
        let mut bytes = 0;
        for write in writes {
            match write {
                StoreWrite::KeepFrom(end) => {
                    assert!(end.stay as usize <= said.len());
                    said.truncate(end.stay as usize);
                    bytes += end.then.iter().map(String::len).sum::<usize>();
                    said.extend(end.then.iter().cloned());
                }
                StoreWrite::Keep(_, name, body) => {
                    assert_eq!(*name, CONVERSATION);
                    bytes += body.len();
                }
                other => panic!("{other:?}"),
            }
        }
        bytes
    }

    fn read(said: &[String]) -> Vec<ModelMessage> {
        said.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    #[test]
    fn a_turn_of_many_rounds_is_written_once() {
        let (thread, mut talk) = ("t-1".parse().unwrap(), AgentConversation::default());
        let (mut kept, mut said, mut written) = (CheckpointedMessages::of(&talk), Vec::new(), 0);
        for round in 0..200 {
            talk.messages.push(ModelMessage::user(format!("result {round} {}", "x".repeat(1000))));
            talk.rounds += 1;
            written += store(&mut said, &kept.catch_up(&thread, &talk));
            assert_eq!(read(&said), talk.messages);
        }
        assert!(written < 2 * json(&talk).len(), "{written} bytes were written");
        let writes = kept.catch_up(&thread, &talk);
        assert!(!writes.iter().any(|write| matches!(write, StoreWrite::KeepFrom(_))), "nothing new was said");
    }

    #[test]
    fn what_was_said_differently_is_written_again() {
        let (thread, mut talk) = ("t-1".parse().unwrap(), AgentConversation::default());
        talk.messages = ["a", "b", "c"].map(ModelMessage::user).into();
        let mut said: Vec<String> = talk.messages.iter().map(json).collect();
        let mut kept = CheckpointedMessages::of(&talk);
        let mut check = |talk: &AgentConversation| {
            store(&mut said, &kept.catch_up(&thread, talk));
            assert_eq!(read(&said), talk.messages);
        };
        // The last message gets another part, a shortening leaves other messages, and fewer.
        talk.messages[2].parts.push(holon_model::MessagePart::Text("more".into()));
        check(&talk);
        talk.messages = ["summary", "c"].map(ModelMessage::user).into();
        check(&talk);
        talk.messages.pop();
        check(&talk);
        talk.messages = ["summary", "d", "e", "f"].map(ModelMessage::user).into();
        check(&talk);
    }
}
