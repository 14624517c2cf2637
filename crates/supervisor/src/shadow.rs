//! A shadow: the same reducer on a second state that does advance. What it decides is told and never done.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::SupervisorConfig;
use crate::effect::{GateVerdict, SupervisorEffect};
use crate::event::SupervisorEvent;
use crate::reducer::step;
use crate::state::SupervisorState;
use crate::timeline::{TimelineKind, TimelineRecord};

/// The second state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Shadow {
    state: SupervisorState,
}

impl Shadow {
    /// A shadow with these settings.
    pub fn new(config: SupervisorConfig) -> Self {
        Self { state: SupervisorState::observing(config) }
    }

    /// Lets it see a fact; what it would have done comes back as records, and only so.
    pub fn observe(&mut self, event: &SupervisorEvent) -> Vec<TimelineRecord> {
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
    pub const fn state(&self) -> &SupervisorState {
        &self.state
    }

    fn tell(&self, ts: u64, effect: &SupervisorEffect) -> Option<TimelineRecord> {
        let (reason, payload) = match effect {
            SupervisorEffect::Gate(gate) if gate.verdict == GateVerdict::Allow => return None,
            // Every record of its own stands for an effect that is told here.
            SupervisorEffect::Log(record) if record.event != TimelineKind::Drift => return None,
            SupervisorEffect::Log(record) => (record.reason.clone(), record.payload.clone()),
            SupervisorEffect::Gate(gate) => ("gate".to_owned(), json!(gate)),
            SupervisorEffect::Phase(change) => (change.reason.clone(), json!(change)),
            SupervisorEffect::Correct(correction) => ("correction".to_owned(), json!(correction)),
            SupervisorEffect::Graph(_) => {
                ("graph".to_owned(), json!({"progress": self.state.graph().map(|g| g.progress())}))
            }
            SupervisorEffect::Check { command } => ("check".to_owned(), json!({"command": command})),
            SupervisorEffect::Stop(stop) => ("stop".to_owned(), json!(stop)),
        };
        Some(TimelineRecord {
            ts,
            run: self.state.run.clone(),
            round: self.state.round(),
            level: self.state.level(),
            mode: self.state.mode(),
            phase: self.state.phase(),
            event: TimelineKind::ShadowDiagnostic,
            reason: format!("shadow:{reason}"),
            payload,
        })
    }
}
