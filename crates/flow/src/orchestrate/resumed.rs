//! The state a resumed orchestration starts with.

use std::collections::BTreeMap;

use holon_core::outcome::{RunOutcome, RunStatus};

use super::graph::{self, CHECK};
use super::replan;
use super::state::{AttemptEnd, AttemptPurpose, OrchestrationEnd, OrchestrationState, TaskNode, TaskPhase};
use crate::error::FlowError;

/// What was blocked or failed is tried anew; finished tasks stay finished.
pub(super) fn resumed(
    mut state: OrchestrationState,
    message: Option<String>,
    overrides: bool,
) -> Result<OrchestrationState, FlowError> {
    if state.version != 1 {
        let message = format!("{} was started by another version of Holon", state.id);
        return Err(FlowError::resume(message, "start it anew"));
    }
    let sealed = std::mem::take(&mut state.sealed);
    match state.ended.take() {
        Some(OrchestrationEnd::Complete) if sealed => {
            return Err(FlowError::resume(
                format!("{} is over: there is nothing to go on with", state.id),
                format!("see `holon runs show {}`", state.id),
            ));
        }
        Some(OrchestrationEnd::EthicsBlocked { task, .. }) => {
            for node in state.nodes.iter_mut().filter(|node| node.task.id == task) {
                // A person who lets it out needs no second assessment.
                node.phase = if overrides { TaskPhase::Done } else { TaskPhase::Waiting };
            }
        }
        Some(OrchestrationEnd::Escalated { task, .. } | OrchestrationEnd::Failed { task, .. }) => {
            // What a plan before found wrong keeps others from going out; it is those that are tried then.
            let known = state.nodes.iter().any(|node| node.task.id == task);
            let meant = |node: &&mut TaskNode| if known { node.task.id == task } else { is_stuck(node) };
            state.nodes.iter_mut().filter(meant).for_each(anew);
        }
        Some(OrchestrationEnd::Partial { .. }) if sealed => {
            // Whoever goes on wants the rest.
            let left = state.left.take();
            let (left, waited_for) = left.map(|left| (left.nodes, left.waited_for)).unwrap_or_default();
            state.nodes.extend(left);
            look_again(&mut state, waited_for);
            state.nodes.iter_mut().filter(|node| is_stuck(node)).for_each(anew);
            let writers = graph::writers(&state.nodes);
            for node in state.nodes.iter_mut().filter(|node| node.task.mode == CHECK) {
                node.task.depends_on.clone_from(&writers);
            }
        }
        Some(OrchestrationEnd::OutOfMoney) => {
            // Whoever goes on has given more.
            let cut = |node: &&mut TaskNode| is_stuck(node) && replan::is_out_of_money(node);
            state.nodes.iter_mut().filter(cut).for_each(anew);
        }
        _ => {}
    }
    state.messages.extend(message.filter(|text| !text.trim().is_empty()));
    Ok(state)
}

/// Who waited for what was left out waits for it again; a review of a part looks at the rest as well.
fn look_again(state: &mut OrchestrationState, waited_for: BTreeMap<String, Vec<String>>) {
    for (id, on) in waited_for {
        let Some(node) = state.nodes.iter_mut().find(|node| node.task.id == id) else { continue };
        for one in on {
            if !node.task.depends_on.contains(&one) {
                node.task.depends_on.push(one);
            }
        }
        if node.task.mode == "review" && node.phase == TaskPhase::Done {
            (node.phase, node.fixes) = (TaskPhase::Waiting, 0);
        }
    }
}

/// Whether a task could not be done.
pub(super) fn is_stuck(node: &TaskNode) -> bool {
    matches!(node.phase, TaskPhase::Failed { .. } | TaskPhase::Blocked { .. })
}

/// A task that could not be done is tried anew.
fn anew(node: &mut TaskNode) {
    node.phase = again(node.attempts.last().map(|attempt| attempt.purpose), accepted(node));
    node.fixes = 0;
}

/// Whether a person, by going on, takes what a task asked to be looked at.
fn accepted(node: &TaskNode) -> bool {
    let end = node.attempts.last().and_then(|attempt| attempt.end.as_ref());
    // What was stopped midway is not done, so there is nothing to take.
    let midway = |end: &AttemptEnd| end.error.as_ref().is_some_and(|(kind, _)| kind == "checkpoint");
    end.is_some_and(|end| {
        end.outcome == RunOutcome::NeedsHuman
            && end.status == RunStatus::Completed
            && !midway(end)
            && end.artifacts.contains_key("diff.patch")
    })
}

fn again(purpose: Option<AttemptPurpose>, accepted: bool) -> TaskPhase {
    match purpose {
        Some(purpose) if accepted => TaskPhase::ToMerge { purpose },
        purpose => from_the_start(purpose),
    }
}

/// Where a task is when its last run counts no more.
pub(super) fn from_the_start(purpose: Option<AttemptPurpose>) -> TaskPhase {
    match purpose {
        Some(AttemptPurpose::Conflict) => TaskPhase::Conflict { paths: Vec::new() },
        Some(AttemptPurpose::Fix) => TaskPhase::ToFix,
        Some(AttemptPurpose::Task) | None => TaskPhase::Waiting,
    }
}
