//! Keeps the conversation after every round, so that a killed server goes on from there.

use holon_agent::{Advice, Conversation, Fact, Steward};
use holon_core::ids::ThreadId;
use holon_store::Write;
use tokio::sync::mpsc::UnboundedSender;

use super::scribe::Told;

/// A steward that keeps, and otherwise does what another one says.
pub(crate) struct Keeper<'a> {
    pub(crate) thread: ThreadId,
    pub(crate) tell: UnboundedSender<Told>,
    pub(crate) inner: Option<&'a dyn Steward>,
}

/// The name under which a conversation is kept.
pub(crate) const CONVERSATION: &str = "conversation";

impl Keeper<'_> {
    /// The write that keeps a conversation.
    pub(crate) fn write(thread: &ThreadId, conversation: &Conversation) -> Write {
        let body = serde_json::to_string(conversation).unwrap_or_default();
        Write::Keep(thread.clone(), CONVERSATION, body)
    }
}

impl Steward for Keeper<'_> {
    fn notice(&self, fact: Fact<'_>) -> Advice {
        self.inner.map(|inner| inner.notice(fact)).unwrap_or_default()
    }

    fn keep(&self, conversation: &Conversation) {
        let _ = self.tell.send(Told::Writes(vec![Self::write(&self.thread, conversation)]));
        if let Some(inner) = self.inner {
            inner.keep(conversation);
        }
    }

    fn report(&self) -> Option<String> {
        self.inner.and_then(|inner| inner.report())
    }
}
