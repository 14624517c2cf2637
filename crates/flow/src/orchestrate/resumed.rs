//! The state a resumed orchestration starts with.

use holon_core::outcome::{Outcome, Status};

use super::state::{AttemptEnd, Ended, Phase, Purpose, State};
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
            for node in state.nodes.iter_mut().filter(|node| node.task.id == task) {
                node.phase = again(node.attempts.last().map(|attempt| attempt.purpose), accepted(node));
                node.fixes = 0;
            }
        }
        _ => {}
    }
    state.messages.extend(message.filter(|text| !text.trim().is_empty()));
    Ok(state)
}

/// Whether a person, by going on, takes what a task asked to be looked at.
fn accepted(node: &super::state::Node) -> bool {
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
