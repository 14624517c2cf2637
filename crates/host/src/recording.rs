//! What a run's supervisor was told and decided, read back from its events: to be shown, checked and replayed.

use std::fs;
use std::path::Path;

use holon_agent::supervise::InterventionCounts;
use holon_core::event::{EventBody, RunEvent};
use holon_core::redact::Redactor;
use holon_core::spec::SpecSupervision;
use holon_supervisor::replay::replay;
use holon_supervisor::shadow::Shadow;
use holon_supervisor::{
    EvidenceLedger, GateVerdict, Supervisor, SupervisorConfig, SupervisorEffect, SupervisorEvent,
    SupervisorLevel, SupervisorState,
};
use serde_json::{Value, json};

pub use holon_supervisor::graph::{GraphNode, GraphStatus, NodeStatus, TaskGraph};
pub use holon_supervisor::timeline::{TimelineKind, TimelineRecord};

use crate::error::HostError;
use crate::insertions::Insertions;
use crate::store::RunFolder;

/// The supervisor's part of `events.jsonl`.
#[derive(Debug, Default)]
pub struct SupervisorRecording {
    settings: SupervisorConfig,
    resumed: Option<Value>,
    told: Vec<RecordedFact>,
    insertions: Insertions,
}

/// One fact, what it led to, and the records after it.
#[derive(Debug)]
struct RecordedFact {
    fact: Value,
    decisions: Vec<Value>,
    records: Vec<Value>,
}

/// What another level would have done with the same facts.
#[derive(Debug)]
pub struct WhatIf {
    /// Its timeline.
    pub records: Vec<TimelineRecord>,
    /// Calls it would have blocked.
    pub blocked: usize,
    /// Calls it would have let through with a note.
    pub warned: usize,
    /// Texts it would have given to the model.
    pub corrections: usize,
    /// How it would have ended the run, and in which round.
    pub stop: Option<(u32, String)>,
}

impl SupervisorRecording {
    /// Reads it; a run without a supervisor is refused.
    pub fn of(folder: &RunFolder) -> Result<Self, HostError> {
        Self::read(&folder.evidence().join("events.jsonl"))
    }

    /// Reads it from a file of events.
    pub fn read(path: &Path) -> Result<Self, HostError> {
        let text = fs::read_to_string(path).map_err(HostError::io("read", path))?;
        let mut recording = Self::default();
        for line in text.lines() {
            // A line that is cut off is the last one of a run that was killed.
            let Ok(event) = serde_json::from_str::<RunEvent>(line) else { continue };
            recording.insertions.hear(&event.body);
            match event.body {
                EventBody::Supervised { fact, decisions, settings, resumed } => {
                    if let Some(settings) = settings {
                        recording.settings =
                            serde_json::from_value(settings).map_err(|e| damaged(path, &e))?;
                        recording.resumed = resumed;
                    }
                    recording.told.push(RecordedFact { fact, decisions, records: Vec::new() });
                }
                EventBody::Supervisor { record } => {
                    if let Some(last) = recording.told.last_mut() {
                        last.records.push(record);
                    }
                }
                _ => {}
            }
        }
        if recording.told.is_empty() {
            return Err(HostError::run(
                "this run was not supervised",
                "only those are whose model is reached through Holon; `holon runs show` tells about all others",
            ));
        }
        Ok(recording)
    }

    /// The timeline as it was told.
    pub fn records(&self) -> Vec<TimelineRecord> {
        let records = self.told.iter().flat_map(|told| &told.records);
        records.filter_map(|record| serde_json::from_value(record.clone()).ok()).collect()
    }

    /// Replays the facts and compares every decision, byte for byte; gives their number, or the first difference.
    pub fn verify(&self) -> Result<usize, String> {
        let mut supervisor = self.supervisor().map_err(|e| e.to_string())?;
        let mut checked = 0;
        for (number, told) in self.told.iter().enumerate() {
            let event: SupervisorEvent = serde_json::from_value(told.fact.clone())
                .map_err(|e| format!("fact {} cannot be read: {e}", number + 1))?;
            let effects = supervisor.feed(&event);
            let (records, decisions): (Vec<&SupervisorEffect>, Vec<&SupervisorEffect>) =
                effects.iter().partition(|effect| matches!(effect, SupervisorEffect::Log(_)));
            let records: Vec<Value> = records.iter().filter_map(|effect| record_of(effect)).collect();
            let decisions: Vec<Value> = decisions.iter().map(|effect| value_of(effect)).collect();
            for (what, stored, found) in
                [("decisions", &told.decisions, decisions), ("records", &told.records, records)]
            {
                let (stored, found) = (lines(stored), lines(&found));
                if stored != found {
                    let fact = told.fact["fact"].as_str().unwrap_or_default();
                    return Err(format!(
                        "fact {} ({fact}): the {what} differ\nstored: {stored}\nreplayed: {found}",
                        number + 1
                    ));
                }
                checked += stored.lines().count();
            }
        }
        Ok(checked)
    }

    /// The state all facts lead to.
    pub fn state(&self) -> Result<SupervisorState, HostError> {
        let mut supervisor = self.supervisor()?;
        for event in self.events() {
            supervisor.feed(&event);
        }
        Ok(supervisor.shadow().map_or_else(|| supervisor.state().clone(), |shadow| shadow.state().clone()))
    }

    /// What a manifest has to say about it; nothing for a run that went on from another, whose counts began there.
    pub fn summary(&self) -> Option<Value> {
        if self.resumed.is_some() {
            return None;
        }
        let mut supervisor = self.supervisor().ok()?;
        let mut counts = InterventionCounts::default();
        for event in self.events() {
            supervisor.feed(&event).iter().for_each(|effect| counts.count(effect));
        }
        let mut summary = holon_agent::supervise::summary(&supervisor, &counts);
        if supervisor.state().is_foreign() {
            summary["foreign"] = json!(self.insertions);
        }
        Some(summary)
    }

    /// What was put into the conversation of an agent that thinks inside; nothing for the native one.
    pub fn insertions(&self) -> Option<&Insertions> {
        let foreign = self.told.iter().any(|told| told.fact["foreign"] == true);
        foreign.then_some(&self.insertions)
    }

    /// The last plan, as the facts leave it.
    pub fn graph(&self) -> Option<TaskGraph> {
        self.state().ok()?.graph().cloned()
    }

    /// How closely the run was watched, and whether only as a shadow.
    pub fn level(&self) -> (&'static str, bool) {
        (self.settings.level.name(), self.settings.shadow)
    }

    /// What a level would have done; calls it would have blocked are taken as made.
    pub fn under(&self, level: SpecSupervision) -> Result<WhatIf, HostError> {
        if self.resumed.is_some() {
            return Err(HostError::run(
                "this run went on from another: its beginning is there",
                "ask about the run it went on from",
            ));
        }
        let config =
            SupervisorConfig { level: SupervisorLevel::from(level), shadow: false, ..self.settings.clone() };
        let (state, effects) = replay(SupervisorState::observing(config), &self.events());
        let mut found = WhatIf { records: Vec::new(), blocked: 0, warned: 0, corrections: 0, stop: None };
        for effect in effects {
            match effect {
                SupervisorEffect::Log(record) => found.records.push(record),
                SupervisorEffect::Gate(gate) => match gate.verdict {
                    GateVerdict::Block => found.blocked += 1,
                    GateVerdict::Warn => found.warned += 1,
                    GateVerdict::Allow => {}
                },
                SupervisorEffect::Correct(_) => found.corrections += 1,
                SupervisorEffect::Stop(stop) => {
                    let round = found.records.last().map_or(state.round(), |record| record.round);
                    found.stop.get_or_insert((round, stop.reason));
                }
                SupervisorEffect::Phase(_) | SupervisorEffect::Graph(_) | SupervisorEffect::Check { .. } => {}
            }
        }
        Ok(found)
    }

    fn events(&self) -> Vec<SupervisorEvent> {
        self.told.iter().filter_map(|told| serde_json::from_value(told.fact.clone()).ok()).collect()
    }

    fn supervisor(&self) -> Result<Supervisor, HostError> {
        let broken =
            |e: String| HostError::run(format!("the recording is damaged: {e}"), "choose another run");
        let Some(resumed) = &self.resumed else {
            return Supervisor::new(self.settings.clone()).map_err(|e| broken(e.to_string()));
        };
        let state: SupervisorState =
            serde_json::from_value(resumed["state"].clone()).map_err(|e| broken(e.to_string()))?;
        let shadow: Option<Shadow> =
            serde_json::from_value(resumed["shadow"].clone()).map_err(|e| broken(e.to_string()))?;
        Ok(Supervisor::resume(state, EvidenceLedger::default(), shadow))
    }
}

fn damaged(path: &Path, error: &serde_json::Error) -> HostError {
    HostError::run(format!("{}: {error}", path.display()), "the run store is damaged")
}

fn value_of(effect: &SupervisorEffect) -> Value {
    serde_json::to_value(effect).unwrap_or_default()
}

fn record_of(effect: &SupervisorEffect) -> Option<Value> {
    let SupervisorEffect::Log(record) = effect else { return None };
    serde_json::to_value(record).ok()
}

/// One line each, as they are stored: what is stored was redacted once more, which a text cut short can need.
fn lines(values: &[Value]) -> String {
    let text: String = values.iter().map(|value| format!("{value}\n")).collect();
    Redactor::new(std::iter::empty::<(&str, &str)>()).redact_str(&text)
}
