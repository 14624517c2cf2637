//! How flows look: their steps, what a gate is about, what a flow would do.

use std::fs;
use std::path::Path;

use holon_core::artifact::review::ReviewReport;
use holon_core::manifest::{FlowInfo, FlowStep, GateDecision, StepProgress};
use holon_core::mode::ModeError;
use holon_flow::GateQuestion;
use holon_flow::definition::{FlowDefinition, StepWork};
use holon_host::HostError;
use serde_json::json;

use super::amount;
use super::table::TextTable;
use crate::terminal::{TerminalStream, TextStyle, one_line, visible};

/// Longest text shown at a gate; the file has the rest.
const MOST_LINES: usize = 200;

/// The steps under a heading, and how to go on.
pub(crate) fn section(flow: &FlowInfo, stream: TerminalStream) -> String {
    let mut text = format!("\n{}\n{}", stream.paint(TextStyle::Bold, "steps"), steps(flow, stream));
    if let Some(resume) = &flow.resume {
        text.push_str(&format!("{} {}\n", stream.paint(TextStyle::Bold, "go on:"), visible(resume)));
    }
    text
}

/// One line per step.
pub(crate) fn steps(flow: &FlowInfo, stream: TerminalStream) -> String {
    let mut table = TextTable::indented(2);
    for step in &flow.steps {
        let took = if step.duration_ms == 0 { String::new() } else { amount::millis(step.duration_ms) };
        let run = step.run_id.as_ref().map(ToString::to_string).unwrap_or_default();
        table.row([&step.name, &how(step), &took, &run, &notes(step)]);
    }
    table.render(stream)
}

fn how(step: &FlowStep) -> String {
    match (step.state, step.outcome) {
        (StepProgress::Done, Some(outcome)) => outcome.to_string(),
        (StepProgress::Done, None) => "done".into(),
        (StepProgress::Skipped, _) => "left out".into(),
        (StepProgress::Running, _) => "interrupted".into(),
        (StepProgress::Waiting, _) if step.attempts > 0 => "to be done again".into(),
        (StepProgress::Waiting, _) => "not started".into(),
    }
}

fn notes(step: &FlowStep) -> String {
    let mut notes: Vec<String> = step.skipped.iter().cloned().collect();
    if step.attempts > 1 {
        notes.push(format!("started {} times", step.attempts));
    }
    if let Some(gate) = &step.gate {
        let how = if gate.decision == GateDecision::Approved { "open" } else { "closed" };
        notes.push(format!("gate {how}"));
        notes.extend(gate.comment.as_ref().map(|comment| format!("\"{comment}\"")));
    }
    for (file, digest) in &step.context {
        notes.push(format!("got {file} {}", digest.get(..12).unwrap_or(digest)));
    }
    notes.join(", ")
}

/// What somebody at a gate should see before deciding.
pub(crate) fn question(question: &GateQuestion, stream: TerminalStream) -> String {
    let mut text = String::new();
    let markdown = question.files.iter().any(|(label, _)| label.ends_with(".md"));
    for (label, path) in &question.files {
        // The same plan in a form for programs adds nothing.
        if label.ends_with(".json") && markdown {
            continue;
        }
        text.push_str(&format!("\n{}\n", stream.paint(TextStyle::Bold, label)));
        let shown = findings(path, stream).unwrap_or_else(|| plain(path));
        text.push_str(&shown);
    }
    if let Some(concern) = &question.concern {
        text.push_str(&format!("\n{} {}\n", stream.paint(TextStyle::Yellow, "mind:"), visible(concern)));
    }
    text
}

fn plain(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut shown: String =
        lines.iter().take(MOST_LINES).map(|line| format!("  {}\n", visible(line))).collect();
    if lines.len() > MOST_LINES {
        shown.push_str(&format!("  … {} more lines in {}\n", lines.len() - MOST_LINES, path.display()));
    }
    shown
}

/// The findings of a review, if that is what the file holds.
fn findings(path: &Path, stream: TerminalStream) -> Option<String> {
    let review: ReviewReport = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let mut table = TextTable::indented(2);
    for finding in &review.findings {
        let severity = serde_json::to_value(finding.severity).ok()?;
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = format!("{}{line}", finding.path);
        table.row([severity.as_str().unwrap_or_default(), &place, &one_line(&finding.title, 100)]);
    }
    Some(table.render(stream))
}

/// A flow as `holon modes show` tells it.
pub(crate) fn definition(flow: &FlowDefinition, stream: TerminalStream) -> String {
    let mut table = TextTable::new(["STEP", "MODE", "GATE", "GETS", "DELIVERS"]);
    for step in &flow.steps {
        let (mode, gets) = work(&step.work);
        let delivers: Vec<&str> = step.deliver.iter().map(|file| file.name.as_str()).collect();
        let gate = if step.gate { "before it" } else { "" };
        table.row([&step.name, &mode, gate, &gets, &delivers.join(", ")]);
    }
    format!("{}: {}\n{}", flow.name, flow.description, table.render(stream))
}

fn work(work: &StepWork) -> (String, String) {
    match work {
        StepWork::Run(run) => {
            let gets: Vec<String> =
                run.context.iter().map(holon_flow::definition::HandedFile::label).collect();
            (run.mode.clone(), gets.join(", "))
        }
        StepWork::Findings { of, result } => {
            ("(the host)".into(), format!("{of}/review.json, {result}/diff.patch"))
        }
    }
}

/// The same for programs.
pub(crate) fn json(flow: &FlowDefinition) -> String {
    let steps: Vec<_> = flow
        .steps
        .iter()
        .map(|step| {
            let (mode, _) = work(&step.work);
            let mode = matches!(step.work, StepWork::Run(_)).then_some(mode);
            json!({ "name": step.name, "mode": mode, "gate": step.gate })
        })
        .collect();
    format!("{:#}\n", json!({ "name": flow.name, "description": flow.description, "steps": steps }))
}

/// An unknown mode may be a mistyped flow.
pub(crate) fn with_flows(error: HostError) -> HostError {
    match error {
        HostError::Mode(ModeError::Unknown { name, mut known }) => {
            known.extend(holon_flow::builtin::all().into_iter().flatten().map(|flow| flow.name));
            HostError::Mode(ModeError::Unknown { name, known })
        }
        other => other,
    }
}
