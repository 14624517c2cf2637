//! What the model reads: one text, made from one state, so that no two sentences can contradict each other.

use std::fmt::Write;

use crate::correction::CorrectionKind;
use crate::deviation::DeviationReading;
use crate::domain::GoalIntent;
use crate::gate::suggested;
use crate::graph::{GraphNode, NodeStatus, TaskGraph};
use crate::known::FailedCall;
use crate::phase::EscalationStage;
use crate::state::SupervisorState;

/// Marks what the supervisor says.
pub const RECOVERY_TAG: &str = "[System Recovery]";
/// Marks the current step.
pub const GRAPH_TAG: &str = "[TaskGraph]";

/// Most lines of one kind of fact.
const FACTS: usize = 6;

/// All that is to be said now; nothing where the model is left alone.
pub(crate) fn now(state: &SupervisorState) -> Option<(CorrectionKind, String)> {
    if state.stopped().is_some() || !state.level().speaks() {
        return None;
    }
    if state.phase_state().is_recovering() {
        let head = "The supervisor leads this run until it is back on its way.";
        return Some((CorrectionKind::Takeover, whole(state, head, true)));
    }
    if state.is_not_done() {
        return Some((CorrectionKind::NotDone, whole(state, "The work is not done.", false)));
    }
    match state.phase_state().saying() {
        EscalationStage::Advised => {
            Some((CorrectionKind::Advice, whole(state, "Advice from what is known.", false)))
        }
        EscalationStage::Noticed => {
            let noticed = reasons(state.why());
            (!noticed.is_empty())
                .then(|| (CorrectionKind::Notice, format!("{RECOVERY_TAG} Noticed: {}.", noticed.join("; "))))
        }
        EscalationStage::Quiet => {
            let graph = state.graph().filter(|_| state.binds() || state.level().wants_proof())?;
            Some((CorrectionKind::GraphHint, hint(graph, graph.current()?, state)))
        }
    }
}

/// Goal, reasons, facts, plan, the one next step, and what is in vain.
fn whole(state: &SupervisorState, head: &str, plan_too: bool) -> String {
    let mut text = format!("{RECOVERY_TAG} {head}\n");
    line(&mut text, &format!("Goal: {}", state.goal()));
    let noticed = reasons(state.why());
    if !noticed.is_empty() {
        line(&mut text, &format!("Noticed: {}.", noticed.join("; ")));
    }
    facts(&mut text, state);
    if let Some(graph) = state.graph().filter(|graph| plan_too && graph.is_active()) {
        plan(&mut text, graph);
    }
    line(&mut text, &format!("Next step: {}.", next(state)));
    let vain: Vec<String> = state.known().in_vain().take(FACTS).map(in_vain).collect();
    if !vain.is_empty() {
        line(&mut text, &format!("In vain so far: {}.", vain.join("; ")));
    }
    text.trim_end().to_owned()
}

/// The current step: what it is, how far the plan is, what ends it.
fn hint(graph: &TaskGraph, node: &GraphNode, state: &SupervisorState) -> String {
    let mut text = format!("{GRAPH_TAG} Current step: {} ({})\n", node.title, node.kind.name());
    line(&mut text, &format!("Progress: {}%", graph.progress()));
    if state.binds() {
        line(&mut text, &format!("Tools of this step: {}", suggested(node.kind)));
    }
    text.trim_end().to_owned()
}

/// The next cheapest experiment, from what is known.
pub(crate) fn next(state: &SupervisorState) -> String {
    let known = state.known();
    if state.git().is_unsafe() {
        return "settle the repository first: `git status` says what is under way or in conflict".to_owned();
    }
    if let Some((check, cases)) = state.own_red() {
        let command = &check.command;
        return format!("repair what makes `{command}` fail: {}; then run `{command}`", cases.join(", "));
    }
    if let Some(luck) = known.fresh_luck() {
        let cases = known.failed_last().join(", ");
        return format!("find out why {cases} fails at times, and make `{}` pass every time", luck.command);
    }
    if let Some(one) = state.own_trial() {
        let said = if one.says.is_empty() { String::new() } else { format!(" ({})", one.says) };
        return format!("repair what makes `{0}` fail{said}, and run `{0}` again", one.label);
    }
    let check = state.checks().first().map(|check| check.command.as_str());
    let changed = known.version() > 0;
    match (known.fresh_green(), check) {
        (Some(green), _) if changed => format!(
            "`{}` passes on the current state: finish with a summary if the goal is met, else do what is missing of it",
            green.command
        ),
        (None, Some(check)) if changed => format!("run `{check}` on what you changed"),
        _ if state.intent() == GoalIntent::Question || state.intent() == GoalIntent::Inspect => {
            "answer with what you know, and say what is not known".to_owned()
        }
        _ if changed => "run something that shows whether it works, and show what it says".to_owned(),
        _ => {
            "make the change that the goal asks for, and run something that shows whether it works".to_owned()
        }
    }
}

/// Why a call that is proven to be futile is not executed, this once.
pub(crate) fn futile(one: &FailedCall) -> String {
    let exit = one.exit.map(|exit| format!(" with exit code {exit}")).unwrap_or_default();
    let said = if one.says.is_empty() { String::new() } else { format!(": {}", one.says) };
    format!(
        "Not executed: `{}` failed {} times{exit}{said}. No file changed and nothing else ran in between, so it will fail \
         again. Change something or look elsewhere first. Asked once more it is executed.",
        one.label, one.count
    )
}

/// The same for a call that is executed all the same.
pub(crate) fn called_in_vain(one: &FailedCall) -> String {
    let exit = one.exit.map(|exit| format!(" with exit code {exit}")).unwrap_or_default();
    let said = if one.says.is_empty() { String::new() } else { format!(": {}", one.says) };
    format!(
        "{RECOVERY_TAG} Called again: `{}` failed {} times{exit}{said}. No file changed and nothing else ran in between. Next \
         step: change something or look elsewhere before it is called once more.",
        one.label, one.count
    )
}

/// Why a step does not let a call through.
pub(crate) fn against(node: &GraphNode, class: &str, is_spent: bool) -> String {
    let step = format!("the current step is {} ({})", node.kind.name(), node.title);
    if is_spent {
        return format!("Not executed: {step} and it has had its calls for this round. Say what you found.");
    }
    format!("Not executed: {step}, which does not {class}. Use: {}.", suggested(node.kind))
}

/// The note on a call that is beside the current step.
pub(crate) fn beside(node: &GraphNode) -> String {
    format!("Note: the current step is {} ({}). Use: {}.", node.kind.name(), node.title, suggested(node.kind))
}

fn reasons(readings: &[DeviationReading]) -> Vec<String> {
    readings.iter().map(reason).collect()
}

/// A signal in words.
pub(crate) fn reason(reading: &DeviationReading) -> String {
    reading.signal.words(reading.value)
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn list(before: &str, items: &[String]) -> String {
    if items.is_empty() { String::new() } else { format!("{before}{}", items.join(", ")) }
}

fn in_vain(one: &FailedCall) -> String {
    format!("`{}` ({} times on this state)", one.label, one.count)
}

fn facts(text: &mut String, state: &SupervisorState) {
    let known = state.known();
    let mut found: Vec<String> = Vec::new();
    for check in known.checks().iter().filter(|check| !check.ok).take(FACTS) {
        let when = if known.is_fresh(check) { "" } else { " (before the last change)" };
        let count = if check.failed > 0 { format!("{} failing", check.failed) } else { "fails".to_owned() };
        let own = check.own_cases(state.wants(check));
        let before = if own.is_empty() { "; it failed before this run, too" } else { "" };
        let cases = match check.says.as_str() {
            says if check.failing.is_empty() && !says.is_empty() => format!(": {says}"),
            _ => list(": ", &check.failing),
        };
        found.push(format!("`{}`{when}: {count}{cases}{before}", check.command));
    }
    for check in known.checks().iter().filter(|check| check.ok && known.is_fresh(check)).take(FACTS) {
        found.push(format!("`{}` passes", check.command));
    }
    if let Some(one) = state.own_trial() {
        let said = if one.says.is_empty() { String::new() } else { format!(": {}", one.says) };
        found.push(format!("`{}` failed when it last ran{said}", one.label));
    }
    for (signature, count) in state.watch().repeated().into_iter().take(FACTS) {
        found.push(format!("{count} times: {signature}"));
    }
    let changed: Vec<String> = known.differing().rev().take(FACTS).map(|file| file.path.clone()).collect();
    if !changed.is_empty() {
        found.push(format!("changed files ({}): {}", known.changed_count(), changed.join(", ")));
    }
    if known.version() == 0 {
        found.push("no file was changed".to_owned());
    }
    if known.checks().is_empty() && state.own_trial().is_none() {
        found.push("no check that is known has run".to_owned());
    }
    line(text, "Facts:");
    found.iter().for_each(|fact| line(text, &format!("- {fact}")));
}

fn plan(text: &mut String, graph: &TaskGraph) {
    let _ = writeln!(text, "Plan, {}% done:", graph.progress());
    for node in graph.steps() {
        let mark = match node.status {
            NodeStatus::Done => "x",
            NodeStatus::Skipped => "-",
            NodeStatus::Failed => "!",
            NodeStatus::Running => ">",
            NodeStatus::Pending => " ",
        };
        let _ = writeln!(text, "[{mark}] {} {}: {}", node.id, node.kind.name(), node.title);
    }
}
