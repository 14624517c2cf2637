//! The flow's own `summary.md`: what each step came to, what became of findings, and the last agent's words.

use std::fmt::Write as _;

use holon_core::artifact::findings::FindingsReport;

use crate::definition::FlowDefinition;
use crate::state::{FlowEnd, FlowState, FlowStepProgress, StepGate};

/// What the flow has to say; `words` is the summary of the last agent that wrote one.
pub(crate) fn text(
    definition: &FlowDefinition,
    state: &FlowState,
    findings: Option<&FindingsReport>,
    words: Option<(&str, &str)>,
) -> String {
    let ended = state.ended.as_ref().map_or("interrupted".to_owned(), FlowEnd::to_string);
    let mut text = format!("# {}\n\n{}.\n\n", definition.name, capital(&ended));
    for step in &state.steps {
        let how = match &step.progress {
            FlowStepProgress::Waiting => "not started".to_owned(),
            FlowStepProgress::Running { .. } => "not finished".to_owned(),
            FlowStepProgress::Skipped { why } => format!("left out: {why}"),
            FlowStepProgress::Done(done) => {
                let why =
                    done.error.as_ref().map(|e| format!(": {}", one_line(&e.message))).unwrap_or_default();
                format!("{}{why}", done.outcome)
            }
        };
        let _ = writeln!(text, "- **{}**: {how}", step.name);
        if let StepGate::Decided(gate) = &step.gate
            && let Some(comment) = &gate.comment
        {
            let _ = writeln!(text, "  - said at the gate: {}", one_line(comment));
        }
    }
    if let Some(found) = findings.filter(|found| !found.findings.is_empty()) {
        let _ = writeln!(
            text,
            "\n## Findings\n\n{} fixed, {} open, {} unclear; `findings.json` has them all.\n",
            found.fixed, found.open, found.unclear
        );
        for finding in &found.findings {
            let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
            let _ = writeln!(
                text,
                "- {} `{}{line}` {}: {}",
                finding.state.name(),
                one_line(&finding.path),
                one_line(&finding.title),
                finding.reason
            );
        }
    }
    if let Some((step, words)) = words {
        let _ = write!(text, "\n## What {step} says\n\n{}\n", words.trim());
    }
    text
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
