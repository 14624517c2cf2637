//! Decisions out: what the loop has to do, and what it may not.

use holon_core::ids::CallId;
use holon_core::outcome::RunOutcome;
use serde::{Deserialize, Serialize};

use crate::correction::Correction;
use crate::graph::{GraphCursor, NodeStatus, TaskGraph};
use crate::phase::PhaseChange;
use crate::timeline::TimelineRecord;

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum SupervisorEffect {
    /// The answer to a proposed call, or to the model saying that it is done.
    Gate(GateRuling),
    /// The only thing that reaches the model besides tool results; an empty one takes the last one away.
    Correct(Correction),
    /// L2 changed.
    Phase(PhaseChange),
    /// The plan changed.
    Graph(GraphChange),
    /// The loop is to run this check at once and tell what came of it: a takeover begins with facts.
    Check {
        /// The command line, one of those the run was told of.
        command: String,
    },
    /// The run ends here.
    Stop(StopOrder),
    /// For the timeline.
    Log(TimelineRecord),
}

/// What a gate decided about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateSubject {
    /// A call.
    Call(CallId),
    /// The model's word that it is done.
    Done,
}

/// How a gate decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// Go on.
    Allow,
    /// Go on, and pass the note on with the result.
    Warn,
    /// Do not execute; the reason is the result.
    Block,
}

/// Which rule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateRule {
    /// Nothing objects.
    Trust,
    /// Tools that only steer the run.
    Control,
    /// The contract of the current step, where contracts are enforced.
    Contract,
    /// The same call has failed in the same way on the very same state.
    Futile,
    /// The run is stopped.
    Stopped,
    /// Verification before done.
    Verification,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRuling {
    /// About what.
    pub subject: GateSubject,
    /// The answer.
    pub verdict: GateVerdict,
    /// Who said so.
    pub rule: GateRule,
    /// Why, for the model; empty when there is nothing to say.
    pub why: String,
}

impl GateRuling {
    /// The right to execute the call, when there is one.
    pub fn permit(&self) -> Option<Permit> {
        match (&self.subject, self.verdict) {
            (GateSubject::Call(call), GateVerdict::Allow | GateVerdict::Warn) => {
                Some(Permit { call: call.clone() })
            }
            _ => None,
        }
    }
}

/// The right to execute one call. Only [`GateRuling::permit`] makes one, so code that demands it cannot run a blocked call.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    call: CallId,
}

impl Permit {
    /// The call it is for.
    pub fn call(&self) -> &CallId {
        &self.call
    }
}

/// How the plan changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum GraphChange {
    /// There is a plan now.
    Init {
        /// All of it.
        graph: Box<TaskGraph>,
    },
    /// Another plan took its place.
    Replaced {
        /// All of it.
        graph: Box<TaskGraph>,
    },
    /// A step changed.
    Node {
        /// Which.
        node: String,
        /// What it is now.
        status: NodeStatus,
        /// Where the plan stands now.
        cursor: GraphCursor,
        /// Done or skipped, of 100, on the current branch.
        progress: u8,
    },
    /// Another branch is followed.
    Branch {
        /// Which.
        branch: String,
        /// Why.
        reason: String,
    },
    /// Nothing is left to do, or nothing can be done.
    Ended {
        /// Whether it was reached.
        done: bool,
    },
    /// The plan is put aside: the model leads again.
    Paused,
}

/// Why a run ends by the supervisor's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopKind {
    /// A person has to look; the state is saved, the run can be resumed.
    UserCheckpoint,
    /// Work is done that nothing vouches for.
    Unverified,
    /// A check the user asked for does not pass.
    CheckFailed,
}

/// The end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopOrder {
    /// Which end.
    pub kind: StopKind,
    /// What the run is worth.
    pub outcome: RunOutcome,
    /// Why, for people.
    pub reason: String,
    /// Whether all is well when everything that fails has failed before this run: nobody knew in time.
    #[serde(default)]
    pub as_before: bool,
}

impl StopOrder {
    pub(crate) fn new(kind: StopKind, reason: impl Into<String>) -> Self {
        let outcome = match kind {
            StopKind::UserCheckpoint | StopKind::Unverified => RunOutcome::NeedsHuman,
            StopKind::CheckFailed => RunOutcome::Failure,
        };
        Self { kind, outcome, reason: reason.into(), as_before: false }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn inv_10_a_blocked_call_gets_no_permit() {
        let gate =
            |subject, verdict| GateRuling { subject, verdict, rule: GateRule::Trust, why: String::new() };
        let call: CallId = "c1".parse().unwrap();
        let of_call = |verdict| gate(GateSubject::Call(call.clone()), verdict).permit();
        assert_eq!(of_call(GateVerdict::Allow).unwrap().call(), &call);
        assert!(of_call(GateVerdict::Warn).is_some());
        assert!(of_call(GateVerdict::Block).is_none());
        assert!(gate(GateSubject::Done, GateVerdict::Allow).permit().is_none());
    }

    #[test]
    fn each_end_has_its_outcome() {
        assert_eq!(StopOrder::new(StopKind::UserCheckpoint, "").outcome.exit_code(), 2);
        assert_eq!(StopOrder::new(StopKind::Unverified, "").outcome.exit_code(), 2);
        assert_eq!(StopOrder::new(StopKind::CheckFailed, "").outcome.exit_code(), 1);
    }
}
