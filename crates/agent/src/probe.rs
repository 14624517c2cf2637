//! A check that the steward asks for, run by the hands as if the model had asked: under the same policy, in the same walls.

use std::time::Instant;

use holon_core::policy::Verdict;
use holon_hands::{Deed, Done, Outcome as Exit, Run};
use holon_model::ToolCall;
use serde_json::json;

use crate::steward::{Advice, Fact};
use crate::turn::Turn;

/// Most seconds a check may take here.
const SECONDS: u64 = 300;
/// Most bytes of its output that are read.
const BYTES: u64 = 64 * 1024;

impl Turn<'_> {
    /// Runs a check and tells the steward; nothing when the mode does not let the model run it either.
    pub(crate) async fn check(&self, command: &str) -> Option<Advice> {
        let arguments = json!({ "command": command }).to_string();
        let call = ToolCall { id: String::new(), name: "execute".to_owned(), arguments, custom: false };
        if self.decide(&call).verdict != Verdict::Allow {
            return None;
        }
        let begun = Instant::now();
        let line = command.to_owned();
        let run = Run { line, timeout_ms: SECONDS * 1_000, max_bytes: BYTES, ..Run::default() };
        let doing = self.agent.hands.carry_out(Deed::Run(run), None);
        // Whoever is gone or cancelled is noticed by the next call, too.
        let Ok(Ok(Done::Ran(ran))) = self.agent.cancel.race(doing).await else { return None };
        let exit = match ran.outcome {
            Exit::Exit(code) => Some(code),
            Exit::Signal(_) | Exit::TimedOut => None,
        };
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let fact = Fact::Checked { command, exit, output: &ran.output, duration_ms };
        Some(self.agent.steward.notice(fact))
    }
}
