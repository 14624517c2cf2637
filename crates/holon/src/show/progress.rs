//! A run as it happens: a status line for a person, plain lines for a log, JSON lines for a program, or nothing.

use std::collections::BTreeSet;
use std::time::Instant;

use holon_core::Outcome;
use holon_core::event::{Body, Event, Sink};
use holon_core::manifest::{GateDecision, Phase};
use holon_core::policy::Verdict;

use super::amount;
use super::status::StatusLine;
use super::supervisor;
use crate::terminal::{Style, Terminal, visible};

/// Receives the events of a run and shows them.
pub(crate) struct Progress {
    terminal: Terminal,
    began: Instant,
    form: Form,
    /// Warnings that were told.
    warned: BTreeSet<String>,
    /// The phase that was told last: one that is gone through twice in a row is one to a person.
    phase: Option<Phase>,
}

enum Form {
    /// Each event as one line of JSON on standard output.
    Json,
    /// Nothing but warnings until the end.
    Quiet,
    /// One line per step on standard error.
    Plain,
    /// One line that is rewritten, with the agent's words scrolling above it.
    Live(StatusLine),
}

impl Progress {
    /// The form that fits the flags and the terminal.
    pub(crate) fn new(terminal: &Terminal, json: bool, quiet: bool) -> Self {
        let form = match (json, quiet) {
            (true, _) => Form::Json,
            (false, true) => Form::Quiet,
            _ if terminal.live => Form::Live(StatusLine::start(terminal)),
            _ => Form::Plain,
        };
        Self { terminal: terminal.clone(), began: Instant::now(), form, warned: BTreeSet::new(), phase: None }
    }

    fn plain(&mut self, body: &Body) {
        if let Body::PhaseStarted { phase } = body {
            if self.phase.replace(*phase) == Some(*phase) {
                return;
            }
            let elapsed = amount::millis(self.began.elapsed().as_millis() as u64);
            self.terminal.say(&format!("[{elapsed}] {phase}"));
        } else if let Body::ToolProposed { tool, summary, .. } = body {
            let what = visible(summary.as_deref().unwrap_or_default()).replace('\n', " ");
            self.terminal.say(format!("  > {tool} {what}").trim_end());
        } else if let Some(line) = told(body) {
            self.terminal.say(&line.text);
        }
    }
}

impl Sink for Progress {
    fn emit(&mut self, event: &Event) {
        if let (Body::Warning { message }, Form::Plain | Form::Live(_) | Form::Quiet) =
            (&event.body, &self.form)
        {
            // What is wrong with the configuration is wrong for every task, on whichever copy it works.
            let said = message.rsplit_once("/holon.toml: ").map_or(message.as_str(), |(_, rest)| rest);
            if !self.warned.insert(said.to_owned()) {
                return;
            }
        }
        match &self.form {
            // A warning can change what a result means.
            Form::Quiet => {
                if let (Body::Warning { .. }, Some(line)) = (&event.body, told(&event.body)) {
                    self.terminal.say(&line.text);
                }
            }
            // A reader that went away must not stop the run; one that could not be written to is told of.
            Form::Json => {
                if let Err(failure) = self.terminal.print(format!("{}\n", event.to_line()))
                    && !failure.to_string().is_empty()
                    && self.warned.insert(failure.to_string())
                {
                    self.terminal
                        .say(&format!("warning: {failure}; the events are in the run's folder as well"));
                }
            }
            Form::Plain => self.plain(&event.body),
            Form::Live(status) => match &event.body {
                Body::PhaseStarted { phase } => status.phase(*phase),
                Body::ToolProposed { tool, summary, .. } => {
                    status.action(&format!("{tool} {}", summary.as_deref().unwrap_or_default()));
                }
                body => {
                    if let Some(line) = told(body) {
                        status.above(&self.terminal.stderr.paint(line.style, &line.text), &line.text);
                    }
                }
            },
        }
    }
}

/// One thing worth a line.
struct Line {
    style: Style,
    text: String,
}

/// What a person is told about an event; phases are shown in other ways.
fn told(body: &Body) -> Option<Line> {
    let line = |style, text: String| Some(Line { style, text: visible(&text).replace('\n', " ") });
    match body {
        Body::RunStarted { mode, agent, .. } => line(Style::Bold, format!("mode {mode}, agent {agent}")),
        Body::Output { text, .. } => line(Style::Dim, format!("  | {text}")),
        Body::MessageDelta { text } if text.trim().is_empty() => None,
        Body::MessageDelta { text } => line(Style::Bold, format!("  {}", text.trim_end())),
        Body::ToolDecided { verdict, reason, .. } if *verdict != Verdict::Allow => {
            line(Style::Yellow, format!("  {verdict}: {reason}"))
        }
        Body::ToolFinished { ok: false, summary, .. } => {
            line(Style::Dim, format!("  | {}", summary.as_deref().unwrap_or("it failed")))
        }
        Body::ModelWaiting { wait_ms, reason } => {
            line(Style::Yellow, format!("waiting {}: {reason}", amount::millis(*wait_ms)))
        }
        Body::MessageRestarted {} => line(Style::Yellow, "the answer was cut off; asking again".into()),
        Body::Compacted { before, after } => {
            line(Style::Dim, format!("the conversation was shortened from {before} to {after} tokens"))
        }
        Body::CheckRan { command, exit_code, duration_ms } => {
            let took = amount::millis(*duration_ms);
            match exit_code {
                Some(0) => line(Style::Green, format!("check `{command}` passed ({took})")),
                Some(code) => line(Style::Red, format!("check `{command}` failed with {code} ({took})")),
                None => line(Style::Red, format!("check `{command}` was killed ({took})")),
            }
        }
        Body::ArtifactRejected { path, problems } => {
            line(Style::Yellow, format!("{path}: {}", problems.join("; ")))
        }
        Body::RepairRound { paths } => {
            line(Style::Yellow, format!("asking the agent once more for {}", paths.join(", ")))
        }
        Body::LimitHit { limit, .. } if limit == "cancelled" => {
            line(Style::Yellow, "cancelled by request, stopping the agent".into())
        }
        Body::LimitHit { limit, value } => line(Style::Red, format!("limit reached: {limit} ({value})")),
        Body::Breach { breach } => line(Style::Red, format!("BREACH: {}: {}", breach.kind, breach.detail)),
        Body::Warning { message } => line(Style::Yellow, format!("warning: {message}")),
        Body::AgentExited { code: Some(code), .. } if *code != 0 => {
            line(Style::Yellow, format!("the agent ended with {code}"))
        }
        Body::AgentExited { signal: Some(signal), .. } => {
            line(Style::Yellow, format!("the agent was ended by signal {signal}"))
        }
        Body::Supervisor { record } => supervisor::line(record).and_then(|text| line(Style::Cyan, text)),
        Body::StepStarted { step, attempt, .. } => {
            let again = if *attempt > 1 { format!(" (start {attempt})") } else { String::new() };
            line(Style::Bold, format!("step {step}{again}"))
        }
        Body::StepFinished { step, outcome, duration_ms, .. } => {
            let style = match outcome {
                Outcome::Success => Style::Green,
                Outcome::NeedsHuman => Style::Yellow,
                Outcome::Failure => Style::Red,
            };
            line(style, format!("step {step}: {outcome} ({})", amount::millis(*duration_ms)))
        }
        Body::Replanned { after, reason, no_plan: Some(why), .. } => line(
            Style::Yellow,
            format!("{after} could not be done ({reason}), and there is no other plan: {why}"),
        ),
        Body::Replanned { after, reason, added, .. } => {
            let added = added.join(", ");
            line(Style::Yellow, format!("{after} could not be done ({reason}); planned instead: {added}"))
        }
        Body::StepSkipped { step, reason } => line(Style::Dim, format!("step {step} is left out: {reason}")),
        Body::GateReached { step, .. } => line(Style::Bold, format!("at the gate before {step}")),
        Body::GateDecided { step, decision: GateDecision::Approved, .. } => {
            line(Style::Green, format!("the gate before {step} is open"))
        }
        Body::GateDecided { step, .. } => line(Style::Yellow, format!("the gate before {step} stays closed")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use holon_core::event::Stream;

    use super::*;

    #[test]
    fn what_an_agent_prints_cannot_drive_the_terminal() {
        let said = Body::Output { stream: Stream::Stdout, text: "a\x1b]0;x\x07\nb".into() };
        assert_eq!(told(&said).map(|line| line.text), Some("  | a\u{fffd}]0;x\u{fffd} b".into()));
        assert!(told(&Body::AgentExited { attempt: 1, code: Some(0), signal: None }).is_none());
    }
}
