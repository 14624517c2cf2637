//! What was told while the run went on: phases, artifacts, breaches, warnings, tokens and the end.

use std::collections::BTreeMap;

use holon_core::event::{EventBody, RunEvent};
use holon_core::manifest::{ModelInfo, RunPhase, SandboxBreach, UsageTotals};
use holon_core::outcome::RunStatus;

use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind, in_words};
use super::evidence::{EventLog, RunEvidence};

const LOG: &str = "evidence/events.jsonl";

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    let Some(log) = &run.events else {
        found.expect(run.manifest.status == RunStatus::Interrupted, Kind::Events, LOG, || {
            "the run ended by itself, and its event log is not there".to_owned()
        });
        return;
    };
    numbering(run, log, found);
    the_end(run, log, found);
    warnings(run, log, found);
    if run.is_whole() {
        return;
    }
    phases(run, log, found);
    breaches(run, log, found);
    artifacts(run, log, found);
    model(run, log, found);
}

/// Every event belongs to the run, and none is missing.
fn numbering(run: &RunEvidence, log: &EventLog, found: &mut Discrepancies) {
    if let Some(line) = log.broken.first() {
        found.add(Kind::Events, LOG, format!("line {line} is no event"));
    }
    if let Some(event) = log.events.iter().find(|event| event.run != run.manifest.run_id) {
        found.add(Kind::Events, LOG, format!("event {} belongs to run {}", event.seq, event.run));
    }
    if log.unknown > 0 {
        return;
    }
    let gap = log.events.iter().zip(1..).find(|(event, expected)| event.seq != *expected);
    if let Some((event, expected)) = gap.filter(|_| log.broken.is_empty()) {
        found.add(Kind::Events, LOG, format!("event {} stands where event {expected} belongs", event.seq));
    }
}

/// The last event says how it ended; whoever was killed could say nothing.
fn the_end(run: &RunEvidence, log: &EventLog, found: &mut Discrepancies) {
    let manifest = &run.manifest;
    let mut ends = log.events.iter().filter_map(|event| match &event.body {
        EventBody::RunFinished { status, outcome, exit_code, manifest_sha256 } => {
            Some((*status, *outcome, *exit_code, manifest_sha256))
        }
        _ => None,
    });
    let last = ends.next_back();
    if manifest.status == RunStatus::Interrupted {
        let over = matches!(log.events.last(), Some(RunEvent { body: EventBody::RunFinished { .. }, .. }));
        found.expect(!over, Kind::Verdict, "status", || {
            "it says interrupted, and the last event tells of its end".to_owned()
        });
        return;
    }
    let Some((status, outcome, exit_code, sealed)) = last else {
        found.add(Kind::Events, LOG, "nothing in it tells of the run's end");
        return;
    };
    found.same(Kind::Verdict, "status", &manifest.status, &status, "the last event");
    found.same(Kind::Verdict, "outcome", &manifest.outcome, &outcome, "the last event");
    found.same(Kind::Verdict, "exit_code", &manifest.exit_code, &exit_code, "the last event");
    if run.release_overrides().is_empty() {
        found.expect(sealed.is_none() || run.is_as_sealed(), Kind::Seal, "manifest.json", || {
            "it is not the one that was sealed: the last event tells of another digest".to_owned()
        });
    } else {
        // Earlier versions told nobody of the manifests that a person's override made.
        let known = run.amended().next().is_none() || run.is_as_told();
        found.expect(known, Kind::Seal, "manifest.json", || {
            "it names an override, and is none of the manifests that the audit log tells of".to_owned()
        });
    }
}

/// Every warning was given.
fn warnings(run: &RunEvidence, log: &EventLog, found: &mut Discrepancies) {
    if run.is_whole() {
        return;
    }
    for (number, warning) in run.manifest.metadata.warnings.iter().enumerate() {
        let told = log
            .events
            .iter()
            .any(|event| matches!(&event.body, EventBody::Warning { message } if message == warning));
        found.expect(told, Kind::Warning, format!("metadata.warnings[{number}]"), || {
            format!("nobody gave the warning `{warning}`")
        });
    }
}

/// Phases as they were timed; what happens before the first event and while the last is written has none.
fn phases(run: &RunEvidence, log: &EventLog, found: &mut Discrepancies) {
    let mut told: BTreeMap<RunPhase, (u64, bool)> = BTreeMap::new();
    for event in &log.events {
        if let EventBody::PhaseFinished { phase, duration_ms, ok } = &event.body {
            let sum = told.entry(*phase).or_insert((0, true));
            *sum = (sum.0 + duration_ms, sum.1 && *ok);
        }
    }
    let manifest = &run.manifest;
    if manifest.status == RunStatus::Interrupted {
        return;
    }
    for phase in RunPhase::ALL {
        let claim = format!("phases.{phase}");
        let said = manifest.phases.get(&phase);
        match (phase, said, told.get(&phase)) {
            (RunPhase::Resolve, Some(said), _) => {
                found.expect(said.ok, Kind::Phase, format!("{claim}.ok"), || {
                    "a run whose resolving failed is never begun".to_owned()
                });
            }
            (RunPhase::Resolve, None, _) => {
                found.add(Kind::Phase, claim, "a run begins with it, and it is missing")
            }
            (RunPhase::Seal, Some(said), Some((took, _))) => {
                // The manifest is written in the middle of it.
                found.expect(said.duration_ms <= *took, Kind::Phase, format!("{claim}.duration_ms"), || {
                    format!("the manifest says {} ms, the event {took} ms", said.duration_ms)
                });
                found.expect(said.ok, Kind::Phase, format!("{claim}.ok"), || {
                    "a manifest that is there was written".to_owned()
                });
            }
            (_, Some(said), Some((took, ok))) => {
                found.same(
                    Kind::Phase,
                    format!("{claim}.duration_ms"),
                    &said.duration_ms,
                    took,
                    "the event log",
                );
                found.same(Kind::Phase, format!("{claim}.ok"), &said.ok, ok, "the event log");
            }
            (_, Some(_), None) => found.add(Kind::Phase, claim, "no event tells of this phase"),
            (_, None, Some(_)) => {
                found.add(Kind::Phase, claim, "the event log tells of this phase, the manifest does not")
            }
            (_, None, None) => {}
        }
    }
    let sum: u64 = manifest.phases.values().map(|phase| phase.duration_ms).sum();
    found.expect(sum <= manifest.duration_ms + RunPhase::ALL.len() as u64, Kind::Time, "duration_ms", || {
        format!("the phases took {sum} ms, which is longer than the whole: {} ms", manifest.duration_ms)
    });
}

/// Walls that did not hold were told at once. A second look at the result forgets the first one's breaches.
fn breaches(run: &RunEvidence, log: &EventLog, found: &mut Discrepancies) {
    let told: Vec<&SandboxBreach> = log
        .events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Breach { breach } => Some(breach),
            _ => None,
        })
        .collect();
    for (number, breach) in run.manifest.breaches.iter().enumerate() {
        found.expect(told.contains(&breach), Kind::Breach, format!("breaches[{number}]"), || {
            format!("no event tells of the breach {}", breach.kind)
        });
    }
    let repaired = log.events.iter().any(|event| matches!(event.body, EventBody::RepairRound { .. }));
    if !repaired && told.len() > run.manifest.breaches.len() {
        found.add(
            Kind::Breach,
            "breaches",
            format!("{} were told, {} are listed", told.len(), run.manifest.breaches.len()),
        );
    }
}

/// The last word about each artifact that was looked at.
fn artifacts(run: &RunEvidence, log: &EventLog, found: &mut Discrepancies) {
    let mut last: BTreeMap<&str, Option<(&str, u64)>> = BTreeMap::new();
    for event in &log.events {
        match &event.body {
            EventBody::ArtifactAccepted { path, sha256, bytes } => {
                last.insert(path, Some((sha256, *bytes)));
            }
            EventBody::ArtifactRejected { path, .. } => {
                last.insert(path, None);
            }
            _ => {}
        }
    }
    // An override is named in the summary when it is given, after the summary was accepted.
    let amended = |path: &str| path == "summary.md" && !run.release_overrides().is_empty();
    for row in run.manifest.artifacts.iter().filter(|row| !amended(&row.path)) {
        let claim = format!("artifacts[{}]", row.path);
        match last.get(row.path.as_str()) {
            Some(Some((sha256, bytes))) => {
                found.expect(row.valid, Kind::Artifact, format!("{claim}.valid"), || {
                    "the event log says that it was accepted".to_owned()
                });
                found.expect(
                    row.sha256.as_deref() == Some(*sha256),
                    Kind::Digest,
                    format!("{claim}.sha256"),
                    || "another file was accepted".to_owned(),
                );
                found.same(Kind::Digest, format!("{claim}.bytes"), &row.bytes, bytes, "the event log");
            }
            Some(None) => found.expect(!row.valid, Kind::Artifact, format!("{claim}.valid"), || {
                "the event log says that it was rejected".to_owned()
            }),
            None => {}
        }
    }
}

/// The model that answered, and what it used.
fn model(run: &RunEvidence, log: &EventLog, found: &mut Discrepancies) {
    let metadata = &run.manifest.metadata;
    if run.manifest.status == RunStatus::Interrupted {
        // Whoever marks a run that was killed knows only what was asked.
        return;
    }
    for event in &log.events {
        let EventBody::ModelAnswered { provider, model, .. } = &event.body else { continue };
        let Some(said) = &metadata.model else {
            found.add(
                Kind::Model,
                "metadata.model",
                format!("none is named, and {provider}/{model} was asked"),
            );
            break;
        };
        if (&said.provider, &said.id) != (provider, model) {
            let sentence =
                format!("it names {}/{}, and {provider}/{model} was asked", said.provider, said.id);
            found.add(Kind::Model, "metadata.model.id", sentence);
            break;
        }
    }
    if let Some(asked) = run.asked.as_ref().filter(|asked| asked.model_recorded) {
        // Who was asked is settled before the first word; that somebody else answered is found out after it.
        let chosen = metadata.model.clone().map(|model| ModelInfo { replaced_by: None, ..model });
        found.expect(asked.model == chosen, Kind::Model, "metadata.model", || {
            "it is not the model that the run noted when it chose, or was chosen for another reason"
                .to_owned()
        });
    }
    usage(run, log, found);
}

/// Tokens and money: the last total that was told. A request that was cut off after it can only add to it.
fn usage(run: &RunEvidence, log: &EventLog, found: &mut Discrepancies) {
    let said = &run.manifest.metadata.usage;
    let mut totals = log.events.iter().filter_map(|event| match &event.body {
        EventBody::Usage { total } => Some(total),
        _ => None,
    });
    let Some(told) = totals.next_back() else {
        let nothing = UsageTotals { cost_usd: said.cost_usd.filter(|cost| *cost > 0.0), ..said.clone() };
        found.expect(nothing == UsageTotals::default(), Kind::Usage, "metadata.usage", || {
            "tokens are counted, and no event tells of any".to_owned()
        });
        return;
    };
    // Whoever was killed did not get to write the last total down.
    if run.manifest.status == RunStatus::Interrupted {
        return;
    }
    for (name, said, told) in [
        ("input", said.input, told.input),
        ("cached", said.cached, told.cached),
        ("output", said.output, told.output),
        ("reasoning", said.reasoning, told.reasoning),
    ] {
        found.same(Kind::Usage, format!("metadata.usage.{name}"), &said, &told, "the event log");
    }
    let cost = |usage: &UsageTotals| usage.cost_usd.map(|cost| (cost * 1e9).round());
    found.expect(cost(said) == cost(told), Kind::Usage, "metadata.usage.cost_usd", || {
        format!("the manifest says {}, the event log {}", in_words(&said.cost_usd), in_words(&told.cost_usd))
    });
}
