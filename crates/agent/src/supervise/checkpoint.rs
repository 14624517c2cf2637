//! Everything needed to go on with a run whose process is gone.

use holon_supervisor::shadow::Shadow;
use holon_supervisor::{EvidenceLedger, Supervisor, SupervisorFact, SupervisorState};
use serde::{Deserialize, Serialize};

use super::{RecordingStart, SupervisionMemory, SupervisionSession};
use crate::conversation::AgentConversation;

/// A conversation and the supervisor's state, as of the end of a round.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunCheckpoint {
    /// What was said.
    pub conversation: AgentConversation,
    state: SupervisorState,
    ledger: EvidenceLedger,
    shadow: Option<Shadow>,
    memory: SupervisionMemory,
}

impl RunCheckpoint {
    /// Of a run under way.
    pub fn of(supervision: &SupervisionSession, conversation: &AgentConversation) -> Self {
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
    pub fn resume(self) -> (SupervisionSession, AgentConversation) {
        let settings = serde_json::to_value(self.state.config()).unwrap_or_default();
        let resumed = serde_json::json!({ "state": self.state, "shadow": self.shadow });
        let supervision = SupervisionSession {
            supervisor: Supervisor::resume(self.state, self.ledger, self.shadow),
            memory: self.memory,
            start: Some(RecordingStart { settings, resumed: Some(resumed) }),
            first: vec![SupervisorFact::CheckpointResumed],
        };
        (supervision, self.conversation)
    }

    /// The state it holds.
    pub fn state(&self) -> &SupervisorState {
        &self.state
    }
}
