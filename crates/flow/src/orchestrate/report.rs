//! What an orchestration says about itself: the manifest's steps, `orchestration.json` and `summary.md`.

use std::fmt::Write as _;

use holon_core::artifact::orchestration::{
    AttemptReport, MergeReport, Orchestration, ReplanReport, TaskReport, UndoneTaskReport,
};
use holon_core::manifest::{EthicsOverride, FlowInfo, FlowStep, Manifest, StepProgress};
use holon_core::mode_run::ModeDecision;
use holon_core::outcome::RunOutcome;
use holon_host::store::RunRecord;

use super::release_gate::GOAL;
use super::state::{
    OrchestrationEnd, OrchestrationState, Replan, ReplanAnswer, TaskAttempt, TaskNode, TaskPhase,
    UnfinishedPart,
};
use super::{replan, resume_hint};

/// A manifest for the case that the process dies: failed until proven otherwise, and how to go on.
pub(super) fn begun(state: &OrchestrationState, record: &RunRecord) -> Manifest {
    let mut manifest = Manifest::begun(record.id.clone(), record.mode.clone(), record.started_at.clone());
    let meta = &mut manifest.metadata;
    meta.mode.clone_from(&record.mode);
    meta.agent.name.clone_from(&record.agent);
    meta.workspace_access = "read-only".into();
    meta.usage.cost_usd = (state.spent_usd > 0.0).then_some(state.spent_usd);
    meta.flow = Some(info(state, record));
    meta.ethics_override = overruled(state).cloned();
    if let Some(overruled) = &meta.ethics_override {
        meta.accepted.push(format!(
            "going out whatever the assessment says (--override-ethics): {}",
            overruled.reason
        ));
    }
    manifest
}

/// The word of a person that let the result out against the assessment; one that nothing followed from is none.
fn overruled(state: &OrchestrationState) -> Option<&EthicsOverride> {
    state.ethics_override.as_ref().filter(|_| state.overruled)
}

fn info(state: &OrchestrationState, record: &RunRecord) -> FlowInfo {
    let plan = step("orchestrate", "orchestrate", &state.planning, state.planned.is_some(), false);
    let tasks = state.nodes.iter().map(|node| {
        let (done, running) = (is_over(node), matches!(node.phase, TaskPhase::Running { .. }));
        step(&node.task.id, &node.task.mode, &node.attempts, done, running)
    });
    let left = state.left.iter().flat_map(|left| {
        left.nodes.iter().map(|node| FlowStep {
            skipped: Some(left_because(left, node)),
            ..step(&node.task.id, &node.task.mode, &node.attempts, is_over(node), false)
        })
    });
    let over = state.ended == Some(OrchestrationEnd::Complete);
    FlowInfo {
        steps: std::iter::once(plan).chain(tasks).chain(left).collect(),
        resume: (!over).then(|| resume_hint(record)),
    }
}

fn is_over(node: &TaskNode) -> bool {
    matches!(
        node.phase,
        // What waits to be joined is not run again.
        TaskPhase::Done | TaskPhase::ToMerge { .. } | TaskPhase::Failed { .. } | TaskPhase::Blocked { .. }
    )
}

fn step(name: &str, mode: &str, attempts: &[TaskAttempt], done: bool, running: bool) -> FlowStep {
    let last = attempts.last();
    let end = last.and_then(|attempt| attempt.end.as_ref());
    FlowStep {
        name: name.to_owned(),
        mode: Some(mode.to_owned()),
        state: match (done, running) {
            (true, _) => StepProgress::Done,
            (false, true) => StepProgress::Running,
            (false, false) => StepProgress::Waiting,
        },
        run_id: last.and_then(|attempt| attempt.run.clone()),
        attempts: attempts.len() as u32,
        status: end.map(|end| end.status),
        outcome: end.map(|end| end.outcome),
        duration_ms: attempts.iter().filter_map(|a| a.end.as_ref()).map(|end| end.duration_ms).sum(),
        context: Default::default(),
        gate: None,
        skipped: None,
        rounds: Vec::new(),
    }
}

/// `orchestration.json`.
pub(super) fn orchestration(state: &OrchestrationState) -> Orchestration {
    let planned = state.planned.as_ref();
    let all = || state.nodes.iter().chain(state.left.iter().flat_map(|left| &left.nodes));
    Orchestration {
        version: 1,
        goal: state.goal.clone(),
        planned_by: if planned.is_none_or(|planned| planned.by_model) { "model" } else { "default" }.into(),
        plan_problem: planned.and_then(|planned| planned.problem.clone()),
        tasks: all().map(|node| node.task.clone()).collect(),
        nodes: all().map(node).collect(),
        merge_order: state
            .merges
            .iter()
            .map(|m| MergeReport { task: m.task.clone(), how: m.how.name().into(), sha256: m.sha256.clone() })
            .collect(),
        decision: decision(state.ended.as_ref()),
        ethics_override: overruled(state).cloned(),
        overrides: Vec::new(),
        replans: state.replans.iter().map(replanned).collect(),
        dropped: state.dropped.iter().map(node).collect(),
        left: state.left.iter().flat_map(|left| left.nodes.iter().map(|node| left_out(left, node))).collect(),
        cost_usd: state.spent_usd,
        estimate: state.estimate,
    }
}

fn replanned(replan: &Replan) -> ReplanReport {
    ReplanReport {
        after_task: replan.after_task.clone(),
        kind: replan.kind.clone(),
        reason: replan.reason.clone(),
        run_id: replan.run.clone(),
        kept: replan.kept.clone(),
        dropped: replan.dropped.clone(),
        added: replan.added.clone(),
        no_plan: replan.answer.as_ref().and_then(ReplanAnswer::no_plan).map(str::to_owned),
    }
}

fn left_out(left: &UnfinishedPart, node: &TaskNode) -> UndoneTaskReport {
    UndoneTaskReport {
        id: node.task.id.clone(),
        mode: node.task.mode.clone(),
        goal: node.task.goal.clone(),
        reason: left_because(left, node),
    }
}

/// Why a task was left.
fn left_because(left: &UnfinishedPart, node: &TaskNode) -> String {
    match replan::why(node) {
        Some(reason) => reason.to_owned(),
        None if left.task == node.task.id => left.reason.clone(),
        None => format!("`{}` could not be done", left.task),
    }
}

pub(super) fn node(node: &TaskNode) -> TaskReport {
    let status = match &node.phase {
        TaskPhase::Waiting | TaskPhase::ToFix => "waiting",
        TaskPhase::Running { .. } => "running",
        TaskPhase::Conflict { .. } => "conflict",
        TaskPhase::ToMerge { .. } | TaskPhase::Done => "done",
        TaskPhase::Failed { .. } => "failed",
        TaskPhase::Blocked { .. } => "blocked",
    };
    TaskReport {
        id: node.task.id.clone(),
        status: status.into(),
        attempts: node.attempts.iter().map(attempt).collect(),
        decision: node.decision().cloned(),
    }
}

fn attempt(attempt: &TaskAttempt) -> AttemptReport {
    let end = attempt.end.as_ref();
    let error = end.and_then(|end| end.error.as_ref()).map(|(_, message)| message.clone());
    AttemptReport {
        purpose: attempt.purpose.name().into(),
        mode: attempt.mode.clone(),
        run_id: attempt.run.clone(),
        request_id: attempt.request.clone(),
        outcome: end.map(|end| end.outcome),
        reason: error.or_else(|| end.and_then(|end| end.decision.reason().map(str::to_owned))),
        cost_usd: attempt.cost_usd(),
        duration_ms: end.map_or(0, |end| end.duration_ms),
    }
}

pub(super) fn decision(ended: Option<&OrchestrationEnd>) -> ModeDecision {
    match ended {
        Some(OrchestrationEnd::Complete) => ModeDecision::Approve,
        Some(OrchestrationEnd::EthicsBlocked { reason, .. }) => {
            ModeDecision::Block { reason: reason.clone() }
        }
        Some(other) => ModeDecision::Escalate { reason: told(other) },
        None => ModeDecision::Escalate { reason: "it was ended before it was over".into() },
    }
}

/// How it ended, in a sentence.
pub(super) fn told(ended: &OrchestrationEnd) -> String {
    match ended {
        OrchestrationEnd::Complete => "all tasks are done".into(),
        OrchestrationEnd::Partial { task, reason, left } => format!(
            "only a part of it is done, and delivered: `{task}` could not be done ({reason}); left: {}",
            left.join(", ")
        ),
        OrchestrationEnd::Failed { task, reason, .. } => format!("{task}: {reason}"),
        OrchestrationEnd::Escalated { task, reason } => format!("{task} asks for a person: {reason}"),
        OrchestrationEnd::EthicsBlocked { task, reason } if task == GOAL => reason.clone(),
        OrchestrationEnd::EthicsBlocked { task, reason } => {
            format!("{task} does not let the result out: {reason}")
        }
        OrchestrationEnd::OutOfMoney => "all money is spent, so nothing more was started".into(),
        OrchestrationEnd::OutOfTime => "all time is spent, so nothing more was started".into(),
        OrchestrationEnd::TooManyChildren => {
            "there were as many runs as there may be, so nothing more was started".into()
        }
        OrchestrationEnd::Cancelled => "cancelled by request".into(),
    }
}

/// `summary.md`.
pub(super) fn summary(state: &OrchestrationState, outcome: RunOutcome, words: &[(String, String)]) -> String {
    let mut text = format!("# {}\n\n", one_line(&state.goal));
    let ended = state.ended.as_ref().map_or_else(|| "it was ended before it was over".to_owned(), told);
    let _ = writeln!(text, "**{outcome}**: {ended}\n");
    if let Some(problem) = state.planned.as_ref().and_then(|planned| planned.problem.as_deref()) {
        let problem = one_line(problem);
        let _ = writeln!(text, "The model gave no usable plan, so the usual order was taken: {problem}.\n");
    }
    if let Some(word) = overruled(state) {
        let _ = writeln!(text, "> Override: {}\n", one_line(&word.told()));
    }
    if let Some(estimate) = &state.estimate {
        let (told, spent) = (estimate.usd, state.spent_usd);
        let _ = writeln!(text, "It was estimated to cost {told:.2} dollars, and {spent:.2} were spent.\n");
    }
    text.push_str("## Tasks\n\n");
    for node in &state.nodes {
        let report = self::node(node);
        let _ = write!(text, "- **{}** ({}): {}", node.task.id, node.task.mode, report.status);
        if report.attempts.len() > 1 {
            let _ = write!(text, ", {} runs", report.attempts.len());
        }
        if let Some(reason) = node.decision().and_then(ModeDecision::reason) {
            let _ = write!(text, ": {}", one_line(reason));
        }
        text.push('\n');
    }
    if let Some(left) = &state.left {
        text.push_str("\n## Not done\n\n");
        for node in &left.nodes {
            let (id, mode, why) = (&node.task.id, &node.task.mode, one_line(&left_because(left, node)));
            let _ = writeln!(text, "- **{id}** ({mode}): {why}");
            let _ = writeln!(text, "  It was to: {}", one_line(&node.task.goal));
        }
    }
    if !state.replans.is_empty() {
        text.push_str("\n## Planned again\n\n");
        for replan in &state.replans {
            let why = one_line(&replan.reason);
            let _ = write!(text, "- **{}** could not be done ({}: {why}). ", replan.after_task, replan.kind);
            let _ = match replan.answer.as_ref().map(|answer| (answer, answer.no_plan())) {
                Some((ReplanAnswer::Stop { reason }, _)) => {
                    writeln!(text, "Nothing more: {}", one_line(reason))
                }
                Some((_, Some(problem))) => writeln!(text, "No usable plan: {}", one_line(problem)),
                Some(_) => writeln!(text, "Instead: {}.", replan.added.join(", ")),
                None => writeln!(text, "The answer is not there."),
            };
        }
    }
    if !state.merges.is_empty() {
        let order: Vec<String> =
            state.merges.iter().map(|m| format!("{} ({})", m.task, m.how.name())).collect();
        let _ = writeln!(text, "\nChanges were joined in this order: {}.", order.join(", "));
    }
    for (task, words) in words {
        let _ = write!(text, "\n## What {task} says\n\n{}\n", words.trim());
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
