//! The host's own checks: what they said, what the agent claimed, and what was concluded.

use holon_core::coverage::{self, ExecutedLines};
use holon_core::event::EventBody;
use holon_core::manifest::{CheckOrigin, VerificationReport, VerificationState};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_core::{claims, weakened};

use super::change::delivered;
use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::RunEvidence;

const PLACE: &str = "metadata.verification";

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    if run.is_whole() || run.manifest.status == RunStatus::Interrupted {
        return;
    }
    let Some(known) = &run.manifest.metadata.verification else {
        let ran = ran(run).count();
        found.expect(ran == 0, Kind::Check, PLACE, || {
            format!("the event log tells of {ran} checks, the manifest of none")
        });
        return;
    };
    let mut settled = known.clone();
    settled.settle();
    // What failed before fails the run all the same where the goal asks for it: then both words are true.
    let stopped = run.manifest.outcome == RunOutcome::NeedsHuman
        && run.manifest.error.as_ref().is_some_and(|error| error.kind == "checkpoint");
    let strict = known.state == VerificationState::Failed
        && settled.state == VerificationState::FailingAsBefore
        && (run.manifest.outcome == RunOutcome::Failure || stopped);
    if !strict {
        found.same(Kind::Check, format!("{PLACE}.state"), &known.state, &settled.state, "what it is made of");
    }
    each(run, known, found);
    words(run, known, found);
    covered(run, known, found);
    asked(run, known, found);
}

/// Checks that were told as they ended.
fn ran(run: &RunEvidence) -> impl Iterator<Item = (&str, Option<i32>, u64)> {
    let events = run.events.iter().flat_map(|log| &log.events);
    events.filter_map(|event| match &event.body {
        EventBody::CheckRan { command, exit_code, duration_ms } => {
            Some((command.as_str(), *exit_code, *duration_ms))
        }
        _ => None,
    })
}

fn each(run: &RunEvidence, known: &VerificationReport, found: &mut Discrepancies) {
    if run.events.is_some() {
        let told: Vec<_> = ran(run).collect();
        let said: Vec<_> = known
            .checks
            .iter()
            .map(|check| (check.command.as_str(), check.exit_code, check.duration_ms))
            .collect();
        found.same(Kind::Check, format!("{PLACE}.checks"), &said, &told, "the event log");
    }
    for number in 1..=known.checks.len() {
        let log = format!("check-{number}.log");
        found.expect(run.evidence.contains_key(&log), Kind::Check, format!("{PLACE}.checks"), || {
            format!("{} are listed, and evidence/{log} is not there", known.checks.len())
        });
    }
}

/// What the summary claims, and what the patch makes weaker; a run of checks alone has neither.
fn words(run: &RunEvidence, known: &VerificationReport, found: &mut Discrepancies) {
    if run.manifest.mode == "check" {
        return;
    }
    let summary = run.output.get("summary.md").and_then(|file| file.content.as_deref()).unwrap_or_default();
    let claimed = claims::of_verification(&String::from_utf8_lossy(summary));
    found.same(Kind::Check, format!("{PLACE}.claims"), &known.claims, &claimed, "summary.md");
    // What was withheld is kept without its secrets, which weakens no test.
    let withheld = run.evidence.get("withheld.patch").and_then(|file| file.content.as_deref());
    let Some(patch) = delivered(run).or(withheld) else {
        found.expect(known.weakened.is_empty(), Kind::Check, format!("{PLACE}.weakened"), || {
            "tests are called weaker, and there is no patch".to_owned()
        });
        return;
    };
    found.same(
        Kind::Check,
        format!("{PLACE}.weakened"),
        &known.weakened,
        &weakened::weakened(patch),
        "the patch",
    );
}

/// How much of the patch tests ran, by what is kept of the reports.
fn covered(run: &RunEvidence, known: &VerificationReport, found: &mut Discrepancies) {
    let kept = run.evidence.get(coverage::EVIDENCE).and_then(|file| file.content.as_deref());
    let lines: Option<ExecutedLines> = kept.and_then(|bytes| serde_json::from_slice(bytes).ok());
    let withheld = run.evidence.get("withheld.patch").and_then(|file| file.content.as_deref());
    let patch = delivered(run).or(withheld).unwrap_or_default();
    let counted = lines.and_then(|lines| coverage::of_change(patch, &lines));
    found.same(
        Kind::Check,
        format!("{PLACE}.coverage"),
        &known.coverage,
        &counted,
        "the patch and the kept reports",
    );
}

/// Who wanted them, where that is written down.
fn asked(run: &RunEvidence, known: &VerificationReport, found: &mut Discrepancies) {
    let wanted: Vec<&str> = run
        .spec
        .iter()
        .flat_map(|spec| &spec.constraints.checks)
        .chain(run.asked.iter().flat_map(|asked| &asked.checks))
        .map(String::as_str)
        .collect();
    for (number, check) in known.checks.iter().enumerate() {
        let claim = format!("{PLACE}.checks[{number}].origin");
        let in_writing = wanted.contains(&check.command.as_str());
        found.expect(!in_writing || check.origin == CheckOrigin::Asked, Kind::Check, claim.clone(), || {
            format!("`{}` was asked for", check.command)
        });
        let all_known = run.spec.is_some() && run.asked.is_some();
        found.expect(
            !all_known || in_writing || check.origin == CheckOrigin::Found,
            Kind::Check,
            claim,
            || format!("nobody asked for `{}`", check.command),
        );
    }
    let mixed = known.checks.iter().any(|check| check.origin != known.checks[0].origin);
    found.expect(!mixed, Kind::Check, format!("{PLACE}.checks"), || {
        "checks are looked for only where none was asked for, and both are listed".to_owned()
    });
}
