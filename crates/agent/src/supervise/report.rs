//! What the supervisor did, for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use holon_supervisor::graph::NodeStatus;
use holon_supervisor::timeline::TimelineKind;
use holon_supervisor::{GateVerdict, StopKind, Supervisor, SupervisorEffect, SupervisorState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How often it did what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterventionCounts {
    /// Calls that were not executed.
    pub blocked: u32,
    /// Calls that were executed with a note.
    pub warned: u32,
    /// Texts for the model.
    pub corrections: u32,
    /// Signals that were up, by name.
    pub signals: BTreeMap<String, u32>,
}

impl InterventionCounts {
    /// Counts what was decided.
    pub fn count(&mut self, effect: &SupervisorEffect) {
        match effect {
            SupervisorEffect::Gate(gate) => match gate.verdict {
                GateVerdict::Block => self.blocked += 1,
                GateVerdict::Warn => self.warned += 1,
                GateVerdict::Allow => {}
            },
            SupervisorEffect::Correct(text) => self.corrections += u32::from(!text.text().is_empty()),
            SupervisorEffect::Log(record) if record.event == TimelineKind::Drift => {
                let name = record.reason.strip_prefix("drift:").unwrap_or(&record.reason);
                *self.signals.entry(name.to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// What a supervisor did, for the manifest.
pub fn summary(supervisor: &Supervisor, counts: &InterventionCounts) -> Value {
    let state = supervisor.state();
    let watching = supervisor.shadow().map(|shadow| shadow.state());
    let mut value = of_state(state);
    value["blocked"] = json!(counts.blocked);
    value["warned"] = json!(counts.warned);
    value["corrections"] = json!(counts.corrections);
    value["signals"] = json!(counts.signals);
    if let Some(watching) = watching {
        value["shadow"] = of_state(watching);
    }
    value
}

fn of_state(state: &SupervisorState) -> Value {
    let graph = state.graph().map(|graph| {
        json!({"id": graph.graph_id, "template": graph.template, "progress": graph.progress(), "status": graph.status})
    });
    json!({
        "level": state.level(),
        "mode": state.mode(),
        "phase": state.phase(),
        "stage": state.phase_state().stage(),
        "rounds": state.round(),
        "takeovers": state.phase_state().takeovers(),
        "intent": state.intent(),
        "domain": state.domain(),
        "checks": state.checks().iter().map(|check| &check.command).collect::<Vec<_>>(),
        "graph": graph,
        "stop": state.stopped(),
    })
}

/// The summary of a run that was stopped: why, what is known, what is left.
pub(super) fn for_people(supervisor: &Supervisor) -> Option<String> {
    let state = supervisor.state();
    let stop = state.stopped()?;
    let mut text = String::from(match stop.kind {
        StopKind::UserCheckpoint => "# Stopped: a person has to look\n",
        StopKind::Unverified => "# Not verified by the agent\n",
        StopKind::CheckFailed => "# Ended with a failing check\n",
    });
    let _ = writeln!(text, "\n{}", sentence(&stop.reason));
    let known = state.known();
    let noticed: Vec<String> = state.noticed();
    if !noticed.is_empty() {
        let _ = writeln!(text, "\n## What was noticed\n\n- {}", noticed.join("\n- "));
    }
    let _ = writeln!(text, "\n## What is known\n");
    let _ = writeln!(text, "- {} rounds, {} takeovers", state.round(), state.phase_state().takeovers());
    for check in known.checks() {
        let how = match (check.ok, known.is_fresh(check)) {
            (true, true) => "passes",
            (true, false) => "passed before the last change",
            (false, true) => "fails",
            (false, false) => "failed before the last change",
        };
        let cases =
            if check.failing.is_empty() { String::new() } else { format!(": {}", check.failing.join(", ")) };
        let _ = writeln!(text, "- `{}` {how}{cases}", check.command);
    }
    if known.checks().is_empty() {
        let _ = writeln!(text, "- no check has run");
    }
    for file in known.changed().iter().take(20) {
        let _ = writeln!(text, "- changed: {}", file.path);
    }
    if let Some(graph) = state.graph() {
        let _ = writeln!(text, "\n## The plan, {}% done\n", graph.progress());
        for node in graph.steps() {
            let _ = writeln!(text, "{}", step(&node.title, node.kind.name(), node.status));
        }
    }
    let tried: Vec<String> =
        state.tried().into_iter().map(|(what, times)| format!("- {times} times: `{what}`")).collect();
    if !tried.is_empty() {
        let _ = writeln!(text, "\n## Tried in vain\n\n{}", tried.join("\n"));
    }
    Some(text)
}

/// A step of the plan as a line of a list; only what was proven or is not needed is ticked.
fn step(title: &str, kind: &str, status: NodeStatus) -> String {
    let (mark, how) = match status {
        NodeStatus::Done => ('x', ""),
        NodeStatus::Skipped => ('x', ", left out"),
        NodeStatus::Failed => (' ', ", failed"),
        NodeStatus::Running => (' ', ", begun"),
        NodeStatus::Pending => (' ', ""),
    };
    format!("- [{mark}] {title} ({kind}){how}")
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_failed_is_not_ticked() {
        let check = |status, expect: &str| assert_eq!(step("Change it", "edit", status), expect);
        check(NodeStatus::Done, "- [x] Change it (edit)");
        check(NodeStatus::Skipped, "- [x] Change it (edit), left out");
        check(NodeStatus::Failed, "- [ ] Change it (edit), failed");
        check(NodeStatus::Running, "- [ ] Change it (edit), begun");
        check(NodeStatus::Pending, "- [ ] Change it (edit)");
    }
}
