//! What the agent was given, and what was decided and written down elsewhere: prompts, context, the audit log, rights.

use std::collections::BTreeMap;

use holon_core::event::EventBody;
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_core::patch::named_paths;
use holon_store::AuditEntry;
use serde_json::Value;

use super::change::delivered;
use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::{EvidenceLayout, RunEvidence};

/// What a person says who lets sensitive files be changed.
const SENSITIVE: &str = "changes to sensitive files (--allow-sensitive)";
/// What a person says who lets what defines checks be changed.
const TESTS_MAY_CHANGE: &str = "changes to what defines checks (--tests-may-change)";
/// How the acceptance of an override begins.
const OVERRIDE: &str = "going out whatever the assessment says (--override-ethics): ";

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    given(run, found);
    audit(run, found);
    overrides(run, found);
    rights(run, found);
    supervisor(run, found);
}

fn given(run: &RunEvidence, found: &mut Discrepancies) {
    let metadata = &run.manifest.metadata;
    if let (Some(said), Some(shown)) = (&metadata.prompts_sha256, &run.prompts_sha256) {
        found.same(Kind::Input, "metadata.prompts_sha256", said, shown, "the prompts that are kept");
    }
    if run.is_whole() {
        return;
    }
    // Whoever marks a run that was killed knows only what was asked.
    if run.manifest.status == RunStatus::Interrupted {
        return;
    }
    let Some(kept) = &run.context else { return };
    let said: BTreeMap<String, String> =
        metadata.context.iter().map(|file| (file.path.clone(), file.sha256.clone())).collect();
    found.same(Kind::Input, "metadata.context", &said, kept, "the files that were handed over");
}

/// The end of the audit log when the manifest was written is still in it.
fn audit(run: &RunEvidence, found: &mut Discrepancies) {
    let metadata = &run.manifest.metadata;
    let Some(log) = &run.audit else { return };
    if let Some(head) = &metadata.audit {
        match &log.head {
            None => found.add(
                Kind::Audit,
                "metadata.audit.length",
                format!("it says {} entries, the log has {}", head.length, log.length),
            ),
            Some(entry) => {
                found.same(Kind::Audit, "metadata.audit.head", &head.head, &entry.hash, "the audit log")
            }
        }
    }
    let outcome = serde_json::to_value(run.manifest.outcome).unwrap_or_default();
    // A flow or an orchestration that was resumed ended more than once.
    let ends = log
        .about
        .iter()
        .filter(|entry| matches!(entry.note.action.as_str(), "mode_ended" | "orchestration_ended"));
    if let Some(told) = ends.filter_map(|entry| entry.note.detail.get("outcome")).next_back() {
        found.same(Kind::Audit, "outcome", &outcome, told, "the audit log");
    }
    if let Some(given) = &metadata.ethics_override {
        let written = log.about.iter().any(|entry| {
            let detail = &entry.note.detail;
            entry.note.action == "ethics_overridden"
                && detail.get("reason").and_then(Value::as_str) == Some(&given.reason)
                && detail.get("uid").and_then(Value::as_u64) == Some(u64::from(given.uid))
                && detail.get("terminal").and_then(Value::as_str) == given.terminal.as_deref()
        });
        found.expect(written, Kind::Decision, "metadata.ethics_override", || {
            "the audit log knows of no such decision".to_owned()
        });
    } else {
        let overruled = log.about.iter().any(|entry| entry.note.action == "ethics_overridden");
        found.expect(!overruled, Kind::Decision, "metadata.ethics_override", || {
            "the audit log tells of an override, the manifest does not".to_owned()
        });
    }
}

/// A person's word against the release gate is in the audit log, as it was given, and every one that is there is told.
fn overrides(run: &RunEvidence, found: &mut Discrepancies) {
    let Some(log) = &run.audit else { return };
    let told = run.release_overrides();
    let is = |word: &Value, entry: &AuditEntry| {
        let detail = &entry.note.detail;
        word["audit"]["head"] == entry.hash.as_str()
            && word["person"] == entry.note.actor.as_str()
            && word["run"] == detail["run_id"]
            && ["of", "to", "reason"].iter().all(|key| word[key] == detail[key])
    };
    for (number, word) in told.iter().enumerate() {
        let written = log.overrides.iter().any(|entry| is(word, entry));
        found.expect(written, Kind::Decision, format!("metadata.overrides[{number}]"), || {
            "the audit log knows of no such decision".to_owned()
        });
    }
    if run.layout == EvidenceLayout::Store {
        kept(run, &|word| log.overrides.iter().any(|entry| is(word, entry)), found);
    }
    // What is said about a part is told by its whole.
    if !run.written["metadata"]["part_of"].is_null() {
        return;
    }
    // A copy that was made before somebody's word was given cannot know of it.
    if run.layout == EvidenceLayout::Copy && run.is_as_sealed() {
        return;
    }
    let own = run.manifest.run_id.as_str();
    // What was published cites the manifest's digest, so the word for it stands where it went.
    let published =
        |entry: &AuditEntry| entry.note.detail["to"].as_str().is_some_and(|to| to.starts_with("publish"));
    let here = |entry: &&AuditEntry| entry.note.detail["run_id"] == own && !published(entry);
    for entry in log.overrides.iter().filter(here) {
        found.expect(told.iter().any(|word| is(word, entry)), Kind::Decision, "metadata.overrides", || {
            format!("the audit log tells of an override (entry {}), the manifest does not", entry.seq)
        });
    }
}

/// What the release gate is asked with: every word was given, and each that the manifest names is there.
fn kept(run: &RunEvidence, was_given: &dyn Fn(&Value) -> bool, found: &mut Discrepancies) {
    const FILE: &str = "overrides.json";
    let kept = run.overrides.as_ref().and_then(Value::as_array);
    found.expect(kept.is_some() || run.overrides.is_none(), Kind::Decision, FILE, || {
        "it cannot be read".to_owned()
    });
    let words = kept.map(Vec::as_slice).unwrap_or_default();
    found.expect(words.iter().all(was_given), Kind::Decision, FILE, || {
        "the audit log does not know of every decision in it".to_owned()
    });
    found.expect(
        run.release_overrides().iter().all(|word| words.contains(word)),
        Kind::Decision,
        FILE,
        || "a decision that the manifest names is not in it".to_owned(),
    );
}

/// Rights that were taken, beside what they were needed for.
fn rights(run: &RunEvidence, found: &mut Discrepancies) {
    let (manifest, metadata) = (&run.manifest, &run.manifest.metadata);
    for (number, right) in metadata.accepted.iter().enumerate() {
        let known = right == SENSITIVE
            || right == TESTS_MAY_CHANGE
            || right.starts_with("no isolation")
            || metadata.ethics_override.as_ref().is_some_and(|given| {
                right.strip_prefix(OVERRIDE).is_some_and(|reason| reason == given.reason)
            });
        found.expect(known, Kind::Decision, format!("metadata.accepted[{number}]"), || {
            format!("nobody can accept `{right}`")
        });
    }
    if let Some(given) = &metadata.ethics_override {
        let told = metadata.accepted.contains(&format!("{OVERRIDE}{}", given.reason));
        found.expect(told, Kind::Decision, "metadata.accepted", || {
            "the override is not among them".to_owned()
        });
    }
    let Some(patch) = delivered(run).filter(|_| manifest.outcome == RunOutcome::Success && !run.is_whole())
    else {
        return;
    };
    let allowed = metadata.accepted.iter().any(|right| right == SENSITIVE);
    let paths = named_paths(patch);
    let touched = paths.iter().find(|path| holon_core::sensitive::matches(path.as_bytes()).is_some());
    if let Some(path) = touched.filter(|_| !allowed) {
        found.add(
            Kind::Decision,
            "metadata.accepted",
            format!("{path} steers agents, CI or git, and nobody allowed that"),
        );
    }
}

/// What the supervisor decided is recorded decision by decision; the sum of it is the manifest's.
fn supervisor(run: &RunEvidence, found: &mut Discrepancies) {
    if run.is_whole() || run.manifest.status == RunStatus::Interrupted {
        return;
    }
    let said = run.manifest.metadata.supervisor.as_ref();
    if let Some(shown) = &run.supervisor {
        let said = said.cloned().unwrap_or_default();
        if let (Some(said), Some(shown)) = (said.as_object(), shown.as_object()) {
            for (name, shown) in shown {
                let claim = format!("metadata.supervisor.{name}");
                found.same(
                    Kind::Supervisor,
                    claim,
                    said.get(name).unwrap_or(&Value::Null),
                    shown,
                    "its recorded decisions",
                );
            }
        } else {
            found.same(Kind::Supervisor, "metadata.supervisor", &said, shown, "its recorded decisions");
        }
        return;
    }
    let watched = run
        .events
        .as_ref()
        .is_some_and(|log| log.events.iter().any(|event| matches!(event.body, EventBody::Supervised { .. })));
    found.expect(
        said.is_none() || watched || run.events.is_none(),
        Kind::Supervisor,
        "metadata.supervisor",
        || "nothing was supervised".to_owned(),
    );
}
