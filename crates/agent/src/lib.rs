//! The native agent: it thinks here, outside the walls, and acts through hands inside of them.
//!
//! [`NativeAgent::turn`] takes a message and goes on in rounds: the model is asked, each call of its reply is decided on by the
//! mode's policy and carried out by the hands, the results go back, until something ends the turn. Runs, chats and
//! container adapters use the same turns; what differs is in [`TurnSettings`].

mod after_edit;
mod agent;
mod artifacts;
mod ask;
mod budget;
mod call_policy;
mod calls;
mod check;
mod compact;
mod context;
mod conversation;
mod done;
pub mod edit;
mod ended;
mod facts;
pub mod fit;
pub mod mcp;
mod person;
pub mod prompt;
pub mod reply;
mod settings;
mod summary;
pub mod supervise;
pub mod supervisor_hook;
mod text;
mod tool;
mod turn;
mod watcher;

pub use agent::{NativeAgent, PendingTurn};
pub use check::{AgentCheckRun, CheckRunner, PendingCheck};
pub use context::TokenEstimator;
pub use conversation::{AgentConversation, PendingApproval};
pub use edit::EditFormat;
pub use ended::{FinishStatus, TurnEndReason, TurnLimit, TurnResult};
pub use facts::{CommandFailure, ConversationFacts, NetFileChange};
pub use person::{DeferToPerson, Interrupt, PendingPersonReplies, PersonPrompt, PersonReply};
pub use settings::{TurnLimits, TurnSettings};
pub use supervise::{SupervisedTurn, SupervisionSession};
pub use supervisor_hook::{
    StopKind, StopOrder, SupervisorAdvice, SupervisorHook, SupervisorRuling, ToolCallEvidence, TurnFact,
};
pub use watcher::{AgentEventSink, NoEventSink};
