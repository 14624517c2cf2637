//! What a mode may do: taken from its profile, made smaller by whoever started it, never larger.

use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::duration::HumanDuration;
use crate::mode::{NetworkReach, Profile};

/// How deep children may have children.
pub const MAX_DEPTH: u32 = 3;
/// How many children one piece of work may have, retries included.
pub const MAX_CHILDREN: u32 = 16;

/// What one request may do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permissions {
    /// What may be written, and what of it leaves.
    pub access: Access,
    /// What tools can reach.
    pub network: NetworkReach,
    /// Money.
    pub cost_usd: f64,
    /// Wall time.
    pub timeout: HumanDuration,
    /// Turns of the model.
    pub rounds: u64,
    /// Modes it may start.
    pub starts: Vec<String>,
}

impl Permissions {
    /// What a mode may do at most.
    pub fn of(profile: &Profile) -> Self {
        Self {
            access: profile.access.clone(),
            network: profile.network,
            cost_usd: profile.limits.cost_usd,
            timeout: profile.limits.timeout,
            rounds: profile.limits.rounds,
            starts: starts(&profile.name).iter().map(|mode| (*mode).to_owned()).collect(),
        }
    }

    /// The same with what is left of a shared budget; neither amount grows.
    #[must_use]
    pub fn within(mut self, money: Option<f64>, time: Option<HumanDuration>) -> Self {
        if let Some(money) = money {
            // An amount that compares with nothing is no money.
            self.cost_usd = if money >= 0.0 { self.cost_usd.min(money) } else { 0.0 };
        }
        if let Some(time) = time {
            self.timeout = self.timeout.min(time);
        }
        self
    }

    /// Whether nothing in here goes beyond `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        self.access.is_within(&other.access)
            && self.network <= other.network
            && self.cost_usd <= other.cost_usd
            && self.timeout <= other.timeout
            && self.rounds <= other.rounds
            && self.starts.iter().all(|mode| other.starts.contains(mode))
    }
}

/// Whether work in one mode may start work in another.
pub fn may_start(parent: &str, child: &str) -> bool {
    starts(parent).contains(&child)
}

fn starts(mode: &str) -> &'static [&'static str] {
    match mode {
        "orchestrate" => &["architect", "execute", "review", "debug", "ethical"],
        "execute" => &["review", "ethical"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::mode::ModeCatalog;

    const SIX: [&str; 6] = ["orchestrate", "architect", "execute", "review", "debug", "ethical"];

    #[test]
    fn inv_11_whoever_asks_a_child_has_the_rights_of_its_mode_and_no_more() {
        let catalog = ModeCatalog::builtin().unwrap();
        for parent in SIX {
            for child in SIX {
                let own = Permissions::of(&catalog.resolve(child).unwrap());
                // What a parent has to give is far more than the child's mode allows, and gives nothing.
                let parent_has = Permissions::of(&catalog.resolve(parent).unwrap());
                let given = own
                    .clone()
                    .within(Some(parent_has.cost_usd * 1000.0), Some(HumanDuration::from_secs(1 << 20)));
                assert!(given.is_within(&own), "{parent} asks {child}: {given:?}");
                assert_eq!(given.access, own.access, "{parent} asks {child}");
            }
        }
    }

    #[test]
    fn only_the_edges_there_are_can_be_taken() {
        let allowed: Vec<(&str, &str)> = SIX
            .iter()
            .flat_map(|parent| SIX.iter().map(move |child| (*parent, *child)))
            .filter(|(parent, child)| may_start(parent, child))
            .collect();
        assert_eq!(
            allowed,
            [
                ("orchestrate", "architect"),
                ("orchestrate", "execute"),
                ("orchestrate", "review"),
                ("orchestrate", "debug"),
                ("orchestrate", "ethical"),
                ("execute", "review"),
                ("execute", "ethical"),
            ]
        );
    }

    proptest! {
        #[test]
        fn a_budget_never_widens(money in prop::option::of(-5.0f64..50.0), seconds in prop::option::of(0u64..100_000), mode in 0usize..6) {
            let own = Permissions::of(&ModeCatalog::builtin().unwrap().resolve(SIX[mode]).unwrap());
            let given = own.clone().within(money, seconds.map(HumanDuration::from_secs));
            prop_assert!(given.is_within(&own));
            prop_assert!(given.cost_usd >= 0.0);
        }
    }
}
