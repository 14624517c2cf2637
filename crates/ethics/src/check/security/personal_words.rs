//! The words of `personal-flow.toml`, ready to be looked for.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::pattern::RulePattern;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonalFlowFile {
    ordinary: String,
    special: String,
    person: String,
    bulk: String,
    harmless: String,
    logs: String,
    logs_bare: String,
    telemetry: String,
    sends: String,
    brokers: String,
    public_files: String,
    writes: String,
    query: String,
    vendors: String,
    query_calls: String,
}

/// The words that people's data, and the places it goes to, are known by.
pub(super) struct PersonalFlowTable {
    pub(super) ordinary: RulePattern,
    pub(super) special: RulePattern,
    pub(super) person: RulePattern,
    pub(super) bulk: RulePattern,
    pub(super) harmless: RulePattern,
    pub(super) logs: RulePattern,
    pub(super) logs_bare: RulePattern,
    pub(super) telemetry: RulePattern,
    pub(super) sends: RulePattern,
    pub(super) brokers: RulePattern,
    pub(super) public_files: RulePattern,
    pub(super) writes: RulePattern,
    pub(super) query: RulePattern,
    pub(super) vendors: RulePattern,
    pub(super) query_calls: RulePattern,
}

pub(super) static TABLE: LazyLock<Result<PersonalFlowTable, String>> = LazyLock::new(load);

fn load() -> Result<PersonalFlowTable, String> {
    let file: PersonalFlowFile =
        toml::from_str(include_str!("../../../../../rules/ethics/personal-flow.toml"))
            .map_err(|e| e.to_string())?;
    Ok(PersonalFlowTable {
        ordinary: RulePattern::new(&file.ordinary)?,
        special: RulePattern::new(&file.special)?,
        person: RulePattern::new(&file.person)?,
        bulk: RulePattern::new(&file.bulk)?,
        harmless: RulePattern::new(&file.harmless)?,
        logs: RulePattern::new(&file.logs)?,
        logs_bare: RulePattern::new(&file.logs_bare)?,
        telemetry: RulePattern::new(&file.telemetry)?,
        sends: RulePattern::new(&file.sends)?,
        brokers: RulePattern::new(&file.brokers)?,
        public_files: RulePattern::new(&file.public_files)?,
        writes: RulePattern::new(&file.writes)?,
        query: RulePattern::new(&file.query)?,
        vendors: RulePattern::new(&file.vendors)?,
        query_calls: RulePattern::new(&file.query_calls)?,
    })
}
