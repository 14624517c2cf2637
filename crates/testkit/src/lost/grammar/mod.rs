//! Agents made from a grammar: the same for the same seed, and other words, lengths and languages for every other.

mod chores;
mod healthy;
mod long;
mod lost;
mod words;
mod world;

use super::script::AgentScript;

/// All scripts of a seed: one of each family.
pub fn scripts(seed: u64) -> Vec<AgentScript> {
    let lost = lost::FAMILIES.iter().enumerate().map(|(at, family)| lost::make(seed, at, family));
    let after = lost::FAMILIES.len();
    let healthy =
        healthy::FAMILIES.iter().enumerate().map(|(at, family)| healthy::make(seed, after + at, family));
    lost.chain(healthy).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::lost::script::turns;

    #[test]
    fn every_seed_gives_every_family_and_the_same_one_the_same() {
        for seed in 0..50 {
            let made = scripts(seed);
            assert_eq!(made.iter().filter(|script| script.is_lost()).count(), lost::FAMILIES.len());
            assert_eq!(made.len(), lost::FAMILIES.len() + healthy::FAMILIES.len());
            for (script, again) in made.iter().zip(scripts(seed)) {
                assert_eq!(format!("{script:?}"), format!("{again:?}"));
                let mut lengths = [&script.opening, &script.circle, &script.repair].map(|part| {
                    turns(part, 3).unwrap_or_else(|error| panic!("{}: {error}\n{part}", script.name)).len()
                });
                lengths[1] *= 10;
                let rounds: usize = lengths[..2].iter().sum();
                assert!((10..=200).contains(&rounds), "{}: {rounds} rounds", script.name);
            }
        }
        assert_ne!(format!("{:?}", scripts(1)), format!("{:?}", scripts(2)));
        let languages: BTreeSet<String> = scripts(7).into_iter().map(|script| script.language).collect();
        assert!(languages.len() >= 8, "{languages:?}");
    }
}
