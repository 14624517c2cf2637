//! What comes next, and what each thing that happens means: pure functions of the state. They touch nothing and know no
//! clock.

pub mod word;

use holon_core::artifact::orchestration::OrchestrationGraph;
use holon_core::ids::RunId;
use holon_core::mode_run::{MAX_CHILDREN, ModeDecision};
use holon_core::outcome::{RunOutcome, RunStatus};

use super::graph::{self, CHECK};
use super::replan;
use super::reserve;
use super::state::{
    AttemptEnd, AttemptPurpose, MergedChange, OrchestrationEnd, OrchestrationState, PlanOrigin, TaskAttempt,
    TaskNode, TaskPhase,
};

/// How many children run at the same time.
pub const PARALLEL: usize = 4;
/// How often a task is tried before it counts as failed; the circuit breaker allows no more.
pub const ATTEMPTS: usize = 3;
/// How often the findings of a review go back to be mended.
pub const FIXES: u32 = 2;

/// The next thing to do; tasks are named by their place in the plan. Whatever is begun ends before the next is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrchestrationAction {
    /// Have the goal split into tasks.
    Plan,
    /// Start these runs, side by side.
    Begin(Vec<ChildStart>),
    /// Join the changes of a task with those before it.
    Merge {
        /// The task.
        node: usize,
    },
    /// Have the host check all changes together.
    Check {
        /// The task that stands for it.
        node: usize,
    },
    /// Have the rest of the work planned again.
    Replan {
        /// The task that cannot be done.
        node: usize,
    },
    /// Bring only what is done to its end.
    Leave {
        /// The task that cannot be done; without one, it is the runs that are used up.
        node: Option<usize>,
    },
    /// Nothing more to do.
    End(OrchestrationEnd),
}

/// A run to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildStart {
    /// The task it is for.
    pub node: usize,
    /// What it is for.
    pub purpose: AttemptPurpose,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum OrchestrationEvent {
    /// The goal was split, or could not be and is split the usual way.
    Planned {
        /// The tasks.
        graph: OrchestrationGraph,
        /// Who made the plan.
        by: PlanOrigin,
    },
    /// Planning failed for good.
    PlanFailed {
        /// A stable short word.
        kind: String,
        /// Why.
        reason: String,
    },
    /// A run begins.
    Begun {
        /// The task.
        node: usize,
        /// The run as far as it is known.
        attempt: TaskAttempt,
    },
    /// A run has ended.
    Ended {
        /// The task.
        node: usize,
        /// What came of it.
        end: Box<AttemptEnd>,
    },
    /// A run could not be started.
    Refused {
        /// The task.
        node: usize,
        /// A stable short word.
        kind: String,
        /// Why.
        reason: String,
    },
    /// Changes were joined.
    Merged {
        /// The task.
        node: usize,
        /// What was joined, if there was anything.
        merge: Option<MergedChange>,
    },
    /// There are commands that check all changes together.
    ToCheck {
        /// The commands.
        commands: Vec<String>,
    },
    /// Changes do not fit those before them.
    Conflicted {
        /// The task.
        node: usize,
        /// Where they meet.
        paths: Vec<String>,
    },
    /// The rest of the work is to be planned again.
    Replanning {
        /// The task that cannot be done.
        node: usize,
    },
    /// Whoever was to plan the rest has answered.
    Replanned {
        /// The run that answered.
        run: Option<RunId>,
        /// The plan, or why there is none.
        answer: Result<OrchestrationGraph, String>,
    },
    /// Only what is done is brought to its end.
    Left {
        /// The task that cannot be done; without one, it is the runs that are used up.
        node: Option<usize>,
    },
}

/// The next thing to do. `spent_ms` is the time spent so far.
pub fn next(state: &OrchestrationState, spent_ms: u64) -> OrchestrationAction {
    if let Some(ended) = &state.ended {
        return OrchestrationAction::End(ended.clone());
    }
    if state.planned.is_none() {
        return budget(state, spent_ms).map_or(OrchestrationAction::Plan, OrchestrationAction::End);
    }
    // What must not go out is not looked for a way around.
    if let Some(ended) = state.nodes.iter().filter(|node| node.task.mode == "ethical").find_map(over) {
        return OrchestrationAction::End(ended);
    }
    let first = |wanted: fn(&TaskPhase) -> bool| state.nodes.iter().position(|node| wanted(&node.phase));
    if let Some(node) = first(|phase| matches!(phase, TaskPhase::ToMerge { .. })) {
        return OrchestrationAction::Merge { node };
    }
    if let Some(node) = replan::trouble(state) {
        return replan::after(state, node, spent_ms);
    }
    if state.nodes.iter().all(|node| node.phase == TaskPhase::Done) {
        return OrchestrationAction::End(replan::complete(state));
    }
    if let Some(ended) = budget(state, spent_ms) {
        return OrchestrationAction::End(ended);
    }
    if replan::is_short_of_runs(state) || reserve::is_short(state) {
        return OrchestrationAction::Leave { node: None };
    }
    // What mends others' work changes what everything else is based on, so it runs alone.
    if let Some(node) = first(|phase| matches!(phase, TaskPhase::Conflict { .. })) {
        return OrchestrationAction::Begin(vec![ChildStart { node, purpose: AttemptPurpose::Conflict }]);
    }
    if let Some(node) = first(|phase| *phase == TaskPhase::ToFix) {
        return OrchestrationAction::Begin(vec![ChildStart { node, purpose: AttemptPurpose::Fix }]);
    }
    // Before anybody looks at or assesses what does not hold together.
    if let Some(node) = (0..state.nodes.len()).find(|node| is_check(state, *node) && is_ready(state, *node)) {
        return OrchestrationAction::Check { node };
    }
    let room = PARALLEL.min(replan::room(state));
    let starts: Vec<ChildStart> = (0..state.nodes.len())
        .filter(|node| !is_check(state, *node) && is_ready(state, *node))
        .take(room)
        .map(|node| ChildStart { node, purpose: AttemptPurpose::Task })
        .collect();
    if starts.is_empty() {
        // A plan without circles always has a task that can start.
        let (task, kind) = ("plan".into(), "stuck".into());
        return OrchestrationAction::End(OrchestrationEnd::Failed {
            task,
            kind,
            reason: "no task can start".into(),
        });
    }
    OrchestrationAction::Begin(starts)
}

fn is_check(state: &OrchestrationState, node: usize) -> bool {
    state.nodes[node].task.mode == CHECK
}

fn is_ready(state: &OrchestrationState, node: usize) -> bool {
    let node = &state.nodes[node];
    let done = |id: &String| state.node(id).is_none_or(|node| node.phase == TaskPhase::Done);
    node.phase == TaskPhase::Waiting && node.task.depends_on.iter().all(done)
}

pub(super) fn budget(state: &OrchestrationState, spent_ms: u64) -> Option<OrchestrationEnd> {
    if state.money_left().is_some_and(|left| left <= 0.0) {
        return Some(OrchestrationEnd::OutOfMoney);
    }
    if spent_ms >= state.max_ms {
        return Some(OrchestrationEnd::OutOfTime);
    }
    (state.children >= MAX_CHILDREN).then_some(OrchestrationEnd::TooManyChildren)
}

/// The end that a task means for the whole.
pub(super) fn over(node: &TaskNode) -> Option<OrchestrationEnd> {
    let task = node.task.id.clone();
    match &node.phase {
        TaskPhase::Failed { reason } => {
            let error = node.attempts.last().and_then(|a| a.end.as_ref()?.error.as_ref());
            let kind = error.map_or_else(|| "task_failed".to_owned(), |(kind, _)| kind.clone());
            Some(OrchestrationEnd::Failed { task, kind, reason: reason.clone() })
        }
        TaskPhase::Blocked { reason } if node.task.mode == "ethical" => {
            Some(OrchestrationEnd::EthicsBlocked { task, reason: reason.clone() })
        }
        TaskPhase::Blocked { reason } => Some(OrchestrationEnd::Escalated { task, reason: reason.clone() }),
        _ => None,
    }
}

/// Takes note of something that happened.
pub fn apply(state: &mut OrchestrationState, event: OrchestrationEvent) {
    match event {
        OrchestrationEvent::Planned { graph, by } => {
            state.nodes = graph::nodes(graph);
            state.planned = Some(by);
        }
        OrchestrationEvent::PlanFailed { kind, reason } => {
            state.ended = Some(OrchestrationEnd::Failed { task: "plan".into(), kind, reason });
        }
        OrchestrationEvent::Begun { node, attempt } => {
            // The host's own work is no child.
            state.children += u32::from(attempt.mode != CHECK);
            if let Some(node) = state.nodes.get_mut(node) {
                node.phase = TaskPhase::Running { purpose: attempt.purpose };
                node.attempts.push(attempt);
            }
        }
        OrchestrationEvent::Ended { node, end } => {
            state.spent_usd += end.cost_usd.max(0.0);
            let overruled = state.ethics_override.is_some();
            if let Some(node) = state.nodes.get_mut(node) {
                // What would be one run without its edges is one with them.
                let tries = if state.single && node.writes() { 1 } else { ATTEMPTS };
                ended(node, *end, overruled, tries);
            }
        }
        OrchestrationEvent::Refused { node, kind, reason } => {
            if let Some(node) = state.nodes.get_mut(node) {
                // What did not start used up nothing.
                let child = node.attempts.last().is_some_and(|attempt| attempt.mode != CHECK);
                state.children = state.children.saturating_sub(u32::from(child));
                refused(node, kind, reason);
            }
        }
        OrchestrationEvent::Merged { node, merge } => {
            if let Some(merge) = merge {
                state.merges.push(merge);
                graph::ensure_assessed(&mut state.nodes);
                graph::ensure_checked(&mut state.nodes, &[]);
            }
            if let Some(node) = state.nodes.get_mut(node) {
                // What was mended is looked at again.
                let again = node.phase == TaskPhase::ToMerge { purpose: AttemptPurpose::Fix };
                node.phase = if again { TaskPhase::Waiting } else { TaskPhase::Done };
            }
        }
        OrchestrationEvent::ToCheck { commands } => {
            if !state.nodes.iter().any(|node| node.task.mode == CHECK) {
                graph::ensure_checked(&mut state.nodes, &commands);
            }
        }
        OrchestrationEvent::Conflicted { node, paths } => {
            if let Some(node) = state.nodes.get_mut(node) {
                node.phase = match node.phase {
                    TaskPhase::ToMerge { purpose: AttemptPurpose::Task } => TaskPhase::Conflict { paths },
                    // It was made for exactly these files; trying again would not help.
                    _ => TaskPhase::Blocked {
                        reason: format!("its changes still do not fit: {}", paths.join(", ")),
                    },
                };
            }
        }
        OrchestrationEvent::Replanning { node } => replan::asked(state, node),
        OrchestrationEvent::Replanned { run, answer } => replan::answered(state, run, answer),
        OrchestrationEvent::Left { node } => replan::leave(state, node),
    }
}

fn refused(node: &mut TaskNode, kind: String, reason: String) {
    let end = AttemptEnd {
        status: RunStatus::Failed,
        outcome: RunOutcome::Failure,
        decision: ModeDecision::Escalate { reason: reason.clone() },
        error: Some((kind, reason.clone())),
        manifest_sha256: None,
        artifacts: Default::default(),
        changed: false,
        cost_usd: 0.0,
        duration_ms: 0,
    };
    if let Some(attempt) = node.attempts.last_mut() {
        attempt.end = Some(end);
    }
    node.phase = match node.task.mode.as_str() {
        // Without an assessment nothing goes out.
        "ethical" => TaskPhase::Blocked { reason },
        _ => TaskPhase::Failed { reason },
    };
}

fn ended(node: &mut TaskNode, end: AttemptEnd, overruled: bool, tries: usize) {
    let TaskPhase::Running { purpose } = node.phase else { return };
    if end.status == RunStatus::Cancelled {
        // As if it had not begun: whoever goes on starts it again.
        node.phase = match purpose {
            AttemptPurpose::Task => TaskPhase::Waiting,
            AttemptPurpose::Conflict => TaskPhase::Conflict { paths: Vec::new() },
            AttemptPurpose::Fix => TaskPhase::ToFix,
        };
    } else {
        node.phase = match purpose {
            AttemptPurpose::Task => after_task(node, &end, overruled, tries),
            AttemptPurpose::Conflict | AttemptPurpose::Fix => after_mending(node, purpose, &end),
        };
        if node.phase == TaskPhase::ToFix {
            node.fixes += 1;
        }
    }
    if let Some(attempt) = node.attempts.last_mut() {
        attempt.end = Some(end);
    }
}

fn after_mending(node: &TaskNode, purpose: AttemptPurpose, end: &AttemptEnd) -> TaskPhase {
    let what = match purpose {
        AttemptPurpose::Fix => "what was found could not be mended",
        _ => "both sides of the conflict could not be brought together",
    };
    match end.outcome {
        RunOutcome::Success if end.changed => TaskPhase::ToMerge { purpose },
        RunOutcome::Success if purpose == AttemptPurpose::Fix => TaskPhase::Waiting,
        // Nothing to add: the other side has it already.
        RunOutcome::Success => TaskPhase::Done,
        RunOutcome::Failure if node.task.mode == CHECK => to_fix_or_fail(node, reason(end)),
        _ => TaskPhase::Blocked { reason: format!("{what}: {}", reason(end)) },
    }
}

/// Checks that fail are mended as often as a review is heard; then it has failed, and nothing is left to decide.
fn to_fix_or_fail(node: &TaskNode, reason: String) -> TaskPhase {
    if node.fixes < FIXES { TaskPhase::ToFix } else { TaskPhase::Failed { reason } }
}

fn after_checks(node: &TaskNode, end: &AttemptEnd) -> TaskPhase {
    match (end.outcome, &end.decision) {
        (RunOutcome::Success, ModeDecision::Approve) => TaskPhase::Done,
        (_, ModeDecision::Block { reason }) => to_fix_or_fail(node, reason.clone()),
        // They could not be run, and whoever mends files cannot change that.
        _ => TaskPhase::Failed { reason: reason(end) },
    }
}

fn after_task(node: &TaskNode, end: &AttemptEnd, overruled: bool, most: usize) -> TaskPhase {
    if node.task.mode == CHECK {
        return after_checks(node, end);
    }
    let deciding = node.task.mode == "ethical";
    if end.outcome == RunOutcome::Failure {
        let tries =
            node.attempts.iter().filter(|a| a.purpose == AttemptPurpose::Task && is_failure(a)).count() + 1;
        if is_worth_trying_again(end) && tries < most {
            return TaskPhase::Waiting;
        }
    }
    if deciding {
        return match &end.decision {
            _ if is_approved(end) => TaskPhase::Done,
            _ if overruled => TaskPhase::Done,
            decision => {
                let why = decision.reason().map_or_else(|| reason(end), str::to_owned);
                TaskPhase::Blocked { reason: why }
            }
        };
    }
    match (end.outcome, &end.decision) {
        (RunOutcome::Failure, _) => TaskPhase::Failed { reason: reason(end) },
        (RunOutcome::NeedsHuman, _) => TaskPhase::Blocked { reason: reason(end) },
        (RunOutcome::Success, ModeDecision::Block { .. })
            if node.task.mode == "review" && node.fixes < FIXES =>
        {
            TaskPhase::ToFix
        }
        (RunOutcome::Success, ModeDecision::Block { reason }) => {
            TaskPhase::Blocked { reason: reason.clone() }
        }
        (RunOutcome::Success, _) if end.changed => TaskPhase::ToMerge { purpose: AttemptPurpose::Task },
        (RunOutcome::Success, _) => TaskPhase::Done,
    }
}

fn is_failure(attempt: &TaskAttempt) -> bool {
    attempt
        .end
        .as_ref()
        .is_some_and(|end| end.outcome == RunOutcome::Failure && end.status != RunStatus::Cancelled)
}

/// Whether a result goes out only because a person said so: an assessment is over that did not let it.
pub(super) fn is_overruled(state: &OrchestrationState) -> bool {
    let last = |node: &TaskNode| node.attempts.last().and_then(|attempt| attempt.end.clone());
    let assessed =
        state.nodes.iter().filter(|node| node.task.mode == "ethical" && node.phase == TaskPhase::Done);
    assessed.filter_map(last).any(|end| !is_approved(&end))
}

/// Where no report is required, the host's checks may approve although there is none.
fn is_approved(end: &AttemptEnd) -> bool {
    end.decision == ModeDecision::Approve && end.outcome != RunOutcome::NeedsHuman && !is_breach(end)
}

fn is_breach(end: &AttemptEnd) -> bool {
    end.error.as_ref().is_some_and(|(kind, _)| kind == "breach")
}

/// A limit that was reached is reached again; everything else may have been bad luck.
fn is_worth_trying_again(end: &AttemptEnd) -> bool {
    let spent = ["max_cost", "max_rounds", "timeout", "idle_timeout", "breach"];
    let kind = end.error.as_ref().map_or("", |(kind, _)| kind.as_str());
    !matches!(end.status, RunStatus::Timeout | RunStatus::Cancelled) && !spent.contains(&kind)
}

/// Why a run ended as it did.
pub(super) fn reason(end: &AttemptEnd) -> String {
    match (&end.error, end.decision.reason()) {
        (Some((_, message)), _) => message.clone(),
        (None, Some(reason)) => reason.to_owned(),
        (None, None) => format!("it ended as {}", end.outcome),
    }
}

#[cfg(test)]
mod tests;
