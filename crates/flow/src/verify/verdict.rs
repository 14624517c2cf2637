//! Status, outcome, exit code and reason: what they may be beside each other and beside everything else.

use holon_core::event::EventBody;
use holon_core::manifest::CheckOrigin;
use holon_core::outcome::{RunOutcome, RunStatus};

use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::RunEvidence;

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    let manifest = &run.manifest;
    let (status, outcome) = (manifest.status, manifest.outcome);
    found.same(Kind::Verdict, "exit_code", &manifest.exit_code, &outcome.exit_code(), "the outcome");
    found.expect(
        status == RunStatus::Completed || outcome == RunOutcome::Failure,
        Kind::Verdict,
        "outcome",
        || format!("it says {outcome} of a run whose status is {status}"),
    );
    found.expect(
        manifest.breaches.is_empty() || outcome == RunOutcome::Failure,
        Kind::Breach,
        "outcome",
        || format!("it says {outcome} although a wall did not hold"),
    );
    found.expect(manifest.error.is_none() == (outcome == RunOutcome::Success), Kind::Error, "error", || {
        match outcome {
            RunOutcome::Success => "a success has no error".to_owned(),
            other => format!("it says {other} without a reason"),
        }
    });
    if outcome == RunOutcome::Success {
        success(run, found);
    }
    if let Some((phase, _)) = manifest.phases.iter().find(|(_, timing)| !timing.ok) {
        found.expect(
            outcome == RunOutcome::Failure || run.is_whole(),
            Kind::Phase,
            format!("phases.{phase}.ok"),
            || format!("a phase failed, and the outcome is {outcome}"),
        );
    }
    reason(run, found);
}

/// What a success implies.
fn success(run: &RunEvidence, found: &mut Discrepancies) {
    let manifest = &run.manifest;
    for row in manifest.artifacts.iter().filter(|row| row.required && !row.valid) {
        let sentence = format!("it says success, and the required artifact {} is not valid", row.path);
        found.add(Kind::Verdict, "outcome", sentence);
    }
    let checks = manifest.metadata.verification.iter().flat_map(|known| &known.checks);
    for check in checks.filter(|check| check.origin == CheckOrigin::Asked && check.counts_as_failed()) {
        found.add(
            Kind::Verdict,
            "outcome",
            format!("it says success, and the check `{}` failed", check.command),
        );
    }
}

/// Whether the reason that is given is one that can be seen.
fn reason(run: &RunEvidence, found: &mut Discrepancies) {
    let manifest = &run.manifest;
    let Some(error) = &manifest.error else { return };
    found.expect(!error.kind.is_empty() && !error.message.trim().is_empty(), Kind::Error, "error", || {
        "it gives no reason".to_owned()
    });
    // Of a flow or an orchestration it may be a child's reason; its state says which.
    if run.is_whole() {
        return;
    }
    let told = |wanted: &dyn Fn(&EventBody) -> bool| {
        run.events.as_ref().is_none_or(|log| log.events.iter().any(|event| wanted(&event.body)))
    };
    let seen = match error.kind.as_str() {
        "interrupted" => manifest.status == RunStatus::Interrupted,
        "cancelled" => manifest.status == RunStatus::Cancelled,
        "breach" => !manifest.breaches.is_empty(),
        "artifact_missing" => manifest.artifacts.iter().any(|row| row.required && row.sha256.is_none()),
        "artifact_invalid" => manifest.artifacts.iter().any(|row| !row.valid && !row.problems.is_empty()),
        "timeout" | "idle_timeout" | "output_mb" | "disk_mb" | "files" | "disk" => {
            // A recording that ends where a limit ended the run has no limit of its own to hit.
            let repeated = run.asked.as_ref().is_some_and(|asked| asked.may_repeat_a_cut);
            manifest.status == RunStatus::Timeout && repeated
                || told(&|body| matches!(body, EventBody::LimitHit { limit, .. } if *limit == error.kind))
        }
        "agent_killed" | "agent_failed" => told(&|body| matches!(body, EventBody::AgentExited { .. })),
        _ => true,
    };
    found.expect(seen, Kind::Error, "error.kind", || {
        format!("the reason is `{}`, and nothing else says so", error.kind)
    });
    found.expect(
        manifest.status != RunStatus::Interrupted || error.kind == "interrupted",
        Kind::Error,
        "error.kind",
        || "an interrupted run has no other reason".to_owned(),
    );
}
