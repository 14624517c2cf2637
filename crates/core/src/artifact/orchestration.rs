//! `orchestration.json`: a goal split into tasks, and, once the host has carried them out, what became of each.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost_estimate::CostEstimate;
use crate::ids::RunId;
use crate::manifest::EthicsOverride;
use crate::mode_run::ModeDecision;
use crate::outcome::RunOutcome;
use crate::release::ReleaseOverride;

use super::circle::waits_for_itself;
use super::{ArtifactProblem, need_text};

/// The most tasks a plan may have; what mends and checks them has to fit below the limit of children, too.
pub const MAX_TASKS: usize = 12;

/// Modes a task can run in, each with the other names it goes by.
const MODES: [(&str, &[&str]); 5] = [
    ("architect", &["planning", "plan"]),
    ("execute", &["code", "build", "code_generation"]),
    ("review", &["code_review"]),
    ("debug", &[]),
    ("ethical", &["ethics"]),
];

/// The canonical name of a mode that a task may ask for.
pub fn task_mode(name: &str) -> Option<&'static str> {
    MODES.iter().find(|(mode, also)| *mode == name || also.contains(&name)).map(|(mode, _)| *mode)
}

/// A goal split into tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrchestrationGraph {
    /// What is done; each task starts when those it depends on are done.
    #[schemars(length(max = 12))]
    pub tasks: Vec<OrchestrationTask>,
    /// Only when the rest of the work is planned again: ids of finished tasks that tasks here depend on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// Only when the rest of the work is planned again, and without tasks: why nothing more should be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

/// One task of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrchestrationTask {
    /// A short name other tasks refer to: lower-case letters, digits and dashes.
    pub id: String,
    /// The mode it runs in: architect, code, review, debug or ethical.
    pub mode: String,
    /// What is wanted of it.
    pub goal: String,
    /// How one can tell that it is done.
    #[schemars(length(min = 1))]
    pub acceptance: Vec<String>,
    /// Ids of tasks that come first.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// The name of the agent that does it; without, the one that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that does it; without, the one that is chosen for its mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// What became of a goal: the tasks, each one's fate, and the order in which changes were joined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Orchestration {
    /// Version of this form.
    pub version: u32,
    /// What was wanted.
    pub goal: String,
    /// Who split it: `model`, or `default` for architect, code, review, ethical.
    pub planned_by: String,
    /// Why the plan of the model was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_problem: Option<String>,
    /// The tasks, in the order they are listed in the plan.
    pub tasks: Vec<OrchestrationTask>,
    /// What became of each task, in the same order.
    pub nodes: Vec<TaskReport>,
    /// Tasks whose changes were joined, in that order.
    pub merge_order: Vec<MergeReport>,
    /// The decision about the whole.
    pub decision: ModeDecision,
    /// Who let it out although the assessment of its risks blocked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ethics_override: Option<EthicsOverride>,
    /// What else was held by the release gate and let pass by people, of the whole or of its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<ReleaseOverride>,
    /// Every time the rest of the work was planned again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replans: Vec<ReplanReport>,
    /// What became of tasks that a later plan took the place of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<TaskReport>,
    /// Tasks that were not done, when only the finished part was delivered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<UndoneTaskReport>,
    /// Money spent, all children together.
    pub cost_usd: f64,
    /// What it was estimated to cost when it was planned; absent where nothing was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<CostEstimate>,
}

/// A plan that was made again because a task could not be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplanReport {
    /// The task that could not be done.
    pub after_task: String,
    /// Why: a stable short word.
    pub kind: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The run that was asked; absent when it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Tasks that were done, and stay done.
    #[serde(default)]
    pub kept: Vec<String>,
    /// Tasks that it took the place of.
    #[serde(default)]
    pub dropped: Vec<String>,
    /// Tasks that it is made of.
    #[serde(default)]
    pub added: Vec<String>,
    /// Why there are no new tasks: the planner said that nothing more should be done, or its plan could not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_plan: Option<String>,
}

/// A task that was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneTaskReport {
    /// The task.
    pub id: String,
    /// The mode it would have run in.
    pub mode: String,
    /// What was wanted of it.
    pub goal: String,
    /// Why it was not done.
    pub reason: String,
}

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    /// The task.
    pub id: String,
    /// `waiting`, `running`, `done`, `failed`, `blocked` or `conflict`.
    pub status: String,
    /// Every run that was started for it.
    pub attempts: Vec<AttemptReport>,
    /// What it decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ModeDecision>,
}

/// One run that was started for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptReport {
    /// What it was for: `task`, `conflict` or `fix`.
    pub purpose: String,
    /// The mode it ran in.
    pub mode: String,
    /// The run; absent when it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The request, under which its log is found.
    pub request_id: String,
    /// What its result is worth; absent while nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// Why it did not simply succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Money spent.
    pub cost_usd: f64,
    /// Its wall time.
    pub duration_ms: u64,
}

/// A change that was joined with those before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergeReport {
    /// The task it belongs to.
    pub task: String,
    /// `clean`, `merged` (with other changes to the same files) or `resolved` (after a conflict).
    pub how: String,
    /// Digest of the change as it was joined.
    pub sha256: String,
}

impl OrchestrationGraph {
    /// A plan of these tasks.
    pub fn of(tasks: Vec<OrchestrationTask>) -> Self {
        Self { tasks, ..Self::default() }
    }

    /// Whether any task may change files.
    pub fn names_edits(&self) -> bool {
        self.tasks.iter().any(|task| matches!(task_mode(&task.mode), Some("execute" | "architect")))
    }

    /// Problems that the types alone do not show.
    pub fn check(&self) -> Vec<ArtifactProblem> {
        let mut problems = Vec::new();
        match &self.stop {
            None if self.tasks.is_empty() => {
                problems.push(ArtifactProblem::new("tasks", "is empty; a plan has at least one task"));
            }
            Some(_) if !self.tasks.is_empty() => {
                problems.push(ArtifactProblem::new(
                    "stop",
                    "is given beside tasks; either nothing more is done, or they are",
                ));
            }
            Some(why) => need_text(why, "stop", &mut problems),
            None => {}
        }
        if self.tasks.len() > MAX_TASKS {
            let message = format!("has {} entries, at most {MAX_TASKS} are allowed", self.tasks.len());
            problems.push(ArtifactProblem::new("tasks", message));
        }
        let mut ids = BTreeSet::new();
        for (i, task) in self.tasks.iter().enumerate() {
            let at = |field: &str| format!("tasks[{i}].{field}");
            if !is_id(&task.id) {
                let message =
                    format!("`{}` is no short name of lower-case letters, digits and dashes", task.id);
                problems.push(ArtifactProblem::new(at("id"), message));
            } else if !ids.insert(task.id.as_str()) {
                problems.push(ArtifactProblem::new(at("id"), format!("`{}` is used twice", task.id)));
            }
            if task_mode(&task.mode).is_none() {
                let message = format!("`{}` is none of architect, code, review, debug, ethical", task.mode);
                problems.push(ArtifactProblem::new(at("mode"), message));
            }
            need_text(&task.goal, at("goal"), &mut problems);
            if !task.acceptance.iter().any(|text| !text.trim().is_empty()) {
                problems.push(ArtifactProblem::new(
                    at("acceptance"),
                    "is empty; say how one can tell it is done",
                ));
            }
            if let Some(agent) = task.agent.as_ref().filter(|agent| !is_id(agent)) {
                problems.push(ArtifactProblem::new(at("agent"), format!("`{agent}` is no agent's name")));
            }
            if let Some(model) = task.model.as_ref().filter(|model| !is_model(model)) {
                problems.push(ArtifactProblem::new(at("model"), format!("`{model}` is no model's name")));
            }
        }
        let known = |id: &str| ids.contains(id) || self.kept.iter().any(|kept| kept == id);
        for (i, task) in self.tasks.iter().enumerate() {
            for id in task.depends_on.iter().filter(|id| !known(id)) {
                let message = format!("`{id}` is not the id of a task");
                problems.push(ArtifactProblem::new(format!("tasks[{i}].depends_on"), message));
            }
        }
        if problems.is_empty()
            && let Some(id) = self.circle(&ids)
        {
            problems
                .push(ArtifactProblem::new("tasks", format!("`{id}` waits for itself through `depends_on`")));
        }
        problems
    }

    /// A task that waits for itself; nothing waits for what is finished.
    fn circle(&self, ids: &BTreeSet<&str>) -> Option<String> {
        let mut all: Vec<(&str, Vec<String>)> = Vec::new();
        for task in &self.tasks {
            let on = task.depends_on.iter().filter(|id| ids.contains(id.as_str())).cloned();
            all.push((&task.id, on.collect()));
        }
        waits_for_itself(all.iter().map(|(id, on)| (*id, on.as_slice()))).map(str::to_owned)
    }
}

fn is_id(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
}

/// Models are named by whoever serves them; what no name holds could be taken for something else.
fn is_model(text: &str) -> bool {
    (1..=200).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'\\'))
        && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::artifact::{read, validate};

    fn task(id: &str, mode: &str, on: &[&str]) -> OrchestrationTask {
        OrchestrationTask {
            id: id.into(),
            mode: mode.into(),
            goal: "do it".into(),
            acceptance: vec!["it is done".into()],
            depends_on: on.iter().map(|id| (*id).to_owned()).collect(),
            ..OrchestrationTask::default()
        }
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_said_with_its_place() {
        let check = |tasks: Vec<OrchestrationTask>, expected: &str| {
            let problems = OrchestrationGraph::of(tasks).check();
            let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
            assert!(text.join("\n").contains(expected), "{text:?}");
        };
        check(vec![], "tasks: is empty");
        check(vec![task("a", "orchestrate", &[])], "tasks[0].mode: `orchestrate` is none of");
        check(vec![task("a", "root", &[])], "`root` is none of");
        check(vec![task("a", "code", &[]), task("a", "code", &[])], "`a` is used twice");
        check(vec![task("../a", "code", &[])], "tasks[0].id");
        check(vec![task("a", "code", &["b"])], "`b` is not the id of a task");
        check(vec![task("a", "code", &["b"]), task("b", "code", &["a"])], "waits for itself");
        check(
            vec![OrchestrationTask { acceptance: vec![" ".into()], ..task("a", "code", &[]) }],
            "acceptance: is empty",
        );
        check(
            vec![OrchestrationTask { goal: String::new(), ..task("a", "code", &[]) }],
            "tasks[0].goal: is empty",
        );
        let many = (0..=MAX_TASKS).map(|n| task(&format!("t{n}"), "code", &[])).collect();
        check(many, "at most 12");
        let good = OrchestrationGraph::of(vec![task("a", "code", &[]), task("b", "review", &["a"])]);
        assert_eq!(good.check(), []);
        assert!(good.names_edits());
        assert!(
            !OrchestrationGraph::of(vec![task("a", "review", &[]), task("b", "debug", &[])]).names_edits()
        );
        assert!(validate("orchestration.json", &serde_json::to_vec(&good).unwrap()).is_ok());
        assert!(validate("orchestration.json", b"{}").is_err());
    }

    #[test]
    fn the_rest_of_a_plan_can_wait_for_what_is_finished_or_be_nothing() {
        let told = |graph: OrchestrationGraph| {
            graph.check().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let rest = |kept: &[&str]| OrchestrationGraph {
            kept: kept.iter().map(|id| (*id).to_owned()).collect(),
            ..OrchestrationGraph::of(vec![task("b", "code", &["a"])])
        };
        assert_eq!(told(rest(&["a"])), "");
        assert!(told(rest(&[])).contains("`a` is not the id of a task"));
        let stop =
            |why: &str, tasks| OrchestrationGraph { stop: Some(why.into()), ..OrchestrationGraph::of(tasks) };
        assert_eq!(told(stop("It cannot be done.", vec![])), "");
        assert!(told(stop(" ", vec![])).contains("stop"));
        assert!(told(stop("x", vec![task("a", "code", &[])])).contains("stop: is given beside tasks"));
        for (agent, model, good) in [
            ("claude-code", "anthropic/claude-sonnet-5.5:free", true),
            ("./agent.sh", "m", false),
            ("native", "two words", false),
            ("native", "--yes", false),
        ] {
            let (agent, model) = (Some(agent.to_owned()), Some(model.to_owned()));
            let graph =
                OrchestrationGraph::of(vec![OrchestrationTask { agent, model, ..task("a", "code", &[]) }]);
            assert_eq!(graph.check().is_empty(), good, "{graph:?}");
        }
    }

    proptest! {
        #[test]
        fn a_plan_that_passes_can_be_carried_out_in_some_order(edges in prop::collection::vec((0usize..8, 0usize..8), 0..20)) {
            let mut tasks: Vec<OrchestrationTask> = (0..8).map(|n| task(&format!("t{n}"), "code", &[])).collect();
            for (from, to) in edges {
                tasks[from].depends_on.push(format!("t{to}"));
            }
            let graph = OrchestrationGraph::of(tasks);
            let sound = graph.check().is_empty();
            // Take whatever can start until nothing can.
            let mut done: BTreeSet<String> = BTreeSet::new();
            while let Some(next) = graph.tasks.iter().find(|t| !done.contains(&t.id) && t.depends_on.iter().all(|d| done.contains(d))) {
                done.insert(next.id.clone());
            }
            prop_assert_eq!(sound, done.len() == graph.tasks.len());
        }

        #[test]
        fn reading_a_plan_never_panics(text in "\\PC{0,200}") {
            let _ = read::<OrchestrationGraph>(text.as_bytes()).map(|graph| graph.check());
        }
    }
}
