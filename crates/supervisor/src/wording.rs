//! What the model reads, from facts alone.

use std::fmt::Write;

use crate::budget::{Counted, Spent};
use crate::deviation::{Deviation, Reading};
use crate::gate::suggested;
use crate::graph::{Node, NodeStatus, TaskGraph};
use crate::state::State;
use crate::tier::Tier;

/// Marks texts of a takeover.
pub const RECOVERY_TAG: &str = "[System Recovery]";
/// Marks the current step.
pub const GRAPH_TAG: &str = "[TaskGraph]";

/// Most lines of one kind of fact.
const FACTS: usize = 6;

/// Everything a takeover has to say, the one next step last but one.
pub(crate) fn takeover(state: &State, why: &[Reading]) -> String {
    let mut text = format!("{RECOVERY_TAG} The supervisor leads this run until it is back on its way.\n");
    line(&mut text, &format!("Goal: {}", state.goal));
    let reasons: Vec<String> = why.iter().map(reason).collect();
    if !reasons.is_empty() {
        line(&mut text, &format!("Why: {}.", reasons.join("; ")));
    }
    facts(&mut text, state);
    if let Some(graph) = state.graph() {
        plan(&mut text, graph);
        if let Some(node) = graph.current() {
            line(&mut text, &format!("Next step: {}", next_step(node, state)));
        }
    }
    avoid(&mut text, state);
    text.trim_end().to_owned()
}

/// The one strong hint when there is no plan to trust, or less of one is left.
pub(crate) fn recovery(state: &State, cause: &str) -> String {
    let mut text = format!("{RECOVERY_TAG} {cause}\n");
    line(&mut text, &format!("Goal: {}", state.goal));
    facts(&mut text, state);
    match state.tier() {
        Tier::Graph | Tier::StepQueue => {
            if let Some(graph) = state.graph() {
                plan(&mut text, graph);
                if let Some(node) = graph.current() {
                    line(&mut text, &format!("One step at a time. Next step: {}", next_step(node, state)));
                }
            } else {
                line(&mut text, &format!("Next step: {}.", next_without_plan(state)));
            }
        }
        Tier::WriteIntent => {
            let named = if state.named().is_empty() { "none".to_owned() } else { state.named().join(", ") };
            line(&mut text, &format!("Only these paths may be written now: {named}. Make a check pass."));
        }
        Tier::Human => line(&mut text, "A person has to look at this run."),
    }
    avoid(&mut text, state);
    text.trim_end().to_owned()
}

/// The current step: type, progress, status, tools, files; nothing else.
pub(crate) fn hint(graph: &TaskGraph, node: &Node, named: &[String]) -> String {
    let status = if graph.unverified { "running, nothing can verify it" } else { "running" };
    let mut text = format!("{GRAPH_TAG} Current step: {} ({})\n", node.title, node.kind.name());
    line(&mut text, &format!("Progress: {}% | Status: {status}", graph.progress()));
    line(&mut text, &format!("Suggested tools: {}", suggested(node.kind)));
    if !named.is_empty() {
        let files: Vec<&str> = named.iter().take(FACTS).map(String::as_str).collect();
        line(&mut text, &format!("Reference files: {}", files.join(", ")));
    }
    text.trim_end().to_owned()
}

/// What to do next in forced without a plan.
pub(crate) fn step_hint(state: &State) -> String {
    format!("{GRAPH_TAG} Next: {}.", next_without_plan(state))
}

fn next_without_plan(state: &State) -> String {
    let known = state.known();
    if let Some(red) = known.fresh_red() {
        format!("repair what `{}` reports{}, one file per call", red.command, list(": ", &red.failing))
    } else if known.version() > 0 && known.fresh_green().is_none() && !state.checks().is_empty() {
        format!("run `{}` on what you changed", state.checks()[0].command)
    } else {
        "one file per write, and a check after it".to_owned()
    }
}

/// Why a call is not let through by the budget, or is and costs the branch.
pub(crate) fn spent(spent: &Spent, blocked: bool) -> String {
    let Spent { label, used, .. } = spent;
    let what = match spent.kind {
        Counted::FileEdits => format!("{label} was edited {used} times without a check passing in between"),
        Counted::CommandRetries => format!("`{label}` failed {used} times"),
        Counted::ErrorRepeats => format!("the same error came {used} times: {label}"),
    };
    if blocked {
        format!(
            "Not executed: {what}. Look at the evidence and try another way; repeating it gives this branch up."
        )
    } else {
        format!("{what}, and it is tried again: this counts as another branch.")
    }
}

/// Why a step does not let a call through.
pub(crate) fn against(node: &Node, class: &str, is_spent: bool) -> String {
    let step = format!("the current step is {} ({})", node.kind.name(), node.title);
    if is_spent {
        return format!("Not executed: {step} and it has had its calls for this round. Say what you found.");
    }
    format!("Not executed: {step}, which does not {class}. Use: {}.", suggested(node.kind))
}

/// The note on a call that is beside the current step.
pub(crate) fn beside(node: &Node) -> String {
    format!("Note: the current step is {} ({}). Use: {}.", node.kind.name(), node.title, suggested(node.kind))
}

/// A signal in words.
pub(crate) fn reason(reading: &Reading) -> String {
    let n = reading.value;
    match reading.signal {
        Deviation::ToolRepeatFail => format!("the same failure {n} times"),
        Deviation::NoProgress => format!("{n} rounds without anything new"),
        Deviation::FileLoop => format!("one file edited {n} times with no check turning greener"),
        Deviation::Alternation => format!("the same two calls in turn, {n} times"),
        Deviation::GoalDrift => format!("{n} rounds of changes outside of what was named"),
        Deviation::ScopeCreep => format!("{n} files changed, far more than were named"),
        Deviation::UserForceTakeover => "a person asked for it".to_owned(),
    }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn list(before: &str, items: &[String]) -> String {
    if items.is_empty() { String::new() } else { format!("{before}{}", items.join(", ")) }
}

fn facts(text: &mut String, state: &State) {
    let known = state.known();
    let mut found: Vec<String> = Vec::new();
    for check in known.checks().iter().filter(|check| !check.ok).take(FACTS) {
        let when = if known.is_fresh(check) { "" } else { " (before the last change)" };
        let count = if check.failed > 0 { format!("{} failing", check.failed) } else { "fails".to_owned() };
        found.push(format!("`{}`{when}: {count}{}", check.command, list(": ", &check.failing)));
    }
    for (signature, count) in state.watch().repeated().into_iter().take(FACTS) {
        found.push(format!("{count} times: {signature}"));
    }
    let changed: Vec<String> =
        known.changed().iter().rev().take(FACTS).map(|file| file.path.clone()).collect();
    if !changed.is_empty() {
        found.push(format!("changed files ({}): {}", known.changed_count(), changed.join(", ")));
    }
    if found.is_empty() {
        found.push("nothing was changed, no check has run".to_owned());
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

fn next_step(node: &Node, state: &State) -> String {
    let mut step = format!("{} ({}): {}", node.id, node.kind.name(), node.title);
    step.push_str(&list(". Failing cases: ", &node.cases));
    if node.kind == crate::graph::NodeKind::Verify
        && let Some(check) = state.checks().first()
    {
        let _ = write!(step, ". Run `{}`", check.command);
    }
    if node.kind.writes()
        && let Some(command) = state.known().checks().last().map(|check| &check.command)
    {
        let _ = write!(step, ". Then run `{command}`");
    }
    step.push_str(&format!(". Tools: {}.", suggested(node.kind)));
    step
}

fn avoid(text: &mut String, state: &State) {
    let mut items: Vec<String> = Vec::new();
    for (kind, label, used) in state.budget().used().into_iter().filter(|(_, _, used)| *used > 1).take(FACTS)
    {
        items.push(match kind {
            Counted::FileEdits => {
                format!("editing {label} again without running a check ({used} times so far)")
            }
            Counted::CommandRetries => format!("`{label}` ({used} failures)"),
            Counted::ErrorRepeats => format!("what led to \"{label}\" ({used} times)"),
        });
    }
    for (signature, count) in state.watch().repeated().into_iter().take(2) {
        items.push(format!("what led to \"{signature}\" ({count} times)"));
    }
    for (path, count) in state.watch().looped().into_iter().take(2) {
        items.push(format!("the same kind of edit of {path} ({count} so far)"));
    }
    if !items.is_empty() {
        line(text, &format!("Do not repeat: {}.", items.join("; ")));
    }
}
