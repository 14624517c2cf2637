//! Degraded tiers, enforced: graph → step_queue → write_intent → human. A failing plan never leads back to free.

use serde::{Deserialize, Serialize};

use crate::goal;

/// Rounds write_intent may last without a verified success.
const WRITE_INTENT_ROUNDS: u32 = 4;

/// How much of a plan is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// A graph with its branches, or none needed yet.
    #[default]
    Graph,
    /// The remaining steps in one line, one at a time.
    StepQueue,
    /// Writes go to named paths only.
    WriteIntent,
    /// A person has to look.
    Human,
}

impl Tier {
    /// The name, as in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::StepQueue => "step_queue",
            Self::WriteIntent => "write_intent",
            Self::Human => "human",
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::Graph => Self::StepQueue,
            Self::StepQueue => Self::WriteIntent,
            Self::WriteIntent | Self::Human => Self::Human,
        }
    }
}

/// The tier and how long it has lasted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierState {
    tier: Tier,
    rounds: u32,
}

impl TierState {
    /// What holds.
    pub const fn tier(&self) -> Tier {
        self.tier
    }

    /// One step down.
    pub(crate) fn lower(&mut self) -> Tier {
        *self = Self { tier: self.tier.next(), rounds: 0 };
        self.tier
    }

    /// Back to the top: something was verified, or the model leads again. Whether that is a change.
    pub(crate) fn reset(&mut self) -> bool {
        std::mem::take(self).tier != Tier::Graph
    }

    /// A round is over; whether the tier has had its time.
    pub(crate) fn end_round(&mut self) -> bool {
        self.rounds = self.rounds.saturating_add(1);
        self.tier == Tier::WriteIntent && self.rounds >= WRITE_INTENT_ROUNDS
    }

    /// The first target that may not be written, if writing is limited to named paths.
    pub(crate) fn forbidden<'a>(&self, targets: &'a [String], named: &[String]) -> Option<&'a str> {
        if self.tier != Tier::WriteIntent {
            return None;
        }
        targets.iter().find(|target| !goal::is_named(target, named)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn down_step_by_step_and_up_at_once() {
        let mut state = TierState::default();
        assert!(!state.reset());
        let down: Vec<Tier> = (0..4).map(|_| state.lower()).collect();
        assert_eq!(down, [Tier::StepQueue, Tier::WriteIntent, Tier::Human, Tier::Human]);
        assert!(state.reset());
        assert_eq!(state, TierState::default());
        assert_eq!(down.map_names(), ["step_queue", "write_intent", "human", "human"]);
    }

    trait Names {
        fn map_names(&self) -> Vec<&'static str>;
    }

    impl Names for Vec<Tier> {
        fn map_names(&self) -> Vec<&'static str> {
            self.iter().map(|tier| tier.name()).collect()
        }
    }

    #[test]
    fn write_intent_lasts_four_rounds() {
        let mut state = TierState::default();
        assert!((0..9).all(|_| !state.end_round()));
        state.lower();
        assert!((0..9).all(|_| !state.end_round()));
        state.lower();
        let spent: Vec<bool> = (0..4).map(|_| state.end_round()).collect();
        assert_eq!(spent, [false, false, false, true]);
    }

    #[test]
    fn write_intent_knows_named_paths() {
        let named = ["src/a.rs".to_owned(), "docs/".to_owned()];
        let mut state = TierState { tier: Tier::WriteIntent, rounds: 0 };
        let check = |state: &TierState, target: &str, expect: Option<&str>| {
            assert_eq!(state.forbidden(&[target.to_owned()], &named), expect);
        };
        check(&state, "src/a.rs", None);
        check(&state, "docs/x/y.md", None);
        check(&state, "src/b.rs", Some("src/b.rs"));
        let both = ["src/a.rs".to_owned(), "b".to_owned()];
        assert_eq!(state.forbidden(&both, &named), Some("b"));
        for tier in [Tier::Graph, Tier::StepQueue, Tier::Human] {
            state.tier = tier;
            check(&state, "src/b.rs", None);
        }
    }
}
