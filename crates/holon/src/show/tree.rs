//! An orchestration as it happens: its tasks as a tree that is redrawn in place, or lines where that cannot be.

use std::io::Write;
use std::time::Instant;

use holon_core::RunOutcome;
use holon_core::event::{EventBody, EventSink, PlannedTask, RunEvent};
use holon_core::ids::RunId;

use super::amount;
use super::progress::RunProgress;
use crate::terminal::shown::styled;
use crate::terminal::{Terminal, TextStyle, one_line};

/// Receives the events of an orchestration and its children, and shows them.
pub(crate) struct TaskTree {
    terminal: Terminal,
    /// Shows what has no tree: JSON, nothing, or plain lines.
    lines: Option<RunProgress>,
    own: Option<RunId>,
    tasks: Vec<TaskRow>,
    /// What happened last.
    last: String,
    /// How many lines are on the screen now.
    drawn: usize,
}

struct TaskRow {
    task: PlannedTask,
    state: TaskRowState,
}

enum TaskRowState {
    Waiting,
    Running { since: Instant, attempt: u32 },
    Ended { outcome: RunOutcome, took: u64 },
}

impl TaskTree {
    /// The form that fits the flags and the terminal.
    pub(crate) fn new(terminal: &Terminal, json: bool, quiet: bool) -> Self {
        let lines = (json || quiet || !terminal.live).then(|| RunProgress::new(terminal, json, quiet));
        Self {
            terminal: terminal.clone(),
            lines,
            own: None,
            tasks: Vec::new(),
            last: String::new(),
            drawn: 0,
        }
    }

    /// Takes note of what an event says; whether anything is to be seen.
    fn take(&mut self, event: &RunEvent) -> bool {
        let own = self.own.get_or_insert_with(|| event.run.clone()) == &event.run;
        match &event.body {
            EventBody::TasksPlanned { tasks } => {
                // A plan can grow; what is known of its tasks stays.
                let mut known = std::mem::take(&mut self.tasks);
                let row = |task: &PlannedTask| {
                    let at = known.iter().position(|row| row.task.id == task.id);
                    let state = at.map_or(TaskRowState::Waiting, |at| known.swap_remove(at).state);
                    TaskRow { task: task.clone(), state }
                };
                self.tasks = tasks.iter().map(row).collect();
                self.last.clear();
            }
            EventBody::StepStarted { step, attempt, .. } => {
                let (since, attempt) = (Instant::now(), *attempt);
                self.set(step, TaskRowState::Running { since, attempt });
            }
            EventBody::StepFinished { step, outcome, duration_ms, .. } => {
                self.set(step, TaskRowState::Ended { outcome: *outcome, took: *duration_ms });
            }
            EventBody::ToolProposed { tool, summary, .. } => {
                self.last = format!("{tool} {}", summary.as_deref().unwrap_or_default());
            }
            EventBody::PhaseStarted { phase } => self.last = phase.to_string(),
            EventBody::Warning { message } if own => self.last.clone_from(message),
            EventBody::Output { text, .. } => self.last.clone_from(text),
            _ => return false,
        }
        true
    }

    fn set(&mut self, step: &str, state: TaskRowState) {
        if let Some(row) = self.tasks.iter_mut().find(|row| row.task.id == step) {
            row.state = state;
        }
    }

    fn draw(&mut self) {
        let lines = self.render();
        let mut text = self.erased();
        for line in &lines {
            text.push_str(&styled(line, self.terminal.stderr.colour));
            text.push('\n');
        }
        self.drawn = lines.len();
        let mut out = std::io::stderr().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Goes back up over what was drawn.
    fn erased(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\x1b[{}A\x1b[J", self.drawn) }
    }

    fn render(&self) -> Vec<String> {
        let width = self.terminal.width;
        let paint = |style, text: &str| self.terminal.stderr.paint(style, text);
        let mut lines = Vec::new();
        for row in &self.tasks {
            let depth = depth(&self.tasks, &row.task, 0);
            let (sign, style, note) = match &row.state {
                TaskRowState::Waiting => ("·", TextStyle::Dim, String::new()),
                TaskRowState::Running { since, attempt } => {
                    let seconds = since.elapsed().as_secs();
                    let again = if *attempt > 1 { format!(", run {attempt}") } else { String::new() };
                    ("▸", TextStyle::Cyan, format!("{}:{:02}{again}", seconds / 60, seconds % 60))
                }
                TaskRowState::Ended { outcome, took } => {
                    let (sign, style) = match outcome {
                        RunOutcome::Success => ("✓", TextStyle::Green),
                        RunOutcome::NeedsHuman => ("?", TextStyle::Yellow),
                        RunOutcome::Failure => ("✗", TextStyle::Red),
                    };
                    (sign, style, amount::millis(*took))
                }
            };
            let indent = "  ".repeat(depth);
            let text = format!("{indent}{sign} {} [{}] {note}", row.task.id, row.task.mode);
            let text = one_line_keeping_indent(&text, width);
            lines.push(paint(style, &text));
        }
        if !self.last.is_empty() {
            lines.push(paint(TextStyle::Dim, &one_line(&self.last, width.saturating_sub(1))));
        }
        lines
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

fn one_line_keeping_indent(text: &str, width: usize) -> String {
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    format!("{indent}{}", one_line(text, width.saturating_sub(indent.len() + 1)))
}

impl EventSink for TaskTree {
    fn emit(&mut self, event: &RunEvent) {
        if let Some(lines) = &mut self.lines {
            lines.emit(event);
        } else if self.take(event) {
            self.draw();
        }
    }
}

impl Drop for TaskTree {
    fn drop(&mut self) {
        if self.lines.is_none() {
            self.last.clear();
            self.draw();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(body: EventBody) -> RunEvent {
        RunEvent { seq: 1, at: String::new(), run: RunId::from_parts(0, [0; 4]), body }
    }

    #[test]
    fn tasks_are_shown_below_what_they_wait_for() {
        let task = |id: &str, on: &[&str]| PlannedTask {
            id: id.into(),
            mode: "execute".into(),
            goal: "x\x1b[2J".into(),
            depends_on: on.iter().map(|id| (*id).to_owned()).collect(),
        };
        let terminal = Terminal { live: true, ..Terminal::plain() };
        let mut tree = TaskTree::new(&terminal, false, false);
        assert!(tree.lines.is_none());
        let tasks = vec![task("a", &[]), task("b", &["a"]), task("c", &["a", "b"])];
        tree.take(&event(EventBody::TasksPlanned { tasks }));
        tree.take(&event(EventBody::StepStarted { step: "a".into(), mode: None, attempt: 2 }));
        let (outcome, duration_ms) = (RunOutcome::Success, 1500);
        tree.take(&event(EventBody::StepFinished { step: "b".into(), step_run: None, outcome, duration_ms }));
        let lines = tree.render();
        assert!(lines[0].starts_with("▸ a [execute] 0:00, run 2"), "{lines:?}");
        assert!(lines[1].starts_with("  ✓ b [execute] 1.5"), "{lines:?}");
        assert_eq!(lines[2], "    · c [execute]");
        // Nothing is drawn at the end of a test.
        tree.lines = Some(RunProgress::new(&terminal, false, true));
    }
}
