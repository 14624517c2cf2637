//! The state a resumed orchestration starts with.

use holon_core::outcome::{Outcome, Status};

use super::graph::{self, CHECK};
use super::state::{AttemptEnd, Ended, Node, Phase, Purpose, State};
use crate::error::FlowError;

/// What was blocked or failed is tried anew; finished tasks stay finished.
pub(super) fn resumed(
    mut state: State,
    message: Option<String>,
    overrides: bool,
) -> Result<State, FlowError> {
    if state.version != 1 {
        let message = format!("{} was started by another version of Holon", state.id);
        return Err(FlowError::resume(message, "start it anew"));
    }
    let sealed = std::mem::take(&mut state.sealed);
    match state.ended.take() {
        Some(Ended::Complete) if sealed => {
            return Err(FlowError::resume(
                format!("{} is over: there is nothing to go on with", state.id),
                format!("see `holon runs show {}`", state.id),
            ));
        }
        Some(Ended::EthicsBlocked { task, .. }) => {
            for node in state.nodes.iter_mut().filter(|node| node.task.id == task) {
                // A person who lets it out needs no second assessment.
                node.phase = if overrides { Phase::Done } else { Phase::Waiting };
            }
        }
        Some(Ended::Escalated { task, .. } | Ended::Failed { task, .. }) => {
            // What a plan before found wrong keeps others from going out; it is those that are tried then.
            let known = state.nodes.iter().any(|node| node.task.id == task);
            let meant = |node: &&mut Node| if known { node.task.id == task } else { is_stuck(node) };
            state.nodes.iter_mut().filter(meant).for_each(anew);
        }
        Some(Ended::Partial { .. }) if sealed => {
            // Whoever goes on wants the rest.
            let left = state.left.take().map(|left| left.nodes).unwrap_or_default();
            state.nodes.extend(left);
            state.nodes.iter_mut().filter(|node| is_stuck(node)).for_each(anew);
            let writers = graph::writers(&state.nodes);
            for node in state.nodes.iter_mut().filter(|node| node.task.mode == CHECK) {
                node.task.depends_on.clone_from(&writers);
            }
        }
        _ => {}
    }
    state.messages.extend(message.filter(|text| !text.trim().is_empty()));
    Ok(state)
}

fn is_stuck(node: &Node) -> bool {
    matches!(node.phase, Phase::Failed { .. } | Phase::Blocked { .. })
}

/// A task that could not be done is tried anew.
fn anew(node: &mut Node) {
    node.phase = again(node.attempts.last().map(|attempt| attempt.purpose), accepted(node));
    node.fixes = 0;
}

/// Whether a person, by going on, takes what a task asked to be looked at.
fn accepted(node: &Node) -> bool {
    let end = node.attempts.last().and_then(|attempt| attempt.end.as_ref());
    // What was stopped midway is not done, so there is nothing to take.
    let midway = |end: &AttemptEnd| end.error.as_ref().is_some_and(|(kind, _)| kind == "checkpoint");
    end.is_some_and(|end| {
        end.outcome == Outcome::NeedsHuman
            && end.status == Status::Completed
            && !midway(end)
            && end.artifacts.contains_key("diff.patch")
    })
}

fn again(purpose: Option<Purpose>, accepted: bool) -> Phase {
    match (purpose, accepted) {
        (Some(purpose), true) => Phase::ToMerge { purpose },
        (Some(Purpose::Conflict), _) => Phase::Conflict { paths: Vec::new() },
        (Some(Purpose::Fix), _) => Phase::ToFix,
        (Some(Purpose::Task) | None, _) => Phase::Waiting,
    }
}
