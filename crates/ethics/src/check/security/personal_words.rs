//! The words of `personal-flow.toml`, ready to be looked for.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::pattern::Pattern;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
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
pub(super) struct Table {
    pub(super) ordinary: Pattern,
    pub(super) special: Pattern,
    pub(super) person: Pattern,
    pub(super) bulk: Pattern,
    pub(super) harmless: Pattern,
    pub(super) logs: Pattern,
    pub(super) logs_bare: Pattern,
    pub(super) telemetry: Pattern,
    pub(super) sends: Pattern,
    pub(super) brokers: Pattern,
    pub(super) public_files: Pattern,
    pub(super) writes: Pattern,
    pub(super) query: Pattern,
    pub(super) vendors: Pattern,
    pub(super) query_calls: Pattern,
}

pub(super) static TABLE: LazyLock<Result<Table, String>> = LazyLock::new(load);

fn load() -> Result<Table, String> {
    let file: File = toml::from_str(include_str!("../../../../../rules/ethics/personal-flow.toml"))
        .map_err(|e| e.to_string())?;
    Ok(Table {
        ordinary: Pattern::new(&file.ordinary)?,
        special: Pattern::new(&file.special)?,
        person: Pattern::new(&file.person)?,
        bulk: Pattern::new(&file.bulk)?,
        harmless: Pattern::new(&file.harmless)?,
        logs: Pattern::new(&file.logs)?,
        logs_bare: Pattern::new(&file.logs_bare)?,
        telemetry: Pattern::new(&file.telemetry)?,
        sends: Pattern::new(&file.sends)?,
        brokers: Pattern::new(&file.brokers)?,
        public_files: Pattern::new(&file.public_files)?,
        writes: Pattern::new(&file.writes)?,
        query: Pattern::new(&file.query)?,
        vendors: Pattern::new(&file.vendors)?,
        query_calls: Pattern::new(&file.query_calls)?,
    })
}
