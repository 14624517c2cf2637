//! The goal itself: harm that it asks for in so many words.

use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::{EthicsCheckResult, secrets as shapes};
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::RulePattern;

struct HarmfulGoalTable {
    makes: RulePattern,
    harm: RulePattern,
    acts: RulePattern,
    defence: RulePattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HarmfulGoalFile {
    makes: String,
    harm: String,
    acts: String,
    defence: String,
}

static TABLE: LazyLock<Result<HarmfulGoalTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/goal.toml")));

fn load(text: &str) -> Result<HarmfulGoalTable, String> {
    let file: HarmfulGoalFile = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(HarmfulGoalTable {
        makes: RulePattern::new(&file.makes)?,
        harm: RulePattern::new(&file.harm)?,
        acts: RulePattern::new(&file.acts)?,
        defence: RulePattern::new(&file.defence)?,
    })
}

/// Sentences of the goal that ask for harm.
pub(super) fn check(goal: &str) -> EthicsCheckResult {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    let flat = goal.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in flat.split(['.', '!', '?', ';']) {
        let asks = (table.makes.is_match(sentence) && table.harm.is_match(sentence))
            || table.acts.is_match(sentence);
        if asks && !table.defence.is_match(sentence) {
            let what = "the goal asks for something that does harm";
            found.push(
                EthicsFinding::new(EthicsCheckId::Goal, "harmful-goal", RiskLevel::High, what).at("goal", 0),
            );
        }
    }
    Ok(found)
}

/// Credentials in the goal: they would be written into prompts and logs.
pub(super) fn secrets(goal: &str) -> EthicsCheckResult {
    let hits = shapes::in_text(goal)?.into_iter().map(|(rule, value)| {
        let what = format!("the goal holds a credential ({rule})");
        EthicsFinding::new(EthicsCheckId::Secrets, &rule, RiskLevel::High, what).at("goal", 0).hiding(&value)
    });
    Ok(hits.collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_table_is_sound() {
        super::load(include_str!("../../../../rules/ethics/goal.toml")).unwrap();
    }
}
