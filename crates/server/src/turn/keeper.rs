//! Keeps the conversation after every round, so that a killed server goes on from there.

use holon_agent::{Advice, Conversation, Fact, Steward};
use holon_core::ids::ThreadId;
use holon_store::Write;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::mpsc::UnboundedSender;

use super::scribe::Told;

/// A steward that keeps, and otherwise does what another one says.
pub(crate) struct Keeper<'a> {
    pub(crate) thread: ThreadId,
    pub(crate) tell: UnboundedSender<Told>,
    pub(crate) inner: &'a dyn Steward,
    /// Rounds of the conversation before this turn: the other one counts from its own beginning.
    pub(crate) before: u64,
}

/// The name under which a conversation is kept.
pub(crate) const CONVERSATION: &str = "conversation";

impl Keeper<'_> {
    /// The write that keeps a conversation.
    fn write(thread: &ThreadId, conversation: &Conversation) -> Write {
        let body = serde_json::to_string(conversation).unwrap_or_default();
        Write::Keep(thread.clone(), CONVERSATION, body)
    }

    fn since<'f>(&self, fact: Fact<'f>) -> Fact<'f> {
        match fact {
            Fact::RoundStarted { round } => {
                Fact::RoundStarted { round: round.saturating_sub(self.before).max(1) }
            }
            Fact::RoundEnded { round, calls, words, usage } => {
                Fact::RoundEnded { round: round.saturating_sub(self.before).max(1), calls, words, usage }
            }
            other => other,
        }
    }
}

impl Steward for Keeper<'_> {
    fn notice(&self, fact: Fact<'_>) -> Advice {
        let fact = self.since(fact);
        match fact {
            Fact::RoundStarted { .. } | Fact::Proposed { .. } => self.inner.notice(fact),
            // After these it may look at the files, which takes its time.
            _ => aside(|| self.inner.notice(fact)),
        }
    }

    fn keep(&self, conversation: &Conversation) {
        let _ = self.tell.send(Told::Writes(vec![Self::write(&self.thread, conversation)]));
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
