//! An orchestration as it happens: its tasks as a tree that is redrawn in place, or lines where that cannot be.

use std::io::Write;
use std::time::Instant;

use holon_core::event::{EventBody, EventSink, RunEvent};
use holon_core::ids::RunId;

use super::progress::RunProgress;
use super::tasks::TaskRows;
use crate::terminal::shown::styled;
use crate::terminal::{Terminal, TextStyle, one_line};

/// Receives the events of an orchestration and its children, and shows them.
pub(crate) struct TaskTree {
    terminal: Terminal,
    /// Shows what has no tree: JSON, nothing, or plain lines.
    lines: Option<RunProgress>,
    own: Option<RunId>,
    tasks: TaskRows,
    /// What happened last.
    last: String,
    /// How many lines are on the screen now.
    drawn: usize,
}

impl TaskTree {
    /// The form that fits the flags and the terminal.
    pub(crate) fn new(terminal: &Terminal, json: bool, quiet: bool) -> Self {
        let lines = (json || quiet || !terminal.live).then(|| RunProgress::new(terminal, json, quiet));
        Self {
            terminal: terminal.clone(),
            lines,
            own: None,
            tasks: TaskRows::default(),
            last: String::new(),
            drawn: 0,
        }
    }

    /// Takes note of what an event says; whether anything is to be seen.
    fn take(&mut self, event: &RunEvent) -> bool {
        let own = self.own.get_or_insert_with(|| event.run.clone()) == &event.run;
        if own && self.tasks.take(event, Some(Instant::now())) {
            if matches!(event.body, EventBody::TasksPlanned { .. }) {
                self.last.clear();
            }
            return true;
        }
        let said = match &event.body {
            EventBody::ToolProposed { tool, summary, .. } => {
                format!("{tool} {}", summary.as_deref().unwrap_or_default())
            }
            EventBody::PhaseStarted { phase } => phase.to_string(),
            EventBody::Warning { message } if own => message.clone(),
            EventBody::Output { text, .. } => text.clone(),
            _ => return false,
        };
        self.last = event.task.as_ref().map_or_else(|| said.clone(), |task| format!("{task}: {said}"));
        true
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
        let mut lines = self.tasks.render(width, self.terminal.stderr);
        let dim =
            |text: &str| self.terminal.stderr.paint(TextStyle::Dim, &one_line(text, width.saturating_sub(1)));
        if !self.last.is_empty() {
            lines.push(dim(&self.last));
        }
        if let Some(id) = self.own.as_ref().filter(|_| !self.last.is_empty() && self.tasks.is_any_running()) {
            lines.push(dim(&format!("to one task: holon runs task {id}/NAME say|stop|skip|retry")));
        }
        lines
    }
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
    use holon_core::event::OutputStream;

    use super::*;

    #[test]
    fn what_happened_last_names_its_task_and_how_to_speak_to_it() {
        let terminal = Terminal { live: true, ..Terminal::plain() };
        let mut tree = TaskTree::new(&terminal, false, false);
        assert!(tree.lines.is_none());
        let event = |run: u8, task: Option<&str>, body| RunEvent {
            seq: 1,
            at: String::new(),
            run: RunId::from_parts(0, [run; 4]),
            task: task.map(str::to_owned),
            body,
        };
        tree.take(&event(0, None, EventBody::TasksPlanned { tasks: Vec::new() }));
        let output = |text: &str| EventBody::Output { stream: OutputStream::Stdout, text: text.into() };
        tree.take(&event(1, Some("two"), output("hello")));
        assert_eq!(tree.render(), ["two: hello"]);
        // Nothing is drawn at the end of a test.
        tree.lines = Some(RunProgress::new(&terminal, false, true));
    }
}
