//! The tasks of an orchestration as rows below each other: how far each is, who does it, what it cost, and what it does now.

use std::time::Instant;

use holon_core::RunOutcome;
use holon_core::event::{EventBody, PlannedTask, RunEvent};

use super::amount;
use crate::terminal::{TerminalStream, TextStyle, one_line};

/// The tasks, as events tell of them.
#[derive(Default)]
pub(crate) struct TaskRows {
    rows: Vec<TaskRow>,
}

struct TaskRow {
    task: PlannedTask,
    state: TaskRowState,
    doer: Option<TaskDoer>,
}

enum TaskRowState {
    Waiting,
    Running {
        /// Nobody watched when it began, where there is no time.
        since: Option<Instant>,
        attempt: u32,
    },
    Ended {
        outcome: RunOutcome,
        took: u64,
    },
}

/// Who does a task, with what, for how much, and what is done now.
struct TaskDoer {
    agent: String,
    model: Option<String>,
    cost_usd: Option<f64>,
    action: String,
}

impl TaskRows {
    /// Takes note of what an event of the orchestration says, at a moment if it is heard as it happens; whether anything is
    /// to be seen.
    pub(crate) fn take(&mut self, event: &RunEvent, now: Option<Instant>) -> bool {
        match &event.body {
            EventBody::TasksPlanned { tasks } => {
                // A plan can grow; what is known of its tasks stays.
                let mut known = std::mem::take(&mut self.rows);
                let row = |task: &PlannedTask| match known.iter().position(|row| row.task.id == task.id) {
                    Some(at) => TaskRow { task: task.clone(), ..known.swap_remove(at) },
                    None => TaskRow { task: task.clone(), state: TaskRowState::Waiting, doer: None },
                };
                self.rows = tasks.iter().map(row).collect();
            }
            EventBody::StepStarted { step, mode, attempt } => {
                self.know(step, mode.as_deref());
                self.set(step, TaskRowState::Running { since: now, attempt: *attempt });
            }
            EventBody::TaskProgress { step, agent, model, cost_usd, action, .. } => {
                let Some(row) = self.row(step) else { return false };
                let (agent, model, action) = (agent.clone(), model.clone(), action.clone());
                row.doer = Some(TaskDoer { agent, model, cost_usd: *cost_usd, action });
            }
            EventBody::StepFinished { step, outcome, duration_ms, .. } => {
                self.set(step, TaskRowState::Ended { outcome: *outcome, took: *duration_ms });
            }
            _ => return false,
        }
        true
    }

    /// Whether a run of any task is under way.
    pub(crate) fn is_any_running(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.state, TaskRowState::Running { .. }))
    }

    /// What the host adds to a plan is told by its start alone; making the plan is no task.
    fn know(&mut self, step: &str, mode: Option<&str>) {
        if self.rows.is_empty() || step == "orchestrate" || self.row(step).is_some() {
            return;
        }
        let depends_on = self.rows.iter().map(|row| row.task.id.clone()).collect();
        let mode = mode.unwrap_or("host").to_owned();
        let task = PlannedTask { id: step.to_owned(), mode, goal: String::new(), depends_on };
        self.rows.push(TaskRow { task, state: TaskRowState::Waiting, doer: None });
    }

    fn row(&mut self, step: &str) -> Option<&mut TaskRow> {
        self.rows.iter_mut().find(|row| row.task.id == step)
    }

    fn set(&mut self, step: &str, state: TaskRowState) {
        if let Some(row) = self.row(step) {
            row.state = state;
        }
    }

    /// One line per task, and one more below each that is under way.
    pub(crate) fn render(&self, width: usize, stream: TerminalStream) -> Vec<String> {
        let mut lines = Vec::new();
        for row in &self.rows {
            let indent = "  ".repeat(depth(&self.rows, &row.task, 0));
            let room = width.saturating_sub(indent.len() + 1);
            let (sign, style, note) = row.state.told();
            let mut parts = vec![format!("{sign} {} [{}]", row.task.id, row.task.mode)];
            parts.extend(Some(note).filter(|note| !note.is_empty()));
            if let Some(doer) = &row.doer {
                parts.push(doer.agent.clone());
                parts.extend(doer.model.clone());
                parts.extend(doer.cost_usd.map(|cost| format!("${cost:.2}")));
            }
            let (head, rest) =
                parts.split_first().map(|(head, rest)| (head.as_str(), rest)).unwrap_or_default();
            let text = format!("{head} {}", rest.join(" · "));
            lines.push(stream.paint(style, &format!("{indent}{}", one_line(text.trim_end(), room))));
            if let (TaskRowState::Running { .. }, Some(doer)) = (&row.state, &row.doer) {
                let action = one_line(&doer.action, room.saturating_sub(4));
                lines.push(stream.paint(TextStyle::Dim, &format!("{indent}    {action}")));
            }
        }
        lines
    }
}

impl TaskRowState {
    /// A sign, how it looks, and how long it takes.
    fn told(&self) -> (&'static str, TextStyle, String) {
        match self {
            Self::Waiting => ("·", TextStyle::Dim, String::new()),
            Self::Running { since, attempt } => {
                let seconds = since.map(|since| since.elapsed().as_secs());
                let time = seconds.map(|seconds| format!("{}:{:02}", seconds / 60, seconds % 60));
                let again = (*attempt > 1).then(|| format!("run {attempt}"));
                ("▸", TextStyle::Cyan, [time, again].into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
            Self::Ended { outcome, took } => {
                let (sign, style) = match outcome {
                    RunOutcome::Success => ("✓", TextStyle::Green),
                    RunOutcome::NeedsHuman => ("?", TextStyle::Yellow),
                    RunOutcome::Failure => ("✗", TextStyle::Red),
                };
                (sign, style, amount::millis(*took))
            }
        }
    }
}

/// How many tasks have to come before this one, one after the other.
fn depth(rows: &[TaskRow], task: &PlannedTask, seen: usize) -> usize {
    if seen > rows.len() {
        return 0;
    }
    let before = rows.iter().filter(|row| task.depends_on.contains(&row.task.id));
    before.map(|row| 1 + depth(rows, &row.task, seen + 1)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use holon_core::ids::RunId;

    use super::*;
    use crate::terminal::Terminal;

    fn event(body: EventBody) -> RunEvent {
        RunEvent { seq: 1, at: String::new(), run: RunId::from_parts(0, [0; 4]), task: None, body }
    }

    fn task(id: &str, on: &[&str]) -> PlannedTask {
        let depends_on = on.iter().map(|id| (*id).to_owned()).collect();
        PlannedTask { id: id.into(), mode: "execute".into(), goal: "x\x1b[2J".into(), depends_on }
    }

    fn progress(step: &str, action: &str) -> EventBody {
        let (model, cost_usd) = (Some("m-1".to_owned()), Some(0.125));
        let (step, step_run) = (step.to_owned(), RunId::from_parts(0, [1; 4]));
        EventBody::TaskProgress {
            step,
            step_run,
            agent: "native".into(),
            model,
            cost_usd,
            action: action.into(),
        }
    }

    #[test]
    fn tasks_are_shown_below_what_they_wait_for_with_who_does_them_and_what() {
        let mut rows = TaskRows::default();
        let tasks = vec![task("a", &[]), task("b", &["a"]), task("c", &["a", "b"])];
        let mut take = |body| rows.take(&event(body), Some(Instant::now()));
        assert!(take(EventBody::TasksPlanned { tasks }));
        take(EventBody::StepStarted { step: "a".into(), mode: None, attempt: 2 });
        assert!(take(progress("a", "run_command make test")));
        assert!(!take(progress("nobody", "x")));
        let (outcome, duration_ms) = (RunOutcome::Success, 1500);
        take(EventBody::StepFinished { step: "b".into(), step_run: None, outcome, duration_ms });
        take(EventBody::StepStarted { step: "ethical".into(), mode: Some("ethical".into()), attempt: 1 });
        let lines = rows.render(80, Terminal::plain().stdout);
        assert!(lines[0].starts_with("▸ a [execute] 0:00, run 2 · native · m-1 · $0.1"), "{lines:?}");
        assert_eq!(lines[1], "    run_command make test");
        assert!(lines[2].starts_with("  ✓ b [execute] 1.5"), "{lines:?}");
        assert_eq!(lines[3], "    · c [execute]");
        assert!(lines[4].starts_with("      ▸ ethical [ethical] 0:00"), "{lines:?}");
        assert!(rows.is_any_running());
        let narrow = rows.render(30, Terminal::plain().stdout);
        assert!(narrow.iter().all(|line| line.chars().count() <= 30), "{narrow:?}");
    }

    #[test]
    fn a_plan_that_is_told_again_keeps_what_is_known() {
        let mut rows = TaskRows::default();
        rows.take(&event(EventBody::TasksPlanned { tasks: vec![task("a", &[])] }), None);
        rows.take(&event(EventBody::StepStarted { step: "a".into(), mode: None, attempt: 1 }), None);
        rows.take(&event(progress("a", "x")), None);
        rows.take(&event(EventBody::TasksPlanned { tasks: vec![task("a", &[]), task("b", &["a"])] }), None);
        let lines = rows.render(80, Terminal::plain().stdout);
        assert!(
            lines[0].starts_with("▸ a [execute] native · m-1"),
            "no time where nobody watched: {lines:?}"
        );
        assert_eq!(lines.len(), 3);
    }
}
