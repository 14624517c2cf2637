//! A state with its ledger and, when asked for, its shadow: what a loop holds.

use crate::config::{SupervisorConfig, SupervisorConfigError};
use crate::effect::SupervisorEffect;
use crate::event::SupervisorEvent;
use crate::ledger::EvidenceLedger;
use crate::level::SupervisorLevel;
use crate::reducer::step;
use crate::shadow::Shadow;
use crate::state::SupervisorState;

/// The supervisor of one run.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    state: SupervisorState,
    ledger: EvidenceLedger,
    shadow: Option<Shadow>,
}

impl Supervisor {
    /// For a new run. With `shadow` the run itself is left alone and the level only watches.
    pub fn new(config: SupervisorConfig) -> Result<Self, SupervisorConfigError> {
        config.check()?;
        if config.shadow {
            let alone = SupervisorConfig { level: SupervisorLevel::Off, ..config.clone() };
            return Ok(Self {
                state: SupervisorState::new(alone),
                ledger: EvidenceLedger::default(),
                shadow: Some(Shadow::new(config)),
            });
        }
        Ok(Self { state: SupervisorState::new(config), ..Self::default() })
    }

    /// Goes on with what was stored; to be followed by [`crate::SupervisorFact::CheckpointResumed`].
    pub fn resume(state: SupervisorState, ledger: EvidenceLedger, shadow: Option<Shadow>) -> Self {
        Self { state, ledger, shadow }
    }

    /// Tells a fact; what comes back has to be done, in order.
    pub fn feed(&mut self, event: &SupervisorEvent) -> Vec<SupervisorEffect> {
        self.ledger.absorb(event);
        let (state, mut effects) = step(std::mem::take(&mut self.state), event);
        self.state = state;
        if let Some(shadow) = &mut self.shadow {
            effects.extend(shadow.observe(event).into_iter().map(SupervisorEffect::Log));
        }
        for effect in effects.iter().filter(|effect| !matches!(effect, SupervisorEffect::Log(_))) {
            tracing::debug!(?effect, "decides");
        }
        effects
    }

    /// The state, to be stored.
    pub const fn state(&self) -> &SupervisorState {
        &self.state
    }

    /// The ledger, to be stored.
    pub const fn ledger(&self) -> &EvidenceLedger {
        &self.ledger
    }

    /// The shadow, to be stored.
    pub const fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }
}
