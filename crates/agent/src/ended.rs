//! How a turn ended.

use holon_core::policy::ToolCallDecision;
use holon_model::{ModelError, TokenUsage};
use serde::{Deserialize, Serialize};

use crate::person::Interrupt;
use crate::supervisor_hook::StopOrder;

/// A turn that is over; the conversation can be continued whatever the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    /// Why.
    pub reason: TurnEndReason,
    /// The summary the model gave, or its last words.
    pub text: String,
    /// Tokens and money of this turn, delegated work included.
    pub usage: TokenUsage,
    /// Requests to the model in this turn, delegated ones included.
    pub rounds: u64,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEndReason {
    /// The model called `finish`.
    Finished(FinishStatus),
    /// The model answered without calling a tool; in a chat that is the usual end.
    TextOnly,
    /// A budget is used up.
    Limit(TurnLimit),
    /// A call was denied, and the settings say that this ends the turn.
    Denied {
        /// The tool.
        tool: String,
        /// What was decided.
        decision: ToolCallDecision,
    },
    /// The model or its provider declines, with its words.
    Refused(String),
    /// The caller stopped it.
    Cancelled,
    /// The model could not be asked, retries included.
    ModelFailed(ModelError),
    /// The hands are gone, with what they said last.
    HandsGone(String),
    /// A person must answer; continue with `Agent::resume`.
    Interrupted(Interrupt),
    /// The steward stopped it.
    Stopped(StopOrder),
}

/// What the model says it achieved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishStatus {
    /// It did what was asked.
    #[default]
    #[serde(alias = "success", alias = "completed")]
    Done,
    /// It could not.
    #[serde(alias = "failure")]
    Failed,
    /// A person must decide.
    #[serde(alias = "needs_human")]
    NeedsPerson,
}

/// A budget of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnLimit {
    /// Requests to the model.
    Rounds,
    /// Tokens, in and out.
    Tokens,
    /// Money.
    Cost,
}

impl TurnLimit {
    /// Its name in events and manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Tokens => "tokens",
            Self::Cost => "cost_usd",
        }
    }
}
