//! From a finished run to the result of its mode, after checking that the run kept to what the mode promises.

use std::fs;

use holon_core::artifact::debug::DebugReport;
use holon_core::artifact::ethics;
use holon_core::artifact::review::{ReviewReport, ReviewVerdict};
use holon_core::mode_run::{
    ModeArtifact, ModeArtifactKind, ModeDecision, ModeLogEntry, ModeMetrics, ModeProposal, ModeResult,
};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_host::FinishedRun;
use serde_json::json;

use super::runner::ModeCapabilities;

/// What a run came to for whoever asked for it.
pub(super) fn result(
    finished: &FinishedRun,
    can: &ModeCapabilities,
    writes_allowed: bool,
    attempt: u32,
) -> ModeResult {
    let manifest = &finished.manifest;
    let valid = manifest.artifacts.iter().filter(|row| row.valid);
    let artifacts: Vec<ModeArtifact> = valid
        .filter_map(|row| {
            let sha256 = row.sha256.clone()?;
            Some(ModeArtifact { kind: ModeArtifactKind::of(&row.path), path: row.path.clone(), sha256 })
        })
        .collect();
    let mut broken: Vec<String> = Vec::new();
    let known = !can.produces.is_empty();
    let has = |kind: ModeArtifactKind| artifacts.iter().any(|artifact| artifact.kind == kind);
    if manifest.outcome == RunOutcome::Success {
        // Nothing is required in writing of somebody who works at a screen.
        let written =
            |kind: &&ModeArtifactKind| **kind == ModeArtifactKind::CodeDiff || !manifest.metadata.interactive;
        let missing = can.produces.iter().filter(written).filter(|kind| !has(**kind));
        broken.extend(missing.map(|kind| format!("it succeeded without {kind:?}")));
    }
    if known && !can.delivers_changes && !writes_allowed && has(ModeArtifactKind::CodeDiff) {
        broken.push("it handed over changes, which its mode cannot".to_owned());
    }
    let mut logs = vec![ModeLogEntry {
        step: "run".into(),
        detail: json!({
            "run_id": manifest.run_id, "status": manifest.status, "outcome": manifest.outcome,
            "error": manifest.error, "model": manifest.metadata.model,
        }),
    }];
    logs.push(ModeLogEntry {
        step: "contract".into(),
        detail: json!({ "kept": broken.is_empty(), "broken": broken }),
    });
    let decision = match broken.first() {
        Some(problem) => {
            ModeDecision::Block { reason: format!("the contract of the mode was broken: {problem}") }
        }
        None => decision(finished),
    };
    ModeResult {
        success: manifest.outcome == RunOutcome::Success && broken.is_empty(),
        outcome: if broken.is_empty() { manifest.outcome } else { RunOutcome::Failure },
        artifacts,
        logs,
        decision,
        metrics: ModeMetrics {
            duration_ms: manifest.duration_ms,
            attempt,
            usage: manifest.metadata.usage.clone(),
        },
    }
}

/// What follows from a run that kept its contract.
fn decision(finished: &FinishedRun) -> ModeDecision {
    let manifest = &finished.manifest;
    let output = finished.folder.join("output");
    let mode = manifest.mode.as_str();
    // Anything but a clear approval blocks, whatever became of the run.
    if mode == "ethical" {
        let report =
            fs::read(output.join("ethics.json")).ok().filter(|_| manifest.outcome == RunOutcome::Success);
        return match ethics::blocks(report.as_deref()) {
            false => ModeDecision::Approve,
            true => ModeDecision::Block { reason: why_blocked(report.as_deref()) },
        };
    }
    if manifest.outcome != RunOutcome::Success || manifest.status != RunStatus::Completed {
        let error = manifest.error.as_ref().map(|error| error.message.clone());
        return ModeDecision::Escalate {
            reason: error.unwrap_or_else(|| format!("it ended as {}", manifest.outcome)),
        };
    }
    match mode {
        "review" => match read::<ReviewReport>(&output.join("review.json")) {
            Some(review) if review.verdict != ReviewVerdict::Block => ModeDecision::Approve,
            Some(review) => ModeDecision::Block { reason: told(&review) },
            None => ModeDecision::Block { reason: "there is no review to go by".into() },
        },
        "debug" => {
            let fix = read::<DebugReport>(&output.join("debug.json")).map(|debug| debug.fix_proposal);
            let goal = fix.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "Mend the cause".into());
            ModeDecision::Next { proposals: vec![ModeProposal { mode: "execute".into(), goal }] }
        }
        "architect" | "plan" => ModeDecision::Next {
            proposals: vec![ModeProposal { mode: "execute".into(), goal: "Carry the plan out".into() }],
        },
        "execute" => ModeDecision::Next {
            proposals: vec![ModeProposal { mode: "review".into(), goal: "Review the change".into() }],
        },
        _ => ModeDecision::Approve,
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &std::path::Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn told(review: &ReviewReport) -> String {
    match review.findings.as_slice() {
        [] => "the review blocks".into(),
        [one] => format!("the review blocks: {}", one.title),
        [first, rest @ ..] => format!("the review blocks: {}, and {} more", first.title, rest.len()),
    }
}

fn why_blocked(report: Option<&[u8]>) -> String {
    let read = report.and_then(|bytes| serde_json::from_slice::<ethics::EthicsReport>(bytes).ok());
    match read {
        Some(ethics) => {
            let risk = serde_json::to_value(ethics.risk_level).ok();
            let risk = risk.as_ref().and_then(|v| v.as_str()).unwrap_or("unknown").to_owned();
            format!("the assessment does not approve (risk {risk}): {}", ethics.approval_justification)
        }
        None => "there is no assessment that could be read, and without one nothing goes out".into(),
    }
}
