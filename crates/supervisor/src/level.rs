//! L0: how closely a run is watched, resolved once and never changed by the run itself.

use holon_core::spec::Supervision;
use serde::{Deserialize, Serialize};

/// How much the supervisor may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing but a plan to look at.
    Off,
    /// Trust, watch, take over when lost, hand back.
    #[default]
    Adaptive,
    /// Everything by the plan from the first round; never a takeover.
    Strict,
}

impl Level {
    /// Whether the execution mode is decided at all; otherwise it stays free.
    pub const fn decides_mode(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether forced is the lowest there is.
    pub const fn floor_is_forced(self) -> bool {
        matches!(self, Self::Strict)
    }

    /// Whether a run whose intent uses graphs has one from its first round on.
    pub const fn graph_at_first_round(self, strict_wants_it: bool) -> bool {
        match self {
            Self::Off => true,
            Self::Adaptive => false,
            Self::Strict => strict_wants_it,
        }
    }

    /// Whether deviations are watched and told.
    pub const fn observes(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether the supervisor may take over.
    pub const fn takes_over(self) -> bool {
        matches!(self, Self::Adaptive)
    }

    /// Whether there is anything to run as a shadow.
    pub const fn can_shadow(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// The name used in configuration and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Adaptive => "adaptive",
            Self::Strict => "strict",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::Adaptive, Self::Strict].into_iter().find(|level| level.name() == name)
    }
}

impl From<Supervision> for Level {
    fn from(asked: Supervision) -> Self {
        match asked {
            Supervision::Off => Self::Off,
            Supervision::Adaptive => Self::Adaptive,
            Supervision::Strict => Self::Strict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// decides mode, floor, graph in round 1, observes, takes over, can shadow
    fn check(level: Level, expect: [bool; 6]) {
        let found = [
            level.decides_mode(),
            level.floor_is_forced(),
            level.graph_at_first_round(true),
            level.observes(),
            level.takes_over(),
            level.can_shadow(),
        ];
        assert_eq!(found, expect, "{level:?}");
        assert_eq!(Level::from_name(level.name()), Some(level));
    }

    #[test]
    fn the_table_of_levels() {
        check(Level::Off, [false, false, true, false, false, false]);
        check(Level::Adaptive, [true, false, false, true, true, true]);
        check(Level::Strict, [true, true, true, true, false, true]);
        assert!(!Level::Strict.graph_at_first_round(false));
        assert!(Level::Off.graph_at_first_round(false));
        assert_eq!(Level::default(), Level::Adaptive);
        assert_eq!(Level::from_name("shadow"), None);
        assert_eq!(Level::from(Supervision::Strict), Level::Strict);
        assert_eq!(Level::from(Supervision::Off), Level::Off);
        assert_eq!(Level::from(Supervision::Adaptive), Level::Adaptive);
    }
}
