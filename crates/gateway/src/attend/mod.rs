//! Attending the agent's own conversation: what passes is told, and a text can be put at the end of a request.
//!
//! Replies are never touched and calls never held back. A text that broke something is taken out again, and after it nothing
//! is said any more.

mod conversation;
mod insert;

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_model::{ModelReply, ModelRequest};
use serde_json::Value;

use self::conversation::{AttendedConversation, RequestRole};
pub use self::conversation::{ConversationStep, ConversationWords};
use self::insert::{InsertedNote, last_key, put};
use crate::client_wire::ClientWire;

/// What is to become of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttendantVerdict {
    /// It passes as it is.
    Pass,
    /// It passes with this text at its end.
    Say(String),
    /// It is refused, and so are all after it; why, for the client.
    Stop(String),
}

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InsertionEvent {
    /// It was put at the end of a request.
    Put {
        /// Its number, from 1.
        number: u32,
        /// Where on the wire.
        place: &'static str,
        /// With its mark.
        text: String,
    },
    /// The conversation went on from it.
    WentOn {
        /// The text.
        number: u32,
    },
    /// The agent ended, or was ended.
    Ended {
        /// The text.
        number: u32,
    },
    /// Something broke: from here on nothing is said.
    Broke {
        /// The text.
        number: u32,
        /// What broke.
        why: String,
    },
}

/// A word to come.
pub type AttendantFuture = Pin<Box<dyn Future<Output = AttendantVerdict> + Send>>;

/// Whoever attends the conversation.
pub trait Attendant: Send + Sync {
    /// The next request of the conversation waits for this word.
    fn asked(&self, step: ConversationStep) -> AttendantFuture;
    /// The reply to it is whole; must not block.
    fn answered(&self, reply: &ModelReply);
    /// What became of a text; must not block.
    fn inserted(&self, what: InsertionEvent);
}

/// How the conversation of a door is attended.
#[derive(Clone)]
pub struct AttendanceSetup {
    /// By whom.
    pub attendant: Arc<dyn Attendant>,
    /// Words of this agent's requests.
    pub words: ConversationWords,
}

/// The conversation of a door, and who attends it.
pub(crate) struct AttendedSession {
    attendant: Arc<dyn Attendant>,
    inner: Mutex<AttendanceState>,
}

#[derive(Default)]
struct AttendanceState {
    conversation: AttendedConversation,
    notes: Vec<InsertedNote>,
    /// The newest text, until it is known what came after it.
    pending: Option<u32>,
    broken: bool,
    stopped: Option<String>,
}

/// A request of the conversation that was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassedStep {
    /// Whether it carries a text.
    pub(crate) carries: bool,
}

impl AttendedSession {
    pub(crate) fn new(attendance: AttendanceSetup) -> Self {
        let conversation = AttendedConversation::new(attendance.words);
        let inner = Mutex::new(AttendanceState { conversation, ..AttendanceState::default() });
        Self { attendant: attendance.attendant, inner }
    }

    fn lock(&self) -> MutexGuard<'_, AttendanceState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears a request and puts into its body what belongs there; nothing when it is no part of the conversation. The error
    /// is why the run was stopped.
    pub(crate) async fn hear(
        &self,
        wire: ClientWire,
        request: &ModelRequest,
        body: &mut Value,
    ) -> Result<Option<PassedStep>, String> {
        let heard = {
            let mut inner = self.lock();
            if let Some(why) = &inner.stopped {
                return Err(why.clone());
            }
            inner.conversation.hear(request)
        };
        match heard {
            RequestRole::Beside => Ok(None),
            RequestRole::Lost => {
                self.broke("the client began its conversation anew");
                Ok(None)
            }
            RequestRole::Again { answered } => {
                if answered {
                    self.broke("the client asked the same again although it had been answered");
                }
                Ok(Some(self.carry(wire, body)))
            }
            RequestRole::Step(step) => {
                self.settled(|number| InsertionEvent::WentOn { number });
                let word = self.attendant.asked(step).await;
                self.heed(wire, body, word)?;
                Ok(Some(self.carry(wire, body)))
            }
        }
    }

    fn heed(&self, wire: ClientWire, body: &Value, word: AttendantVerdict) -> Result<(), String> {
        let mut inner = self.lock();
        match word {
            AttendantVerdict::Pass => {}
            AttendantVerdict::Stop(why) => {
                inner.stopped = Some(why.clone());
                return Err(why);
            }
            AttendantVerdict::Say(_) if inner.broken => {}
            AttendantVerdict::Say(text) => {
                let Some(key) = last_key(wire, body) else { return Ok(()) };
                let number = u32::try_from(inner.notes.len()).unwrap_or(u32::MAX).saturating_add(1);
                let note = InsertedNote::new(number, key, &text);
                let put = InsertionEvent::Put { number, place: place(wire), text: note.text.clone() };
                inner.notes.push(note);
                inner.pending = Some(number);
                drop(inner);
                self.attendant.inserted(put);
            }
        }
        Ok(())
    }

    /// Puts everything that was said so far where it was said.
    fn carry(&self, wire: ClientWire, body: &mut Value) -> PassedStep {
        let inner = self.lock();
        let carries = !inner.broken && !put(wire, body, &inner.notes).is_empty();
        PassedStep { carries }
    }

    /// The reply to a request of the conversation.
    pub(crate) fn answered(&self, reply: &ModelReply) {
        self.lock().conversation.answer(reply);
        self.attendant.answered(reply);
    }

    /// The provider declined a request that carries a text; it is to be sent without.
    pub(crate) fn declined(&self, why: &str) {
        let newest = self.lock().notes.last().map(|note| note.number);
        if let Some(number) = newest {
            self.lock().pending = Some(number);
        }
        self.broke(&format!("the provider declined a request that carries it: {why}"));
    }

    /// Nothing more will come; `cut` says that the host ended the agent.
    pub(crate) fn over(&self, cut: bool) {
        let open = {
            let inner = self.lock();
            inner.conversation.is_open() && inner.stopped.is_none()
        };
        if open && !cut {
            self.broke("the client ended without answering the calls that came after it");
        }
        self.settled(|number| InsertionEvent::Ended { number });
    }

    fn settled(&self, what: impl FnOnce(u32) -> InsertionEvent) {
        let pending = self.lock().pending.take();
        if let Some(number) = pending {
            self.attendant.inserted(what(number));
        }
    }

    /// What broke right after a text is laid to it; without one it is none of ours.
    fn broke(&self, why: &str) {
        let pending = {
            let mut inner = self.lock();
            let pending = inner.pending.take();
            inner.broken |= pending.is_some();
            pending
        };
        if let Some(number) = pending {
            self.attendant.inserted(InsertionEvent::Broke { number, why: why.to_owned() });
        }
    }
}

/// Where a text stands, in words.
fn place(wire: ClientWire) -> &'static str {
    match wire {
        ClientWire::Messages => "messages: a text block after the results of the last user turn",
        ClientWire::Chat => "chat: a final user message",
        ClientWire::Responses => "responses: a final input item",
        ClientWire::Gemini => "gemini: a part of the last user content",
    }
}

#[cfg(test)]
mod tests;
