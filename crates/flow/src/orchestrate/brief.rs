//! What whoever plans the rest of the work is told: what was planned, how far it is, what could not be done and why.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_core::artifact::orchestration::OrchestrationGraph;
use holon_core::mode_run::MAX_CHILDREN;
use holon_host::store::write_atomic;

use super::checking::FAILED_CHECKS;
use super::child_builder::artifact;
use super::graph::CHECK;
use super::planner::reason;
use super::replan::{self, REPLANS};
use super::report;
use super::state::{AttemptPurpose, OrchestrationState, TaskNode};
use crate::dispatch::private_folder;
use crate::error::FlowError;

/// What it begins with.
pub(super) const REPLAN: &str = "replan.md";
/// Most characters of a reason that are told.
const LONGEST_REASON: usize = 4_000;

/// What is to be handed over.
const WANTED: &str = "Hand over `orchestration.json` for the rest of the work only.

- Tasks that are done stay done. To wait for them, name their ids in `kept` and in `depends_on`.
- Everything that is not done is replaced by your tasks: leave out what is not needed, split what is too large, put in
  order what needs an order, change the mode, or say it in other words. The same words again are refused.
- A task may name an `agent` or a `model` when another one is to do it.
- Is there nothing sensible left to do, hand over `{\"tasks\": [], \"stop\": \"why\"}`: what is done is then checked,
  assessed and delivered without the rest.

Example: `{\"kept\": [\"parser\"], \"tasks\": [{\"id\": \"docs\", \"mode\": \"code\", \"goal\": \"…\", \"acceptance\": [\"…\"],
\"depends_on\": [\"parser\"]}]}`
";

/// Writes the files that go with it, and tells where they are.
pub(super) fn files(
    state: &OrchestrationState,
    node: usize,
    time_left: Duration,
    folder: &Path,
    changes: &[u8],
) -> Result<Vec<PathBuf>, FlowError> {
    let hand = folder.join("handed").join(format!("orchestrate-{}", state.planning.len() + 1));
    private_folder(&hand)?;
    let mut files = Vec::new();
    let mut put = |name: String, bytes: &[u8]| -> Result<(), FlowError> {
        let path = hand.join(name);
        write_atomic(&path, bytes)?;
        files.push(path);
        Ok(())
    };
    put(REPLAN.into(), told(state, node, time_left).as_bytes())?;
    let tasks = state.nodes.iter().filter(|node| node.task.mode != CHECK).map(|node| node.task.clone());
    let plan = serde_json::to_vec_pretty(&OrchestrationGraph::of(tasks.collect())).unwrap_or_default();
    put("tasks.json".into(), &plan)?;
    if !changes.is_empty() {
        put("changes.patch".into(), changes)?;
    }
    let failed = &state.nodes[node];
    let id = &failed.task.id;
    if failed.task.mode == CHECK
        && let Ok(bytes) = fs::read(folder.join("made").join(FAILED_CHECKS))
    {
        put(format!("{id}.{FAILED_CHECKS}"), &bytes)?;
    }
    for name in ["review.json", "debug.json", "summary.md"] {
        let found = failed.result().map(|attempt| artifact(attempt, name, folder)).transpose()?;
        if let Some(bytes) = found.flatten() {
            put(format!("{id}.{name}"), &bytes)?;
        }
    }
    if !state.messages.is_empty() {
        let text = format!("# What a person says\n\n{}\n", state.messages.join("\n\n"));
        put("message.md".into(), text.as_bytes())?;
    }
    Ok(files)
}

/// `replan.md`.
fn told(state: &OrchestrationState, node: usize, time_left: Duration) -> String {
    let failed = &state.nodes[node];
    let mut text = format!("# `{}` could not be done\n\n", failed.task.id);
    let why = replan::why(failed).unwrap_or_default();
    let _ = writeln!(text, "{}: {}\n", replan::kind(failed), short(why));
    for (nth, attempt) in failed.attempts.iter().enumerate() {
        let Some(end) = &attempt.end else { continue };
        let what = if attempt.purpose == AttemptPurpose::Task { "run" } else { attempt.purpose.name() };
        let _ = writeln!(
            text,
            "{}. {what} in mode {}: {}: {}",
            nth + 1,
            attempt.mode,
            end.outcome,
            short(&reason(end))
        );
    }
    text.push_str("\n## What was planned (`tasks.json`), and how far it is\n\n");
    for node in &state.nodes {
        let _ = writeln!(text, "- {}", row(node));
    }
    for node in &state.dropped {
        let _ = writeln!(text, "- {} (replaced before)", row(node));
    }
    text.push_str("\n## What is joined, and in the workspace already (`changes.patch`)\n\n");
    for merge in &state.merges {
        let _ = writeln!(text, "- {}: {}", merge.task, merge.paths.join(", "));
    }
    if state.merges.is_empty() {
        text.push_str("Nothing.\n");
    }
    text.push_str("\n## What is left\n\n");
    let runs = MAX_CHILDREN.saturating_sub(state.children);
    let _ = writeln!(text, "- {runs} runs of {MAX_CHILDREN}, one of them for the assessment");
    if let Some(money) = state.money_left() {
        let _ = writeln!(text, "- {money:.2} US dollars");
    }
    let _ = writeln!(text, "- {} seconds", time_left.as_secs());
    let _ = writeln!(text, "- {} plans after this one", REPLANS.saturating_sub(state.replans.len()));
    let _ = write!(text, "\n## What is wanted\n\n{WANTED}");
    text
}

fn row(node: &TaskNode) -> String {
    let report = report::node(node);
    let why = replan::why(node).map(|why| format!(": {}", short(why))).unwrap_or_default();
    let who = if node.task.mode == CHECK { "the host's checks".to_owned() } else { node.task.mode.clone() };
    format!("`{}` ({who}): {}, {} runs{why}", node.task.id, report.status, report.attempts.len())
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST_REASON).collect()
}
