//! A run as it happens: a status line for a person, plain lines for a log, JSON lines for a program, or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use holon_core::RunOutcome;
use holon_core::event::{EventBody, EventSink, RunEvent};
use holon_core::manifest::{GateDecision, RunPhase};
use holon_core::policy::ToolVerdict;

use super::amount;
use super::status::StatusLine;
use super::supervisor;
use crate::terminal::{Terminal, TextStyle, visible};

/// Receives the events of a run and shows them.
pub(crate) struct RunProgress {
    terminal: Terminal,
    began: Instant,
    form: ProgressForm,
    /// Warnings that were told.
    warned: BTreeSet<String>,
    /// The phase that was told last, of each task: one that is gone through twice in a row is one to a person.
    phases: BTreeMap<Option<String>, RunPhase>,
}

enum ProgressForm {
    /// Each event as one line of JSON on standard output.
    Json,
    /// Nothing but warnings until the end.
    Quiet,
    /// One line per step on standard error.
    Plain,
    /// One line that is rewritten, with the agent's words scrolling above it.
    Live(StatusLine),
}

impl RunProgress {
    /// The form that fits the flags and the terminal.
    pub(crate) fn new(terminal: &Terminal, json: bool, quiet: bool) -> Self {
        let form = match (json, quiet) {
            (true, _) => ProgressForm::Json,
            (false, true) => ProgressForm::Quiet,
            _ if terminal.live => ProgressForm::Live(StatusLine::start(terminal)),
            _ => ProgressForm::Plain,
        };
        Self {
            terminal: terminal.clone(),
            began: Instant::now(),
            form,
            warned: BTreeSet::new(),
            phases: BTreeMap::new(),
        }
    }

    fn plain(&mut self, event: &RunEvent) {
        let (body, task) = (&event.body, event.task.as_deref());
        if let EventBody::PhaseStarted { phase } = body {
            if self.phases.insert(event.task.clone(), *phase) == Some(*phase) {
                return;
            }
            let elapsed = amount::millis(self.began.elapsed().as_millis() as u64);
            self.terminal.say(&format!("[{elapsed}] {}", named(task, &phase.to_string())));
        } else if let EventBody::ToolProposed { tool, summary, .. } = body {
            let what = visible(summary.as_deref().unwrap_or_default()).replace('\n', " ");
            self.terminal.say(named(task, &format!("  > {tool} {what}")).trim_end());
        } else if let Some(line) = told(body) {
            self.terminal.say(&named(task, &line.text));
        }
    }
}

impl EventSink for RunProgress {
    fn emit(&mut self, event: &RunEvent) {
        if let (
            EventBody::Warning { message },
            ProgressForm::Plain | ProgressForm::Live(_) | ProgressForm::Quiet,
        ) = (&event.body, &self.form)
        {
            // What is wrong with the configuration is wrong for every task, on whichever copy it works.
            let said = message.rsplit_once("/holon.toml: ").map_or(message.as_str(), |(_, rest)| rest);
            if !self.warned.insert(said.to_owned()) {
                return;
            }
        }
        match &self.form {
            // A warning can change what a result means.
            ProgressForm::Quiet => {
                if let (EventBody::Warning { .. }, Some(line)) = (&event.body, told(&event.body)) {
                    self.terminal.say(&named(event.task.as_deref(), &line.text));
                }
            }
            // A reader that went away must not stop the run; one that could not be written to is told of.
            ProgressForm::Json => {
                if let Err(failure) = self.terminal.print(format!("{}\n", event.to_line()))
                    && !failure.to_string().is_empty()
                    && self.warned.insert(failure.to_string())
                {
                    self.terminal
                        .say(&format!("warning: {failure}; the events are in the run's folder as well"));
                }
            }
            ProgressForm::Plain => self.plain(event),
            ProgressForm::Live(status) => match &event.body {
                EventBody::PhaseStarted { phase } => status.phase(*phase),
                EventBody::ToolProposed { tool, summary, .. } => {
                    status.action(&format!("{tool} {}", summary.as_deref().unwrap_or_default()));
                }
                body => {
                    if let Some(mut line) = told(body) {
                        line.text = named(event.task.as_deref(), &line.text);
                        status.above(&self.terminal.stderr.paint(line.style, &line.text), &line.text);
                        if let EventBody::ModelWaiting { wait_ms, .. } = body {
                            status.waits(*wait_ms);
                        }
                    }
                }
            },
        }
    }
}

/// A line about a run; where it is a task's, the line begins with the task.
fn named(task: Option<&str>, text: &str) -> String {
    task.map_or_else(|| text.to_owned(), |task| format!("{}: {}", visible(task), text.trim_start()))
}

/// One thing worth a line.
struct ProgressLine {
    style: TextStyle,
    text: String,
}

/// What a person is told about an event; phases are shown in other ways.
fn told(body: &EventBody) -> Option<ProgressLine> {
    let line = |style, text: String| Some(ProgressLine { style, text: visible(&text).replace('\n', " ") });
    match body {
        EventBody::RunStarted { mode, agent, .. } => {
            line(TextStyle::Bold, format!("mode {mode}, agent {agent}"))
        }
        EventBody::Output { text, .. } => line(TextStyle::Dim, format!("  | {text}")),
        EventBody::MessageDelta { text } if text.trim().is_empty() => None,
        EventBody::MessageDelta { text } => line(TextStyle::Bold, format!("  {}", text.trim_end())),
        EventBody::ToolDecided { verdict, reason, .. } if *verdict != ToolVerdict::Allow => {
            line(TextStyle::Yellow, format!("  {verdict}: {reason}"))
        }
        EventBody::ToolFinished { ok: false, summary, .. } => {
            line(TextStyle::Dim, format!("  | {}", summary.as_deref().unwrap_or("it failed")))
        }
        EventBody::ModelWaiting { wait_ms: 0, reason } => line(TextStyle::Yellow, reason.clone()),
        EventBody::ModelWaiting { wait_ms, reason } => {
            line(TextStyle::Yellow, format!("waiting {}: {reason}", amount::millis(*wait_ms)))
        }
        EventBody::MessageRestarted {} => {
            line(TextStyle::Yellow, "the answer was cut off; asking again".into())
        }
        EventBody::Compacted { before, after } => {
            line(TextStyle::Dim, format!("the conversation was shortened from {before} to {after} tokens"))
        }
        EventBody::CheckRan { command, exit_code, duration_ms } => {
            let took = amount::millis(*duration_ms);
            match exit_code {
                Some(0) => line(TextStyle::Green, format!("check `{command}` passed ({took})")),
                Some(code) => line(TextStyle::Red, format!("check `{command}` failed with {code} ({took})")),
                None => line(TextStyle::Red, format!("check `{command}` was killed ({took})")),
            }
        }
        EventBody::ArtifactRejected { path, problems } => {
            line(TextStyle::Yellow, format!("{path}: {}", problems.join("; ")))
        }
        EventBody::RepairRound { paths } => {
            line(TextStyle::Yellow, format!("asking the agent once more for {}", paths.join(", ")))
        }
        EventBody::LimitHit { limit, .. } if limit == "cancelled" => {
            line(TextStyle::Yellow, "cancelled by request, stopping the agent".into())
        }
        EventBody::LimitHit { limit, value } => {
            line(TextStyle::Red, format!("limit reached: {limit} ({value})"))
        }
        EventBody::NetworkRefused { message, flag, .. } => {
            let remedy = flag.as_ref().map(|flag| format!("; {flag} permits it")).unwrap_or_default();
            line(TextStyle::Yellow, format!("network: {message}{remedy}"))
        }
        EventBody::Breach { breach } => {
            line(TextStyle::Red, format!("BREACH: {}: {}", breach.kind, breach.detail))
        }
        EventBody::Warning { message } => line(TextStyle::Yellow, format!("warning: {message}")),
        EventBody::AgentExited { code: Some(code), .. } if *code != 0 => {
            line(TextStyle::Yellow, format!("the agent ended with {code}"))
        }
        EventBody::AgentExited { signal: Some(signal), .. } => {
            line(TextStyle::Yellow, format!("the agent was ended by signal {signal}"))
        }
        EventBody::Supervisor { record } => {
            supervisor::line(record).and_then(|text| line(TextStyle::Cyan, text))
        }
        EventBody::StepStarted { step, attempt, .. } => {
            let again = if *attempt > 1 { format!(" (start {attempt})") } else { String::new() };
            line(TextStyle::Bold, format!("step {step}{again}"))
        }
        EventBody::StepFinished { step, outcome, duration_ms, .. } => {
            let style = match outcome {
                RunOutcome::Success => TextStyle::Green,
                RunOutcome::NeedsHuman => TextStyle::Yellow,
                RunOutcome::Failure => TextStyle::Red,
            };
            line(style, format!("step {step}: {outcome} ({})", amount::millis(*duration_ms)))
        }
        EventBody::Replanned { after, reason, no_plan: Some(why), .. } => line(
            TextStyle::Yellow,
            format!("{after} could not be done ({reason}), and there is no other plan: {why}"),
        ),
        EventBody::Replanned { after, reason, added, .. } => {
            let added = added.join(", ");
            line(TextStyle::Yellow, format!("{after} could not be done ({reason}); planned instead: {added}"))
        }
        EventBody::StepSkipped { step, reason } => {
            line(TextStyle::Dim, format!("step {step} is left out: {reason}"))
        }
        EventBody::GateReached { step, .. } => line(TextStyle::Bold, format!("at the gate before {step}")),
        EventBody::GateDecided { step, decision: GateDecision::Approved, .. } => {
            line(TextStyle::Green, format!("the gate before {step} is open"))
        }
        EventBody::GateDecided { step, .. } => {
            line(TextStyle::Yellow, format!("the gate before {step} stays closed"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use holon_core::event::OutputStream;

    use super::*;

    #[test]
    fn what_an_agent_prints_cannot_drive_the_terminal() {
        let said = EventBody::Output { stream: OutputStream::Stdout, text: "a\x1b]0;x\x07\nb".into() };
        assert_eq!(told(&said).map(|line| line.text), Some("  | a\u{fffd}]0;x\u{fffd} b".into()));
        assert!(told(&EventBody::AgentExited { attempt: 1, code: Some(0), signal: None }).is_none());
    }
}
