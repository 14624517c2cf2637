//! Checks that the model did not ask for: where the host lends a place beside the work they run there, and nothing they write
//! gets into the work; else the hands run them as if the model had asked, under the same policy and in the same walls.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use holon_core::policy::ToolVerdict;
use holon_hands::{CommandOutcome as Exit, CommandRequest, ToolRequest, ToolResponse};
use holon_model::ToolCall;
use serde_json::json;

use crate::supervisor_hook::{SupervisorAdvice, TurnFact};
use crate::turn::AgentTurn;

/// Longest time for a check that the steward asks for.
const LIMIT: Duration = Duration::from_secs(300);
/// Most bytes of its output that are read.
const BYTES: u64 = 64 * 1024;

/// A check on its way.
pub type PendingCheck<'a> = BoxFuture<'a, Option<AgentCheckRun>>;

/// Runs checks on the work as it is now, in a place of their own.
pub trait CheckRunner: Send + Sync {
    /// Runs one; nothing when that cannot be.
    fn run<'a>(&'a self, command: &'a str, limit: Duration) -> PendingCheck<'a>;
}

/// A check that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCheckRun {
    /// Its exit code; `None` when a signal or the clock ended it.
    pub exit: Option<i32>,
    /// What it printed.
    pub output: String,
    /// The part of it that says why it failed.
    pub failing: String,
    /// Its wall time.
    pub duration_ms: u64,
}

impl AgentTurn<'_> {
    /// Runs a check that the steward wants to see, and tells it; nothing when it cannot be run.
    pub(crate) async fn check(&self, command: &str) -> Option<SupervisorAdvice> {
        let ran = match self.agent.checker {
            // Whoever is cancelled notices with the next call, too.
            Some(checker) => self.agent.cancel.race(checker.run(command, LIMIT)).await.ok().flatten()?,
            None => self.check_by_hand(command).await?,
        };
        Some(self.tell_check(command, &ran))
    }

    pub(crate) fn tell_check(&self, command: &str, ran: &AgentCheckRun) -> SupervisorAdvice {
        let AgentCheckRun { exit, output, duration_ms, .. } = ran;
        let fact = TurnFact::Checked { command, exit: *exit, output, duration_ms: *duration_ms };
        self.agent.steward.notice(fact)
    }

    /// Nothing when the mode does not let the model run it either.
    async fn check_by_hand(&self, command: &str) -> Option<AgentCheckRun> {
        let arguments = json!({ "command": command }).to_string();
        let call = ToolCall { id: String::new(), name: "execute".to_owned(), arguments, custom: false };
        if self.decide(&call).verdict != ToolVerdict::Allow {
            return None;
        }
        let begun = Instant::now();
        let (line, timeout_ms) = (command.to_owned(), millis(LIMIT));
        let run = CommandRequest { line, timeout_ms, max_bytes: BYTES, ..CommandRequest::default() };
        let doing = self.agent.hands.carry_out(ToolRequest::Run(run), None);
        let Ok(Ok(ToolResponse::Ran(ran))) = self.agent.cancel.race(doing).await else { return None };
        let exit = match ran.outcome {
            Exit::Exit(code) => Some(code),
            Exit::Signal(_) | Exit::TimedOut => None,
        };
        let duration_ms = millis(begun.elapsed());
        Some(AgentCheckRun { exit, output: ran.output, failing: String::new(), duration_ms })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
