//! Plans: the usual one, and what is added to every one so that nothing goes out unassessed.

use std::collections::BTreeSet;

use holon_core::artifact::orchestration::{OrchestrationGraph, OrchestrationTask, task_mode};

use super::state::{TaskNode, TaskPhase};

/// The mode, in the graph, of what the host does itself: its checks on all changes together.
pub const CHECK: &str = "check";

/// The usual order: architect, code, review, ethical.
pub fn usual(goal: &str) -> OrchestrationGraph {
    let task = |id: &str, mode: &str, what: String, done: &str, on: &[&str]| OrchestrationTask {
        id: id.into(),
        mode: mode.into(),
        goal: what,
        acceptance: vec![done.into()],
        depends_on: on.iter().map(|id| (*id).to_owned()).collect(),
        ..OrchestrationTask::default()
    };
    OrchestrationGraph::of(vec![
        task(
            "architect",
            "architect",
            format!("Plan how this is done: {goal}"),
            "The plan says which files change, how, and how to check it",
            &[],
        ),
        task("code", "execute", goal.to_owned(), "The goal is reached and the checks pass", &["architect"]),
        task(
            "review",
            "review",
            format!("Review the changes made for: {goal}"),
            "Nothing that must not go in is left",
            &["code"],
        ),
        task(
            "ethical",
            "ethical",
            format!("Assess purpose and risks of the changes made for: {goal}"),
            "The risk is low or medium, and why",
            &["review"],
        ),
    ])
}

/// A single run in mode code with its edges: review, when it is wanted, and ethical.
pub fn single(goal: &str, review: bool) -> OrchestrationGraph {
    let mut graph = usual(goal);
    graph.tasks.retain(|task| task.id != "architect" && (review || task.id != "review"));
    for task in &mut graph.tasks {
        task.depends_on.retain(|id| id != "architect");
        if !review && task.id == "ethical" {
            task.depends_on = vec!["code".into()];
        }
    }
    graph
}

/// A plan as it is carried out: canonical modes, and an assessment at the end when something could go out.
pub fn nodes(graph: OrchestrationGraph) -> Vec<TaskNode> {
    let mut nodes: Vec<TaskNode> = graph.tasks.into_iter().map(|task| fresh(task, 0)).collect();
    if nodes.iter().any(TaskNode::writes) {
        ensure_assessed(&mut nodes);
    }
    nodes
}

/// A task that nobody has begun, with the canonical name of its mode.
pub(super) fn fresh(mut task: OrchestrationTask, plan: u32) -> TaskNode {
    // A plan that was checked has no other names.
    task.mode = task_mode(&task.mode).unwrap_or("review").to_owned();
    TaskNode::fresh(task, plan)
}

/// Makes sure that an assessment comes after everything else; also a review alone can lead to a change.
pub(super) fn ensure_assessed(nodes: &mut Vec<TaskNode>) {
    // The host's checks come before any assessment by themselves.
    let tasks: Vec<OrchestrationTask> =
        nodes.iter().filter(|node| node.task.mode != CHECK).map(|node| node.task.clone()).collect();
    let ahead = |node: &TaskNode| {
        node.phase != TaskPhase::Done && node.task.mode == "ethical" && is_last(&tasks, &node.task)
    };
    if nodes.iter().any(ahead) {
        return;
    }
    let all: Vec<String> = tasks.iter().map(|task| task.id.clone()).collect();
    let id = free_name(nodes, "ethical", "-gate");
    let plan = newest(nodes);
    let task = OrchestrationTask {
        id,
        mode: "ethical".into(),
        goal: "Assess purpose and risks of all changes together".into(),
        acceptance: vec!["The risk is low or medium, and why".into()],
        depends_on: all,
        ..OrchestrationTask::default()
    };
    nodes.push(TaskNode::fresh(task, plan));
}

/// Makes sure that all changes together are checked: after every task that can make one, and again after every change
/// that is joined later.
pub(super) fn ensure_checked(nodes: &mut Vec<TaskNode>, commands: &[String]) {
    if let Some(node) = nodes.iter_mut().find(|node| node.task.mode == CHECK) {
        if node.phase == TaskPhase::Done {
            node.phase = TaskPhase::Waiting;
        }
        return;
    }
    if commands.is_empty() {
        return;
    }
    let id = free_name(nodes, "checks", "-joined");
    let depends_on = writers(nodes);
    let plan = newest(nodes);
    let task = OrchestrationTask {
        id,
        mode: CHECK.into(),
        goal: "All changes together pass the checks".into(),
        acceptance: commands.iter().map(|command| format!("`{command}` succeeds")).collect(),
        depends_on,
        ..OrchestrationTask::default()
    };
    nodes.push(TaskNode::fresh(task, plan));
}

/// The tasks that can change files by themselves.
pub(super) fn writers(nodes: &[TaskNode]) -> Vec<String> {
    nodes.iter().filter(|node| node.writes()).map(|node| node.task.id.clone()).collect()
}

/// The plan that the newest task is of.
fn newest(nodes: &[TaskNode]) -> u32 {
    nodes.iter().map(|node| node.plan).max().unwrap_or(0)
}

/// A name that no task has.
pub(super) fn free_name(nodes: &[TaskNode], name: &str, more: &str) -> String {
    let mut id = name.to_owned();
    while nodes.iter().any(|node| node.task.id == id) {
        id.push_str(more);
    }
    id
}

/// Whether a task comes after all others.
fn is_last(tasks: &[OrchestrationTask], task: &OrchestrationTask) -> bool {
    before(tasks, task).len() + 1 == tasks.len()
}

/// Everything that a task waits for, directly or through others.
pub(super) fn before<'a>(tasks: &'a [OrchestrationTask], task: &'a OrchestrationTask) -> BTreeSet<&'a str> {
    let mut before: BTreeSet<&str> = BTreeSet::new();
    let mut look = vec![task];
    while let Some(task) = look.pop() {
        for id in &task.depends_on {
            if before.insert(id) {
                look.extend(tasks.iter().find(|other| other.id == *id));
            }
        }
    }
    before
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A task of a plan, with a goal that does not matter.
    pub(in crate::orchestrate) fn task(id: &str, mode: &str, on: &[&str]) -> OrchestrationTask {
        OrchestrationTask {
            id: id.into(),
            mode: mode.into(),
            goal: "x".into(),
            acceptance: vec!["y".into()],
            depends_on: on.iter().map(|id| (*id).to_owned()).collect(),
            ..OrchestrationTask::default()
        }
    }

    #[test]
    fn the_usual_plan_is_sound_and_needs_nothing_more() {
        let graph = usual("Mend it");
        assert_eq!(graph.check(), []);
        let modes: Vec<String> = nodes(graph).into_iter().map(|node| node.task.mode).collect();
        assert_eq!(modes, ["architect", "execute", "review", "ethical"]);
    }

    #[test]
    fn a_single_run_has_the_edges_that_are_wanted() {
        for (review, expect) in [
            (false, vec![("code", ""), ("ethical", "code")]),
            (true, vec![("code", ""), ("review", "code"), ("ethical", "review")]),
        ] {
            let graph = single("Mend it", review);
            assert_eq!(graph.check(), []);
            assert_eq!(graph.tasks[0].goal, "Mend it");
            let nodes = nodes(graph);
            let found: Vec<(&str, String)> =
                nodes.iter().map(|node| (node.task.id.as_str(), node.task.depends_on.join(","))).collect();
            let found: Vec<(&str, &str)> = found.iter().map(|(id, on)| (*id, on.as_str())).collect();
            assert_eq!(found, expect);
        }
    }

    #[test]
    fn whatever_is_planned_changes_are_assessed_at_the_end() {
        let ids = |tasks: Vec<OrchestrationTask>| -> Vec<String> {
            nodes(OrchestrationGraph::of(tasks)).into_iter().map(|node| node.task.id).collect()
        };
        assert_eq!(ids(vec![task("a", "code", &[])]), ["a", "ethical"]);
        assert_eq!(ids(vec![task("a", "review", &[]), task("b", "debug", &[])]), ["a", "b"]);
        // An assessment before the last change is none of the whole.
        let early = vec![task("ethical", "ethics", &[]), task("b", "code", &["ethical"])];
        assert_eq!(ids(early), ["ethical", "b", "ethical-gate"]);
        assert_eq!(ids(vec![task("a", "code", &[]), task("e", "ethical", &["a"])]), ["a", "e"]);
    }

    #[test]
    fn checks_come_after_everything_that_writes_and_need_no_second_assessment() {
        let tasks = vec![task("checks", "code", &[]), task("r", "review", &[]), task("b", "architect", &[])];
        let mut all = nodes(OrchestrationGraph::of(tasks));
        ensure_checked(&mut all, &[]);
        assert_eq!(all.len(), 4, "without commands there is nothing to check");
        ensure_checked(&mut all, &["make test".into()]);
        ensure_assessed(&mut all);
        let ids: Vec<&str> = all.iter().map(|node| node.task.id.as_str()).collect();
        assert_eq!(ids, ["checks", "r", "b", "ethical", "checks-joined"]);
        assert_eq!(all[4].task.depends_on, ["checks", "b"]);
        all[4].phase = TaskPhase::Done;
        ensure_checked(&mut all, &["make test".into()]);
        assert_eq!(
            (all.len(), &all[4].phase),
            (5, &TaskPhase::Waiting),
            "what was joined later is checked again"
        );
    }
}
