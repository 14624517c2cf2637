//! Who gets what of the money: a part is kept for looking at and assessing what is done. Pure, as the planner is.

use super::graph::CHECK;
use super::planner::ChildStart;
use super::state::{AttemptPurpose, OrchestrationState, TaskNode, TaskPhase};

/// The part of all money that is kept: one of so many.
const KEPT: f64 = 10.0;

/// What is kept for review and assessment, once there is something to look at.
fn reserve(state: &OrchestrationState) -> f64 {
    match state.max_cost_usd {
        Some(all) if !state.merges.is_empty() => all / KEPT,
        _ => 0.0,
    }
}

/// The money of each run that begins; work does not get what is kept for whoever looks at it.
pub(super) fn shares(state: &OrchestrationState, starts: &[ChildStart]) -> Vec<Option<f64>> {
    let judges = |start: &ChildStart| {
        start.purpose == AttemptPurpose::Task && state.nodes.get(start.node).is_some_and(looks)
    };
    let all = starts.len().max(1) as f64;
    let share = |start: &ChildStart| {
        let left = state.money_left()?;
        let kept = if judges(start) { 0.0 } else { reserve(state) };
        // What is left of less than the reserve is not for work, except where nobody else is to come.
        let own = if left > kept { left - kept } else { left };
        Some(own / all)
    };
    starts.iter().map(share).collect()
}

/// Whether there is so little money left that what is done has to be brought home.
pub(super) fn is_short(state: &OrchestrationState) -> bool {
    let left = state.money_left();
    let works = |node: &TaskNode| node.phase != TaskPhase::Done && !looks(node) && node.task.mode != CHECK;
    !state.is_leaving()
        && reserve(state) > 0.0
        && left.is_some_and(|left| left <= reserve(state))
        && state.nodes.iter().any(works)
}

/// Why only what is done is brought home, in a sentence.
pub(super) fn told(state: &OrchestrationState) -> String {
    let (left, all) = (state.money_left().unwrap_or_default(), state.max_cost_usd.unwrap_or_default());
    format!("{left:.2} of {all} dollars are left, and they are kept for reviewing and assessing what is done")
}

fn looks(node: &TaskNode) -> bool {
    matches!(node.task.mode.as_str(), "review" | "ethical")
}
