//! A state with its ledger and, when asked for, its shadow: what a loop holds.

use crate::config::{Config, ConfigError};
use crate::effect::Effect;
use crate::event::Event;
use crate::ledger::Ledger;
use crate::level::Level;
use crate::reducer::step;
use crate::shadow::Shadow;
use crate::state::State;

/// The supervisor of one run.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    state: State,
    ledger: Ledger,
    shadow: Option<Shadow>,
}

impl Supervisor {
    /// For a new run. With `shadow` the run itself is left alone and the level only watches.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        if config.shadow {
            let alone = Config { level: Level::Off, ..config.clone() };
            return Ok(Self {
                state: State::new(alone),
                ledger: Ledger::default(),
                shadow: Some(Shadow::new(config)),
            });
        }
        Ok(Self { state: State::new(config), ..Self::default() })
    }

    /// Goes on with what was stored; to be followed by [`crate::Fact::CheckpointResumed`].
    pub fn resume(state: State, ledger: Ledger, shadow: Option<Shadow>) -> Self {
        Self { state, ledger, shadow }
    }

    /// Tells a fact; what comes back has to be done, in order.
    pub fn feed(&mut self, event: &Event) -> Vec<Effect> {
        self.ledger.absorb(event);
        let (state, mut effects) = step(std::mem::take(&mut self.state), event);
        self.state = state;
        if let Some(shadow) = &mut self.shadow {
            effects.extend(shadow.observe(event).into_iter().map(Effect::Log));
        }
        effects
    }

    /// The state, to be stored.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The ledger, to be stored.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The shadow, to be stored.
    pub const fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_ref()
    }
}
