//! What follows when a task cannot be done: the rest of the work is planned again, or the finished part is delivered.
//! Pure, as the planner is.

use std::collections::BTreeSet;

use holon_core::artifact::orchestration::{OrchestrationGraph, OrchestrationTask};
use holon_core::ids::RunId;
use holon_core::mode_run::{MAX_CHILDREN, ModeDecision};

use super::graph::{self, CHECK};
use super::planner::{ChildStart, OrchestrationAction, budget, over};
use super::reserve;
use super::state::{
    AttemptEnd, AttemptPurpose, OrchestrationEnd, OrchestrationState, Replan, ReplanAnswer, TaskAttempt,
    TaskNode, TaskPhase, UnfinishedPart,
};

/// How often the rest of the work is planned again.
pub const REPLANS: usize = 2;
/// Runs that are kept for whoever looks at and assesses what is done.
pub const RESERVE: u32 = 2;
/// The part of money and time that must be left for another plan to be worth asking for.
const WORTH: u32 = 10;

/// The first task that cannot be done.
pub(super) fn trouble(state: &OrchestrationState) -> Option<usize> {
    state.nodes.iter().position(|node| over(node).is_some())
}

/// What is done about a task that cannot be done, after everything that could be joined is.
pub(super) fn after(state: &OrchestrationState, node: usize, spent_ms: u64) -> OrchestrationAction {
    let Some(ended) = state.nodes.get(node).and_then(over) else {
        return OrchestrationAction::End(OrchestrationEnd::Complete);
    };
    if state.money_left() == Some(0.0) && is_out_of_money(&state.nodes[node]) {
        return OrchestrationAction::End(OrchestrationEnd::OutOfMoney);
    }
    if state.is_leaving() || budget(state, spent_ms).is_some() || is_for_a_person(&state.nodes[node]) {
        return OrchestrationAction::End(ended);
    }
    // There is no plan that could be another one.
    if state.single {
        return OrchestrationAction::End(ended);
    }
    // Work that is done but for its place among the others is not thrown away.
    if let Some(node) = state.nodes.iter().position(|node| matches!(node.phase, TaskPhase::Conflict { .. })) {
        return OrchestrationAction::Begin(vec![ChildStart { node, purpose: AttemptPurpose::Conflict }]);
    }
    let asked = state.replans.last().is_some_and(|replan| replan.answer.is_none());
    if asked || (state.replans.len() < REPLANS && is_worth_asking(state, spent_ms)) {
        return OrchestrationAction::Replan { node };
    }
    if can_be_left(state, node) {
        OrchestrationAction::Leave { node: Some(node) }
    } else {
        OrchestrationAction::End(ended)
    }
}

/// Whether there are so few runs left that what is done has to be brought home.
pub(super) fn is_short_of_runs(state: &OrchestrationState) -> bool {
    let room = MAX_CHILDREN.saturating_sub(state.children);
    !state.is_leaving() && !state.merges.is_empty() && room <= RESERVE && open(state) > room
}

/// How many runs may begin side by side, so that the reserve stays where not everything fits.
pub(super) fn room(state: &OrchestrationState) -> usize {
    let room = MAX_CHILDREN.saturating_sub(state.children);
    let kept = if !state.is_leaving() && open(state) > room { RESERVE } else { 0 };
    room.saturating_sub(kept).max(1).min(room) as usize
}

/// Runs that are needed at least to come to the end of the plan.
fn open(state: &OrchestrationState) -> u32 {
    state.nodes.iter().filter(|node| node.phase != TaskPhase::Done && node.task.mode != CHECK).count() as u32
}

/// A wall that did not hold, and a question that an agent asks, are nothing that another plan could answer.
fn is_for_a_person(node: &TaskNode) -> bool {
    ["breach", "checkpoint"].contains(&kind(node).as_str())
}

/// Whether a task could not be done because its money was spent.
pub(super) fn is_out_of_money(node: &TaskNode) -> bool {
    node.attempts.last().and_then(|attempt| attempt.end.as_ref()).is_some_and(AttemptEnd::is_out_of_money)
}

fn is_worth_asking(state: &OrchestrationState, spent_ms: u64) -> bool {
    let left = state.money_left().unwrap_or(0.0);
    let money = state.max_cost_usd.is_none_or(|all| left >= all / f64::from(WORTH));
    let time = state.max_ms.saturating_sub(spent_ms) >= state.max_ms / u64::from(WORTH);
    money && time && MAX_CHILDREN.saturating_sub(state.children) >= RESERVE
}

/// Why a task could not be done: a stable short word.
pub(super) fn kind(node: &TaskNode) -> String {
    let error = node.attempts.last().and_then(|attempt| attempt.end.as_ref()?.error.as_ref());
    match (error, &node.phase) {
        (Some((kind, _)), _) => kind.clone(),
        (None, TaskPhase::Blocked { .. }) if node.task.mode == "review" => "review_blocked".into(),
        (None, TaskPhase::Blocked { .. }) => "escalated".into(),
        (None, _) => "task_failed".into(),
    }
}

/// Why a task could not be done, in a sentence.
pub(super) fn why(node: &TaskNode) -> Option<&str> {
    match &node.phase {
        TaskPhase::Failed { reason } | TaskPhase::Blocked { reason } => Some(reason),
        _ => None,
    }
}

/// The planner is asked again; whoever was asked and did not answer is asked for the same.
pub(super) fn asked(state: &mut OrchestrationState, node: usize) {
    let Some(node) = state.nodes.get(node) else { return };
    if state.replans.last().is_some_and(|replan| replan.answer.is_none()) {
        return;
    }
    let replan = Replan {
        after_task: node.task.id.clone(),
        kind: kind(node),
        reason: why(node).unwrap_or_default().to_owned(),
        run: None,
        kept: done(state).into_iter().collect(),
        dropped: Vec::new(),
        added: Vec::new(),
        answer: None,
    };
    state.replans.push(replan);
}

/// The planner has answered.
pub(super) fn answered(
    state: &mut OrchestrationState,
    run: Option<RunId>,
    answer: Result<OrchestrationGraph, String>,
) {
    let Some(node) = trouble(state) else { return };
    let answer = match answer {
        Ok(OrchestrationGraph { stop: Some(reason), .. }) => ReplanAnswer::Stop { reason },
        Ok(graph) => match rest(state, node, graph) {
            Ok(tasks) if tasks.is_empty() => {
                ReplanAnswer::Stop { reason: "its plan names nothing that is not done".into() }
            }
            Ok(tasks) => {
                take(state, tasks);
                ReplanAnswer::Taken
            }
            Err(problem) => ReplanAnswer::Unusable { problem },
        },
        Err(problem) => ReplanAnswer::Unusable { problem },
    };
    let taken = answer == ReplanAnswer::Taken;
    if let Some(replan) = state.replans.last_mut() {
        (replan.run, replan.answer) = (run, Some(answer));
    }
    if !taken {
        leave(state, Some(node));
    }
}

/// Names of tasks that are done; the host's own checks are no task that anybody could wait for.
fn done(state: &OrchestrationState) -> BTreeSet<String> {
    let done = |node: &&TaskNode| node.phase == TaskPhase::Done && node.task.mode != CHECK;
    state.nodes.iter().filter(done).map(|node| node.task.id.clone()).collect()
}

/// The new tasks of a plan for the rest, or why it cannot be used.
fn rest(state: &OrchestrationState, node: usize, graph: OrchestrationGraph) -> Result<Vec<TaskNode>, String> {
    let (done, plan) = (done(state), state.replans.len() as u32);
    let own = state.nodes.iter().find(|node| node.task.mode == CHECK).map(|node| node.task.id.as_str());
    if let Some(id) = graph.kept.iter().find(|id| !done.contains(*id) && own != Some(id.as_str())) {
        return Err(format!("`{id}` is not done, so it cannot be kept"));
    }
    let named: BTreeSet<String> = graph.tasks.iter().map(|task| task.id.clone()).collect();
    // What is done stays as it is, whatever a plan says of it.
    let fresh = graph.tasks.into_iter().filter(|task| !done.contains(&task.id));
    let mut tasks: Vec<TaskNode> = fresh.map(|task| graph::fresh(task, plan)).collect();
    for node in &mut tasks {
        // Nobody waits for the host's checks: they come by themselves.
        node.task.depends_on.retain(|id| done.contains(id) || named.contains(id));
        if node.task.mode == "ethical" {
            let missing: Vec<String> =
                done.iter().filter(|id| !node.task.depends_on.contains(id)).cloned().collect();
            node.task.depends_on.extend(missing);
        }
    }
    if tasks.is_empty() {
        return Ok(tasks);
    }
    if repeats(state, node, &tasks) {
        return Err("it asks for the same again, word for word".into());
    }
    answer_objection(state, node, &mut tasks)?;
    let gate = u32::from(!state.merges.is_empty() || tasks.iter().any(TaskNode::writes));
    let assessed = u32::from(tasks.iter().any(|node| node.task.mode == "ethical"));
    let needed = tasks.len() as u32 + gate.saturating_sub(assessed);
    let left = MAX_CHILDREN.saturating_sub(state.children);
    if needed > left {
        return Err(format!("it needs {needed} runs, and {left} of {MAX_CHILDREN} are left"));
    }
    Ok(tasks)
}

/// Whether a plan changes nothing about what went wrong.
fn repeats(state: &OrchestrationState, node: usize, tasks: &[TaskNode]) -> bool {
    let same = |old: &OrchestrationTask, new: &OrchestrationTask| {
        let on = |task: &OrchestrationTask| task.depends_on.iter().cloned().collect::<BTreeSet<String>>();
        (&old.mode, &old.goal, &old.acceptance, &old.agent, &old.model)
            == (&new.mode, &new.goal, &new.acceptance, &new.agent, &new.model)
            && on(old) == on(new)
    };
    let failed = &state.nodes[node].task;
    match failed.mode == CHECK {
        true => tasks.iter().all(|new| state.nodes.iter().any(|old| same(&old.task, &new.task))),
        false => tasks.iter().any(|new| same(failed, &new.task)),
    }
}

/// A review that says no, also when it did and could not look again.
fn says_no(node: &TaskNode) -> bool {
    let blocks = |attempt: &TaskAttempt| {
        let decision = attempt.end.as_ref().map(|end| &end.decision);
        matches!(decision, Some(ModeDecision::Block { .. }))
    };
    node.task.mode == "review"
        && match node.phase {
            TaskPhase::Blocked { .. } => true,
            TaskPhase::Failed { .. } => node.attempts.iter().any(blocks),
            _ => false,
        }
}

/// A review that said no, and that no later one has taken the place of.
fn objection(state: &OrchestrationState) -> Option<&TaskNode> {
    let last = state.nodes.iter().chain(state.dropped.iter().rev()).find(|node| says_no(node))?;
    let heard = |node: &TaskNode| {
        node.task.mode == "review" && node.phase == TaskPhase::Done && node.plan > last.plan
    };
    (!state.nodes.iter().any(heard)).then_some(last)
}

/// A plan gets around no review that said no: another one has the last word, if need be the same one.
fn answer_objection(
    state: &OrchestrationState,
    node: usize,
    tasks: &mut Vec<TaskNode>,
) -> Result<(), String> {
    let Some(said_no) = objection(state) else { return Ok(()) };
    let (all, writers): (Vec<OrchestrationTask>, _) =
        (tasks.iter().map(|node| node.task.clone()).collect(), graph::writers(tasks));
    let after_all = |task: &OrchestrationTask| {
        let before = graph::before(&all, task);
        task.mode == "review" && writers.iter().all(|id| before.contains(id.as_str()))
    };
    if all.iter().any(after_all) {
        return Ok(());
    }
    if writers.is_empty() {
        let (id, why) = (&said_no.task.id, why(&state.nodes[node]).unwrap_or_default());
        return Err(format!("nothing in it answers what `{id}` found: {why}"));
    }
    let plan = state.replans.len() as u32;
    let mut task = OrchestrationTask { depends_on: writers, ..said_no.task.clone() };
    task.id = graph::free_name(tasks, &task.id, "-again");
    tasks.push(TaskNode::fresh(task, plan));
    Ok(())
}

/// Puts new tasks in the place of everything that is not done.
fn take(state: &mut OrchestrationState, tasks: Vec<TaskNode>) {
    let mut added: Vec<String> = tasks.iter().map(|node| node.task.id.clone()).collect();
    let is_kept = |node: &TaskNode| node.phase == TaskPhase::Done || node.task.mode == CHECK;
    let (kept, replaced): (Vec<TaskNode>, Vec<TaskNode>) =
        std::mem::take(&mut state.nodes).into_iter().partition(is_kept);
    let replaced: Vec<TaskNode> = replaced.into_iter().filter(is_worth_telling).collect();
    state.nodes = kept;
    state.nodes.extend(tasks);
    for at in 0..state.nodes.len() {
        if state.nodes[at].task.mode != CHECK {
            continue;
        }
        let mut own = state.nodes.remove(at);
        own.task.id = graph::free_name(&state.nodes, &own.task.id, "-joined");
        own.task.depends_on = graph::writers(&state.nodes);
        own.fixes = 0;
        if own.phase != TaskPhase::Done {
            own.phase = TaskPhase::Waiting;
        }
        state.nodes.insert(at, own);
    }
    if !state.merges.is_empty() || state.nodes.iter().any(TaskNode::writes) {
        graph::ensure_assessed(&mut state.nodes);
    }
    if let Some(replan) = state.replans.last_mut() {
        replan.added.append(&mut added);
        replan.dropped = replaced.iter().map(|node| node.task.id.clone()).collect();
    }
    state.dropped.extend(replaced);
}

/// An assessment that nobody began is made again for whatever there is to assess.
fn is_worth_telling(node: &TaskNode) -> bool {
    node.task.mode != "ethical" || !node.attempts.is_empty()
}

/// Whether there is something finished that could go out without the task that cannot be done.
fn can_be_left(state: &OrchestrationState, node: usize) -> bool {
    let node = &state.nodes[node];
    !state.merges.is_empty() && node.task.mode != CHECK && !says_no(node)
}

/// Only what is finished is brought to its end: checked, looked at and assessed. Where there is nothing that could go out,
/// it ends with what could not be done. Without a task it is the runs that are used up.
pub(super) fn leave(state: &mut OrchestrationState, node: Option<usize>) {
    let ended = match node {
        Some(node) => state.nodes.get(node).and_then(over),
        None => Some(OrchestrationEnd::TooManyChildren),
    };
    if !node.is_none_or(|node| can_be_left(state, node)) {
        state.ended = ended;
        return;
    }
    let (task, reason) = match node.map(|node| &state.nodes[node]) {
        Some(node) => (node.task.id.clone(), why(node).unwrap_or_default().to_owned()),
        None => short_of_runs(state),
    };
    let said_no = objection(state).cloned();
    let (kept, left) = split(state, said_no.is_some());
    if let Some(said_no) = &said_no
        && !kept.iter().any(|node| node.task.mode == "review" && node.phase != TaskPhase::Done)
    {
        // What a review does not let in does not go out because something else failed.
        state.ended = over(said_no);
        return;
    }
    state.nodes = kept;
    // Assessments are made again for what there is to assess.
    let (nodes, assessments): (Vec<TaskNode>, Vec<TaskNode>) =
        left.into_iter().partition(|node| node.task.mode != "ethical");
    state.dropped.extend(assessments.into_iter().filter(is_worth_telling));
    // What a person left out before is left, too.
    let before = state.left.take().map(|left| left.nodes).unwrap_or_default();
    let nodes = before.into_iter().chain(nodes).collect();
    state.left =
        Some(UnfinishedPart { task, reason, nodes, by_person: false, waited_for: Default::default() });
    graph::ensure_assessed(&mut state.nodes);
}

fn short_of_runs(state: &OrchestrationState) -> (String, String) {
    let waits = |node: &&TaskNode| {
        node.phase != TaskPhase::Done && !matches!(node.task.mode.as_str(), CHECK | "ethical")
    };
    let first = state.nodes.iter().find(waits).map_or_else(|| "plan".to_owned(), |node| node.task.id.clone());
    let left = MAX_CHILDREN.saturating_sub(state.children);
    if reserve::is_short(state) {
        return (first, reserve::told(state));
    }
    (first, format!("{left} of {MAX_CHILDREN} runs are left, and they are needed for what is done"))
}

/// What is brought to its end, and what is left.
fn split(state: &OrchestrationState, every_review: bool) -> (Vec<TaskNode>, Vec<TaskNode>) {
    let tasks: Vec<OrchestrationTask> = state.nodes.iter().map(|node| node.task.clone()).collect();
    let written: BTreeSet<&str> = state.merges.iter().map(|merge| merge.task.as_str()).collect();
    let looks = |node: &TaskNode| {
        node.task.mode == "review"
            && matches!(node.phase, TaskPhase::Waiting | TaskPhase::ToFix)
            && (every_review || graph::before(&tasks, &node.task).iter().any(|id| written.contains(id)))
    };
    let is_kept = |node: &TaskNode| node.phase == TaskPhase::Done || node.task.mode == CHECK || looks(node);
    let (mut kept, left): (Vec<TaskNode>, Vec<TaskNode>) = state.nodes.iter().cloned().partition(is_kept);
    let ids: BTreeSet<String> = kept.iter().map(|node| node.task.id.clone()).collect();
    let missing: Vec<&str> =
        left.iter().filter(|node| node.task.mode != "ethical").map(|node| node.task.id.as_str()).collect();
    for node in kept.iter_mut().filter(|node| node.phase != TaskPhase::Done) {
        node.task.depends_on.retain(|id| ids.contains(id));
        if node.task.mode == "review" {
            let missing = missing.join(", ");
            node.task.goal += &format!(
                "\n\nOnly a part of the plan was carried out. Review what is there; left out is: {missing}."
            );
        }
    }
    (kept, left)
}

/// How it ended when everything that is not left is done.
pub(super) fn complete(state: &OrchestrationState) -> OrchestrationEnd {
    let Some(left) = &state.left else { return OrchestrationEnd::Complete };
    let ids = left.nodes.iter().map(|node| node.task.id.clone()).collect();
    OrchestrationEnd::Partial { task: left.task.clone(), reason: left.reason.clone(), left: ids }
}
