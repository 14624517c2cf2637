//! L0: how closely a run is watched, resolved once and never changed by the run itself.

use holon_core::spec::SpecSupervision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much the supervisor may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SupervisorLevel")]
pub enum SupervisorLevel {
    /// Nothing but a plan to look at.
    Off,
    /// Watches and speaks; denies nothing, stops nothing.
    Advise,
    /// Trusts, watches, speaks, takes over when that does not help, hands back, stops for a person.
    #[default]
    Adaptive,
    /// The same with proof: a plan, checks at milestones, less patience.
    Strict,
}

impl SupervisorLevel {
    const ALL: [Self; 4] = [Self::Off, Self::Advise, Self::Adaptive, Self::Strict];

    /// Whether deviations are watched, and may be spoken of.
    pub const fn speaks(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether it may deny, take over and stop.
    pub const fn acts(self) -> bool {
        matches!(self, Self::Adaptive | Self::Strict)
    }

    /// Whether checks are run at milestones, and a plan is wanted first.
    pub const fn wants_proof(self) -> bool {
        matches!(self, Self::Strict)
    }

    /// Whether a run whose intent uses graphs has one from its first round on.
    pub const fn graph_at_first_round(self, strict_wants_it: bool) -> bool {
        match self {
            Self::Off => true,
            Self::Advise | Self::Adaptive => false,
            Self::Strict => strict_wants_it,
        }
    }

    /// Whether there is anything to run as a shadow.
    pub const fn can_shadow(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// The name used in configuration and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Advise => "advise",
            Self::Adaptive => "adaptive",
            Self::Strict => "strict",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl From<SpecSupervision> for SupervisorLevel {
    fn from(asked: SpecSupervision) -> Self {
        match asked {
            SpecSupervision::Off => Self::Off,
            SpecSupervision::Advise => Self::Advise,
            SpecSupervision::Adaptive => Self::Adaptive,
            SpecSupervision::Strict => Self::Strict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// speaks, acts, wants proof, graph in round 1, can shadow
    fn check(level: SupervisorLevel, expect: [bool; 5]) {
        let found = [
            level.speaks(),
            level.acts(),
            level.wants_proof(),
            level.graph_at_first_round(true),
            level.can_shadow(),
        ];
        assert_eq!(found, expect, "{level:?}");
        assert_eq!(SupervisorLevel::from_name(level.name()), Some(level));
    }

    #[test]
    fn the_table_of_levels() {
        check(SupervisorLevel::Off, [false, false, false, true, false]);
        check(SupervisorLevel::Advise, [true, false, false, false, true]);
        check(SupervisorLevel::Adaptive, [true, true, false, false, true]);
        check(SupervisorLevel::Strict, [true, true, true, true, true]);
        assert!(!SupervisorLevel::Strict.graph_at_first_round(false));
        assert!(SupervisorLevel::Off.graph_at_first_round(false));
        assert!(
            SupervisorLevel::Off < SupervisorLevel::Advise
                && SupervisorLevel::Advise < SupervisorLevel::Adaptive
                && SupervisorLevel::Adaptive < SupervisorLevel::Strict
        );
        assert_eq!(SupervisorLevel::default(), SupervisorLevel::Adaptive);
        assert_eq!(SupervisorLevel::from_name("shadow"), None);
        for (asked, level) in [
            (SpecSupervision::Off, SupervisorLevel::Off),
            (SpecSupervision::Advise, SupervisorLevel::Advise),
            (SpecSupervision::Adaptive, SupervisorLevel::Adaptive),
            (SpecSupervision::Strict, SupervisorLevel::Strict),
        ] {
            assert_eq!(SupervisorLevel::from(asked), level);
        }
    }
}
