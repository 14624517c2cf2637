//! What people see: one record per decision, with its cause, for `events.jsonl`.

use holon_core::ids::RunId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::level::SupervisorLevel;
use crate::phase::TakeoverPhase;

/// Whether the steps of a plan are closed to what is not theirs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractForce {
    /// Every tool is open.
    #[default]
    Free,
    /// `contracts = "enforce"`, and a plan is under way.
    Forced,
}

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineRecord {
    /// When, as told by the fact that caused it.
    pub ts: u64,
    /// The run; nothing before it has begun.
    pub run: Option<RunId>,
    /// The round, from 1; 0 before the first.
    pub round: u32,
    /// L0.
    pub level: SupervisorLevel,
    /// Whether steps are closed.
    pub mode: ContractForce,
    /// L2 after the decision.
    pub phase: TakeoverPhase,
    /// What kind of decision.
    pub event: TimelineKind,
    /// Its cause, `family:detail`.
    pub reason: String,
    /// The facts behind it.
    pub payload: Value,
}

/// Kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimelineKind {
    /// A rung of the ladder was taken.
    Switch,
    /// A takeover began, or its plan was made.
    Recover,
    /// Something was taken back: a node reopened, a stop lifted.
    Rollback,
    /// The model leads again, or soon will.
    Handoff,
    /// A gate said no, or something failed.
    Failure,
    /// Behaviour deviates; an observation only.
    Drift,
    /// A budget is spent.
    Timeout,
    /// What a shadow would have done.
    ShadowDiagnostic,
    /// A plan was made.
    TaskGraphInit,
    /// A step changed.
    TaskGraphNode,
    /// The plan as a whole changed.
    TaskGraphUpdate,
    /// Another branch is followed.
    TaskGraphBranch,
    /// The plan is at its end.
    TaskGraphDone,
}

impl TimelineRecord {
    /// One line of JSON without the newline.
    pub fn to_line(&self) -> String {
        // Plain data with string keys always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_record_is_one_line_with_all_its_keys() {
        let record = TimelineRecord {
            ts: 5,
            run: Some(RunId::from_parts(0, [0; 4])),
            round: 2,
            level: SupervisorLevel::Adaptive,
            mode: ContractForce::Forced,
            phase: TakeoverPhase::HandoffPending,
            event: TimelineKind::TaskGraphInit,
            reason: "recover:template_graph".into(),
            payload: serde_json::json!({"a": "x\ny"}),
        };
        let line = record.to_line();
        assert_eq!(
            line,
            r#"{"ts":5,"run":"19700101-000000-aaaaaa","round":2,"level":"adaptive","mode":"forced","phase":"handoff_pending","event":"task_graph_init","reason":"recover:template_graph","payload":{"a":"x\ny"}}"#
        );
        assert_eq!(serde_json::from_str::<TimelineRecord>(&line).unwrap(), record);
    }
}
