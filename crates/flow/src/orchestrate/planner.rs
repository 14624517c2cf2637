//! What comes next, and what each thing that happens means: pure functions of the state. They touch nothing and know no
//! clock.

use holon_core::artifact::orchestration::Graph;
use holon_core::ids::RunId;
use holon_core::mode_run::{Decision, MAX_CHILDREN};
use holon_core::outcome::{Outcome, Status};

use super::graph::{self, CHECK};
use super::replan;
use super::state::{Attempt, AttemptEnd, Ended, Merge, Node, Phase, Planned, Purpose, State};

/// How many children run at the same time.
pub const PARALLEL: usize = 4;
/// How often a task is tried before it counts as failed; the circuit breaker allows no more.
pub const ATTEMPTS: usize = 3;
/// How often the findings of a review go back to be mended.
pub const FIXES: u32 = 2;

/// The next thing to do; tasks are named by their place in the plan. Whatever is begun ends before the next is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Have the goal split into tasks.
    Plan,
    /// Start these runs, side by side.
    Begin(Vec<Start>),
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
    End(Ended),
}

/// A run to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The task it is for.
    pub node: usize,
    /// What it is for.
    pub purpose: Purpose,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The goal was split, or could not be and is split the usual way.
    Planned {
        /// The tasks.
        graph: Graph,
        /// Who made the plan.
        by: Planned,
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
        attempt: Attempt,
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
        merge: Option<Merge>,
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
        answer: Result<Graph, String>,
    },
    /// Only what is done is brought to its end.
    Left {
        /// The task that cannot be done; without one, it is the runs that are used up.
        node: Option<usize>,
    },
}

/// The next thing to do. `spent_ms` is the time spent so far.
pub fn next(state: &State, spent_ms: u64) -> Action {
    if let Some(ended) = &state.ended {
        return Action::End(ended.clone());
    }
    if state.planned.is_none() {
        return budget(state, spent_ms).map_or(Action::Plan, Action::End);
    }
    // What must not go out is not looked for a way around.
    if let Some(ended) = state.nodes.iter().filter(|node| node.task.mode == "ethical").find_map(over) {
        return Action::End(ended);
    }
    let first = |wanted: fn(&Phase) -> bool| state.nodes.iter().position(|node| wanted(&node.phase));
    if let Some(node) = first(|phase| matches!(phase, Phase::ToMerge { .. })) {
        return Action::Merge { node };
    }
    if let Some(node) = replan::trouble(state) {
        return replan::after(state, node, spent_ms);
    }
    if state.nodes.iter().all(|node| node.phase == Phase::Done) {
        return Action::End(replan::complete(state));
    }
    if let Some(ended) = budget(state, spent_ms) {
        return Action::End(ended);
    }
    if replan::is_short_of_runs(state) {
        return Action::Leave { node: None };
    }
    // What mends others' work changes what everything else is based on, so it runs alone.
    if let Some(node) = first(|phase| matches!(phase, Phase::Conflict { .. })) {
        return Action::Begin(vec![Start { node, purpose: Purpose::Conflict }]);
    }
    if let Some(node) = first(|phase| *phase == Phase::ToFix) {
        return Action::Begin(vec![Start { node, purpose: Purpose::Fix }]);
    }
    // Before anybody looks at or assesses what does not hold together.
    if let Some(node) = (0..state.nodes.len()).find(|node| is_check(state, *node) && is_ready(state, *node)) {
        return Action::Check { node };
    }
    let room = PARALLEL.min(replan::room(state));
    let starts: Vec<Start> = (0..state.nodes.len())
        .filter(|node| !is_check(state, *node) && is_ready(state, *node))
        .take(room)
        .map(|node| Start { node, purpose: Purpose::Task })
        .collect();
    if starts.is_empty() {
        // A plan without circles always has a task that can start.
        let (task, kind) = ("plan".into(), "stuck".into());
        return Action::End(Ended::Failed { task, kind, reason: "no task can start".into() });
    }
    Action::Begin(starts)
}

fn is_check(state: &State, node: usize) -> bool {
    state.nodes[node].task.mode == CHECK
}

fn is_ready(state: &State, node: usize) -> bool {
    let node = &state.nodes[node];
    let done = |id: &String| state.node(id).is_none_or(|node| node.phase == Phase::Done);
    node.phase == Phase::Waiting && node.task.depends_on.iter().all(done)
}

pub(super) fn budget(state: &State, spent_ms: u64) -> Option<Ended> {
    if state.money_left().is_some_and(|left| left <= 0.0) {
        return Some(Ended::OutOfMoney);
    }
    if spent_ms >= state.max_ms {
        return Some(Ended::OutOfTime);
    }
    (state.children >= MAX_CHILDREN).then_some(Ended::TooManyChildren)
}

/// The end that a task means for the whole.
pub(super) fn over(node: &Node) -> Option<Ended> {
    let task = node.task.id.clone();
    match &node.phase {
        Phase::Failed { reason } => {
            let error = node.attempts.last().and_then(|a| a.end.as_ref()?.error.as_ref());
            let kind = error.map_or_else(|| "task_failed".to_owned(), |(kind, _)| kind.clone());
            Some(Ended::Failed { task, kind, reason: reason.clone() })
        }
        Phase::Blocked { reason } if node.task.mode == "ethical" => {
            Some(Ended::EthicsBlocked { task, reason: reason.clone() })
        }
        Phase::Blocked { reason } => Some(Ended::Escalated { task, reason: reason.clone() }),
        _ => None,
    }
}

/// Takes note of something that happened.
pub fn apply(state: &mut State, event: Event) {
    match event {
        Event::Planned { graph, by } => {
            state.nodes = graph::nodes(graph);
            state.planned = Some(by);
        }
        Event::PlanFailed { kind, reason } => {
            state.ended = Some(Ended::Failed { task: "plan".into(), kind, reason });
        }
        Event::Begun { node, attempt } => {
            // The host's own work is no child.
            state.children += u32::from(attempt.mode != CHECK);
            if let Some(node) = state.nodes.get_mut(node) {
                node.phase = Phase::Running { purpose: attempt.purpose };
                node.attempts.push(attempt);
            }
        }
        Event::Ended { node, end } => {
            state.spent_usd += end.cost_usd.max(0.0);
            let overruled = state.ethics_override.is_some();
            if let Some(node) = state.nodes.get_mut(node) {
                ended(node, *end, overruled);
            }
        }
        Event::Refused { node, kind, reason } => {
            if let Some(node) = state.nodes.get_mut(node) {
                // What did not start used up nothing.
                let child = node.attempts.last().is_some_and(|attempt| attempt.mode != CHECK);
                state.children = state.children.saturating_sub(u32::from(child));
                refused(node, kind, reason);
            }
        }
        Event::Merged { node, merge } => {
            if let Some(merge) = merge {
                state.merges.push(merge);
                graph::ensure_assessed(&mut state.nodes);
                graph::ensure_checked(&mut state.nodes, &[]);
            }
            if let Some(node) = state.nodes.get_mut(node) {
                // What was mended is looked at again.
                let again = node.phase == Phase::ToMerge { purpose: Purpose::Fix };
                node.phase = if again { Phase::Waiting } else { Phase::Done };
            }
        }
        Event::ToCheck { commands } => {
            if !state.nodes.iter().any(|node| node.task.mode == CHECK) {
                graph::ensure_checked(&mut state.nodes, &commands);
            }
        }
        Event::Conflicted { node, paths } => {
            if let Some(node) = state.nodes.get_mut(node) {
                node.phase = match node.phase {
                    Phase::ToMerge { purpose: Purpose::Task } => Phase::Conflict { paths },
                    // It was made for exactly these files; trying again would not help.
                    _ => Phase::Blocked {
                        reason: format!("its changes still do not fit: {}", paths.join(", ")),
                    },
                };
            }
        }
        Event::Replanning { node } => replan::asked(state, node),
        Event::Replanned { run, answer } => replan::answered(state, run, answer),
        Event::Left { node } => replan::leave(state, node),
    }
}

fn refused(node: &mut Node, kind: String, reason: String) {
    let end = AttemptEnd {
        status: Status::Failed,
        outcome: Outcome::Failure,
        decision: Decision::Escalate { reason: reason.clone() },
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
        "ethical" => Phase::Blocked { reason },
        _ => Phase::Failed { reason },
    };
}

fn ended(node: &mut Node, end: AttemptEnd, overruled: bool) {
    let Phase::Running { purpose } = node.phase else { return };
    if end.status == Status::Cancelled {
        // As if it had not begun: whoever goes on starts it again.
        node.phase = match purpose {
            Purpose::Task => Phase::Waiting,
            Purpose::Conflict => Phase::Conflict { paths: Vec::new() },
            Purpose::Fix => Phase::ToFix,
        };
    } else {
        node.phase = match purpose {
            Purpose::Task => after_task(node, &end, overruled),
            Purpose::Conflict | Purpose::Fix => after_mending(node, purpose, &end),
        };
        if node.phase == Phase::ToFix {
            node.fixes += 1;
        }
    }
    if let Some(attempt) = node.attempts.last_mut() {
        attempt.end = Some(end);
    }
}

fn after_mending(node: &Node, purpose: Purpose, end: &AttemptEnd) -> Phase {
    let what = match purpose {
        Purpose::Fix => "what was found could not be mended",
        _ => "both sides of the conflict could not be brought together",
    };
    match end.outcome {
        Outcome::Success if end.changed => Phase::ToMerge { purpose },
        Outcome::Success if purpose == Purpose::Fix => Phase::Waiting,
        // Nothing to add: the other side has it already.
        Outcome::Success => Phase::Done,
        Outcome::Failure if node.task.mode == CHECK => to_fix_or_fail(node, reason(end)),
        _ => Phase::Blocked { reason: format!("{what}: {}", reason(end)) },
    }
}

/// Checks that fail are mended as often as a review is heard; then it has failed, and nothing is left to decide.
fn to_fix_or_fail(node: &Node, reason: String) -> Phase {
    if node.fixes < FIXES { Phase::ToFix } else { Phase::Failed { reason } }
}

fn after_checks(node: &Node, end: &AttemptEnd) -> Phase {
    match (end.outcome, &end.decision) {
        (Outcome::Success, Decision::Approve) => Phase::Done,
        (_, Decision::Block { reason }) => to_fix_or_fail(node, reason.clone()),
        // They could not be run, and whoever mends files cannot change that.
        _ => Phase::Failed { reason: reason(end) },
    }
}

fn after_task(node: &Node, end: &AttemptEnd, overruled: bool) -> Phase {
    if node.task.mode == CHECK {
        return after_checks(node, end);
    }
    let deciding = node.task.mode == "ethical";
    if end.outcome == Outcome::Failure {
        let tries = node.attempts.iter().filter(|a| a.purpose == Purpose::Task && is_failure(a)).count() + 1;
        if is_worth_trying_again(end) && tries < ATTEMPTS {
            return Phase::Waiting;
        }
    }
    if deciding {
        return match &end.decision {
            _ if is_approved(end) => Phase::Done,
            _ if overruled => Phase::Done,
            decision => {
                let why = decision.reason().map_or_else(|| reason(end), str::to_owned);
                Phase::Blocked { reason: why }
            }
        };
    }
    match (end.outcome, &end.decision) {
        (Outcome::Failure, _) => Phase::Failed { reason: reason(end) },
        (Outcome::NeedsHuman, _) => Phase::Blocked { reason: reason(end) },
        (Outcome::Success, Decision::Block { .. }) if node.task.mode == "review" && node.fixes < FIXES => {
            Phase::ToFix
        }
        (Outcome::Success, Decision::Block { reason }) => Phase::Blocked { reason: reason.clone() },
        (Outcome::Success, _) if end.changed => Phase::ToMerge { purpose: Purpose::Task },
        (Outcome::Success, _) => Phase::Done,
    }
}

fn is_failure(attempt: &Attempt) -> bool {
    attempt.end.as_ref().is_some_and(|end| end.outcome == Outcome::Failure && end.status != Status::Cancelled)
}

/// Whether a result goes out only because a person said so: an assessment is over that did not let it.
pub(super) fn is_overruled(state: &State) -> bool {
    let last = |node: &Node| node.attempts.last().and_then(|attempt| attempt.end.clone());
    let assessed = state.nodes.iter().filter(|node| node.task.mode == "ethical" && node.phase == Phase::Done);
    assessed.filter_map(last).any(|end| !is_approved(&end))
}

/// Where no report is required, the host's checks may approve although there is none.
fn is_approved(end: &AttemptEnd) -> bool {
    end.decision == Decision::Approve && end.outcome != Outcome::NeedsHuman && !is_breach(end)
}

fn is_breach(end: &AttemptEnd) -> bool {
    end.error.as_ref().is_some_and(|(kind, _)| kind == "breach")
}

/// A limit that was reached is reached again; everything else may have been bad luck.
fn is_worth_trying_again(end: &AttemptEnd) -> bool {
    let spent = ["max_cost", "max_rounds", "timeout", "idle_timeout", "breach"];
    let kind = end.error.as_ref().map_or("", |(kind, _)| kind.as_str());
    !matches!(end.status, Status::Timeout | Status::Cancelled) && !spent.contains(&kind)
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
