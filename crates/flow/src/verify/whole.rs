//! Flows and orchestrations: their manifest is made of their state and their children's manifests, so it can be made again.

use serde_json::Value;

use holon_core::manifest::Manifest;
use holon_core::outcome::{RunOutcome, RunStatus};

use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::{RunEvidence, WholeEvidence};

/// What is compared by others, or cannot be made again: who wrote what when, and files.
const ELSEWHERE: [&str; 10] = [
    "artifacts",
    "status",
    "outcome",
    "exit_code",
    "error",
    "no_changes",
    "metadata.audit",
    "metadata.overrides",
    "metadata.changes",
    "metadata.snapshot.touched",
];

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    let Some(whole) = &run.whole else {
        let lists = run.manifest.metadata.flow.is_some() && !run.is_whole();
        found.expect(!lists, Kind::Step, "metadata.flow", || {
            "steps are listed of a run that has none".to_owned()
        });
        return;
    };
    for child in &whole.changed_children {
        found.add(
            Kind::Step,
            "metadata.flow.steps",
            format!("the manifest of {child} is not the one that was seen when it ended"),
        );
    }
    if !whole.sealed || run.manifest.status == RunStatus::Interrupted {
        return;
    }
    verdict(run, whole, found);
    let said = serde_json::to_value(&run.manifest).unwrap_or_default();
    let shown = serde_json::to_value(&whole.expected).unwrap_or_default();
    compare("", &said, &shown, found);
}

/// The end follows from the state; a failure of the host itself, which it cannot know of, only makes it worse.
fn verdict(run: &RunEvidence, whole: &WholeEvidence, found: &mut Discrepancies) {
    let (said, shown) = (&run.manifest, &whole.expected);
    let fell_over = said.outcome == RunOutcome::Failure && said.outcome != shown.outcome;
    if fell_over {
        return;
    }
    found.same(Kind::Step, "status", &said.status, &shown.status, "its state");
    found.same(Kind::Step, "outcome", &said.outcome, &shown.outcome, "its state");
    // A hint may name where things are, and a state folder can be moved.
    let error = |manifest: &Manifest| manifest.error.as_ref().map(|e| (e.kind.clone(), e.message.clone()));
    found.same(Kind::Step, "error", &error(said), &error(shown), "its state");
}

/// Every field that differs.
fn compare(at: &str, said: &Value, shown: &Value, found: &mut Discrepancies) {
    if said == shown || ELSEWHERE.contains(&at) {
        return;
    }
    let (Value::Object(a), Value::Object(b)) = (said, shown) else {
        found.same(Kind::Step, at, said, shown, "what its steps say");
        return;
    };
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for key in keys {
        let below = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        compare(&below, a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), found);
    }
}
