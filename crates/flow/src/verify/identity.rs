//! Which run it is: id, mode, agent and times, as the folder, the record and the first event know them.

use holon_core::event::EventBody;
use holon_core::ids::RunId;
use holon_core::manifest::SCHEMA_VERSION;
use jiff::Timestamp;

use super::discrepancy::{Discrepancies, DiscrepancyKind as Kind};
use super::evidence::{EvidenceLayout, RunEvidence};

/// What the clock of a machine may be set by while a run goes on, before its times count as false.
const CLOCK_SLACK_MS: i64 = 5_000;
/// Between a run's beginning and the second in its id there is the resolving of what was asked.
const RESOLVING_MS: i64 = 10 * 60 * 1000;

pub(super) fn check(run: &RunEvidence, found: &mut Discrepancies) {
    let manifest = &run.manifest;
    found.same(
        Kind::Form,
        "schema_version",
        manifest.schema_version.as_str(),
        SCHEMA_VERSION,
        "what this version reads",
    );
    let id = manifest.run_id.as_str();
    // A folder may be copied under any name, but not under that of another run.
    if run.layout == EvidenceLayout::Store && run.folder_name.parse::<RunId>().is_ok() {
        found.same(Kind::RunId, "run_id", id, run.folder_name.as_str(), "the name of its folder");
    }
    found.same(
        Kind::Mode,
        "metadata.mode",
        manifest.metadata.mode.as_str(),
        manifest.mode.as_str(),
        "its own field `mode`",
    );
    if let Some(record) = &run.record {
        found.same(Kind::RunId, "run_id", id, record.id.as_str(), "run.json");
        found.same(Kind::Mode, "mode", &manifest.mode, &record.mode, "run.json");
        found.same(Kind::Time, "started_at", &manifest.started_at, &record.started_at, "run.json");
        found.same(
            Kind::Agent,
            "metadata.agent.name",
            &manifest.metadata.agent.name,
            &record.agent,
            "run.json",
        );
    }
    first_event(run, found);
    times(run, found);
}

/// What was told when the run began.
fn first_event(run: &RunEvidence, found: &mut Discrepancies) {
    let Some(first) = run.events.as_ref().and_then(|log| log.events.first()) else { return };
    found.same(Kind::RunId, "run_id", run.manifest.run_id.as_str(), first.run.as_str(), "the first event");
    let EventBody::RunStarted { mode, agent, .. } = &first.body else {
        found.add(Kind::Events, "evidence/events.jsonl", "the first event does not tell of a run that began");
        return;
    };
    found.same(Kind::Mode, "mode", &run.manifest.mode, mode, "the first event");
    found.same(
        Kind::Agent,
        "metadata.agent.name",
        &run.manifest.metadata.agent.name,
        agent,
        "the first event",
    );
}

/// Whether the times could be those of one run.
fn times(run: &RunEvidence, found: &mut Discrepancies) {
    let manifest = &run.manifest;
    let Ok(began) = manifest.started_at.parse::<Timestamp>() else {
        found.add(Kind::Time, "started_at", format!("`{}` is no time", manifest.started_at));
        return;
    };
    if let Some(named) = time_in(manifest.run_id.as_str()) {
        let late = named.as_millisecond() - began.as_millisecond();
        // The id tells whole seconds, and that of a flow or an orchestration is made a moment before its time is taken.
        found.expect((-2_000..=RESOLVING_MS).contains(&late), Kind::Time, "started_at", || {
            format!("it says {began}, the id was made at {named}")
        });
    }
    let events = run.events.as_ref().map(|log| log.events.as_slice()).unwrap_or_default();
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
    let at = |text: &str| text.parse::<Timestamp>().ok().map(|at| at.as_millisecond());
    let (Some(first), Some(last)) = (at(&first.at), at(&last.at)) else { return };
    found.expect(first + CLOCK_SLACK_MS >= began.as_millisecond(), Kind::Time, "started_at", || {
        "it lies after the run's first event".to_owned()
    });
    let took = i64::try_from(manifest.duration_ms).unwrap_or(i64::MAX);
    let between = last - began.as_millisecond();
    found.expect(took <= between.saturating_add(CLOCK_SLACK_MS), Kind::Time, "duration_ms", || {
        format!("it says {took} ms, and the last event came {between} ms after the beginning")
    });
}

/// The time in a run's id.
fn time_in(id: &str) -> Option<Timestamp> {
    let (date, time) = (id.get(..8)?, id.get(9..15)?);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &date[..4],
        &date[4..6],
        &date[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    text.parse().ok()
}
