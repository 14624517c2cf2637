//! A project's own wishes: they can make supervision closer and nothing else.

use toml::Table;

use super::read::{ConfigField, fields, flat};
use super::{SupervisorConfig, SupervisorConfigError};

/// Keys whose higher values bind more; of all other numbers the lower ones do.
const HIGHER_BINDS: [&str; 2] = ["takeover.stability_window", "snapshot.template_graph_min"];

impl SupervisorConfig {
    /// Lays a section over this one that may only tighten; the keys that would have loosened are given back, unused.
    pub fn tighten(&mut self, section: &Table) -> Result<Vec<String>, SupervisorConfigError> {
        let mut loose = Vec::new();
        for (key, value) in flat(section)? {
            let mut wished = self.clone();
            wished.set(&key, &value)?;
            if wished == *self {
                continue;
            }
            if binds_more(self, &wished, &key) {
                *self = wished;
            } else {
                loose.push(format!("supervisor.{key}"));
            }
        }
        Ok(loose)
    }
}

fn binds_more(before: &SupervisorConfig, after: &SupervisorConfig, key: &str) -> bool {
    let (mut before, mut after) = (before.clone(), after.clone());
    let order =
        |before: f64, after: f64| if HIGHER_BINDS.contains(&key) { after > before } else { after < before };
    let find = |config: &mut SupervisorConfig| {
        fields(config).into_iter().find(|(name, _)| *name == key).map(|(_, field)| match field {
            ConfigField::Level(level) => f64::from(*level as u8),
            ConfigField::Contracts(contracts) => f64::from(*contracts as u8),
            ConfigField::Flag(flag) => f64::from(u8::from(*flag)),
            ConfigField::Count(count, _) => f64::from(*count),
            ConfigField::Number(number, ..) => *number,
        })
    };
    let (Some(old), Some(new)) = (find(&mut before), find(&mut after)) else { return false };
    match key {
        // A shadow leaves the run alone: whether that is wanted is not the project's to say.
        "shadow" => false,
        "level" | "contracts" | "strict.first_round_graph" => new > old,
        _ => order(old, new),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::ContractMode;
    use crate::level::SupervisorLevel;

    fn check(section: &str, loose: &[&str]) -> SupervisorConfig {
        let mut config = SupervisorConfig::default();
        let found = config.tighten(&section.parse().unwrap()).unwrap();
        assert_eq!(found, loose, "{section}");
        config
    }

    #[test]
    fn only_what_binds_more_counts() {
        assert_eq!(check("level = 'strict'", &[]).level, SupervisorLevel::Strict);
        assert_eq!(check("level = 'off'", &["supervisor.level"]).level, SupervisorLevel::Adaptive);
        assert!(!check("shadow = true", &["supervisor.shadow"]).shadow);
        assert_eq!(check("level = 'advise'", &["supervisor.level"]).level, SupervisorLevel::Adaptive);
        assert_eq!(check("contracts = 'enforce'", &[]).contracts, ContractMode::Enforce);
        assert_eq!(check("[takeover]\nmax_rounds = 2", &[]).takeover.max_rounds, 2);
        let loose = check("[takeover]\nmax_rounds = 9", &["supervisor.takeover.max_rounds"]);
        assert_eq!(loose.takeover.max_rounds, 8);
        assert_eq!(check("[takeover]\nstability_window = 9", &[]).takeover.stability_window, 9);
        let loose = check("[takeover]\nstability_window = 1", &["supervisor.takeover.stability_window"]);
        assert_eq!(loose.takeover.stability_window, 3);
        let first = check("[strict]\nfirst_round_graph = false", &["supervisor.strict.first_round_graph"]);
        assert!(first.strict.first_round_graph);
    }

    #[test]
    fn a_preset_is_weighed_key_by_key() {
        let config = check("preset = 'strict-ci'", &[]);
        assert_eq!((config.level, config.strict.max_rounds), (SupervisorLevel::Strict, 4));
        let config = check("preset = 'aggressive'", &[]);
        assert_eq!(config.triggers.no_progress, 4);
        let mut config = SupervisorConfig::default();
        assert!(!config.tighten(&"preset = 'lenient'".parse().unwrap()).unwrap().is_empty());
        assert_eq!(config, SupervisorConfig::default());
    }

    #[test]
    fn what_is_wrong_is_said_and_not_passed_over() {
        let wrong = |section: &str| {
            SupervisorConfig::default().tighten(&section.parse().unwrap()).unwrap_err().to_string()
        };
        assert!(wrong("levle = 'strict'").contains("supervisor.levle"));
        assert!(wrong("level = 7").contains("supervisor.level"));
        assert!(wrong("preset = 'nope'").contains("supervisor.preset"));
        assert!(wrong("[takeover]\nmax_rounds = 0").contains("supervisor.takeover.max_rounds"));
    }
}
