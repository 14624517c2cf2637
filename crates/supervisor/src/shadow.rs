//! A shadow: the same reducer on a second state that does advance. What it decides is told and never done.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Config;
use crate::effect::{Effect, Verdict};
use crate::event::Event;
use crate::reducer::step;
use crate::state::State;
use crate::timeline::{Kind, Record};

/// The second state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Shadow {
    state: State,
}

impl Shadow {
    /// A shadow with these settings.
    pub fn new(config: Config) -> Self {
        Self { state: State::observing(config) }
    }

    /// Lets it see a fact; what it would have done comes back as records, and only so.
    pub fn observe(&mut self, event: &Event) -> Vec<Record> {
        let over = self.state.stopped().is_some();
        let (state, effects) = step(std::mem::take(&mut self.state), event);
        self.state = state;
        // After its own end it would no longer be there.
        if over && self.state.stopped().is_some() {
            return Vec::new();
        }
        effects.iter().filter_map(|effect| self.tell(event.ts, effect)).collect()
    }

    /// What it thinks.
    pub const fn state(&self) -> &State {
        &self.state
    }

    fn tell(&self, ts: u64, effect: &Effect) -> Option<Record> {
        let (reason, payload) = match effect {
            Effect::Gate(gate) if gate.verdict == Verdict::Allow => return None,
            // Every record of its own stands for an effect that is told here.
            Effect::Log(record) if record.event != Kind::Drift => return None,
            Effect::Log(record) => (record.reason.clone(), record.payload.clone()),
            Effect::Gate(gate) => ("gate".to_owned(), json!(gate)),
            Effect::Phase(change) => (change.reason.clone(), json!(change)),
            Effect::Correct(correction) => ("correction".to_owned(), json!(correction)),
            Effect::Graph(_) => {
                ("graph".to_owned(), json!({"progress": self.state.graph().map(|g| g.progress())}))
            }
            Effect::Check { command } => ("check".to_owned(), json!({"command": command})),
            Effect::Stop(stop) => ("stop".to_owned(), json!(stop)),
        };
        Some(Record {
            ts,
            run: self.state.run.clone(),
            round: self.state.round(),
            level: self.state.level(),
            mode: self.state.mode(),
            phase: self.state.phase(),
            event: Kind::ShadowDiagnostic,
            reason: format!("shadow:{reason}"),
            payload,
        })
    }
}
