//! Everything needed to go on with a run whose process is gone.

use holon_supervisor::shadow::Shadow;
use holon_supervisor::{Fact as Told, Ledger, State, Supervisor};
use serde::{Deserialize, Serialize};

use super::{Memory, Start, Supervision};
use crate::conversation::Conversation;

/// A conversation and the supervisor's state, as of the end of a round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Checkpoint {
    /// What was said.
    pub conversation: Conversation,
    state: State,
    ledger: Ledger,
    shadow: Option<Shadow>,
    memory: Memory,
}

impl Checkpoint {
    /// Of a run under way.
    pub fn of(supervision: &Supervision, conversation: &Conversation) -> Self {
        let supervisor = &supervision.supervisor;
        Self {
            conversation: conversation.clone(),
            state: supervisor.state().clone(),
            ledger: supervisor.ledger().clone(),
            shadow: supervisor.shadow().cloned(),
            memory: supervision.memory.clone(),
        }
    }

    /// The supervisor as it was, about to be told that it goes on.
    pub fn resume(self) -> (Supervision, Conversation) {
        let settings = serde_json::to_value(self.state.config()).unwrap_or_default();
        let resumed = serde_json::json!({ "state": self.state, "shadow": self.shadow });
        let supervision = Supervision {
            supervisor: Supervisor::resume(self.state, self.ledger, self.shadow),
            memory: self.memory,
            start: Some(Start { settings, resumed: Some(resumed) }),
            first: vec![Told::CheckpointResumed],
        };
        (supervision, self.conversation)
    }

    /// The state it holds.
    pub fn state(&self) -> &State {
        &self.state
    }
}
