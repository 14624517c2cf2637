//! Data that leaves: something worth stealing and a way out, close to each other.

use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::EthicsCheckResult;
use crate::change::FileChangeLines;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::RulePatternSet;

struct ExfiltrationTable {
    sources: RulePatternSet,
    sinks: RulePatternSet,
    direct: RulePatternSet,
    distance: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExfiltrationFile {
    sources: Vec<String>,
    sinks: Vec<String>,
    direct: Vec<String>,
    distance: usize,
}

static TABLE: LazyLock<Result<ExfiltrationTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/exfiltration.toml")));

fn load(text: &str) -> Result<ExfiltrationTable, String> {
    let file: ExfiltrationFile = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(ExfiltrationTable {
        sources: RulePatternSet::new(&file.sources)?,
        sinks: RulePatternSet::new(&file.sinks)?,
        direct: RulePatternSet::new(&file.direct)?,
        distance: file.distance,
    })
}

/// Places where keys, logins or the whole environment are sent away.
pub(super) fn check(files: &[FileChangeLines]) -> EthicsCheckResult {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.place.docs && !file.place.lock) {
        let lines = || file.added.iter().enumerate().filter(|(_, line)| !line.comment);
        let places = |set: &RulePatternSet| -> Vec<usize> {
            lines().filter(|(_, line)| set.is_match(&line.text)).map(|(index, _)| index).collect()
        };
        let mut hits = places(&table.direct);
        let sources = places(&table.sources);
        if !sources.is_empty() {
            let sinks = places(&table.sinks);
            // Both lists are in order, so the nearest way out is found by halving.
            hits.extend(sources.into_iter().filter(|source| {
                let next = sinks.partition_point(|sink| sink < source);
                let near =
                    |at: Option<&usize>| at.is_some_and(|sink| sink.abs_diff(*source) <= table.distance);
                near(sinks.get(next)) || near(next.checked_sub(1).and_then(|before| sinks.get(before)))
            }));
        }
        hits.sort_unstable();
        hits.dedup();
        for line in hits.into_iter().filter_map(|index| file.added.get(index)) {
            let what = "sends keys, logins or the environment away";
            let finding =
                EthicsFinding::new(EthicsCheckId::Commands, "exfiltration", RiskLevel::Critical, what);
            found.push(finding.at(&file.path, line.number));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_table_is_sound() {
        super::load(include_str!("../../../../rules/ethics/exfiltration.toml")).unwrap();
    }
}
