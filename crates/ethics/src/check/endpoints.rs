//! Addresses on the network that a change adds.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::EthicsCheckResult;
use crate::change::FileChangeLines;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::{PatternGroups, RulePattern};

struct EndpointTable {
    regex: RulePattern,
    harmless: RulePattern,
    drops: RulePattern,
    telling: RulePattern,
    public_ip: RulePattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointFile {
    regex: String,
    harmless: String,
    drops: String,
    telling: String,
    public_ip: String,
}

static TABLE: LazyLock<Result<EndpointTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/endpoints.toml")));

fn load(text: &str) -> Result<EndpointTable, String> {
    let file: EndpointFile = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(EndpointTable {
        regex: RulePattern::new(&file.regex)?,
        harmless: RulePattern::new(&file.harmless)?,
        drops: RulePattern::new(&file.drops)?,
        telling: RulePattern::new(&file.telling)?,
        public_ip: RulePattern::new(&file.public_ip)?,
    })
}

/// Hosts that code or settings would talk to and did not before; each is named once per file.
pub(super) fn check(files: &[FileChangeLines]) -> EthicsCheckResult {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    let removed: Vec<&str> = files.iter().flat_map(|file| &file.removed).map(String::as_str).collect();
    let known: BTreeSet<String> =
        removed.iter().flat_map(|line| table.hosts(line)).map(|(host, _)| host).collect();
    for file in files.iter().filter(|file| !file.place.docs && !file.place.lock && !file.place.credits) {
        let mut seen = BTreeSet::new();
        for line in file.added.iter().filter(|line| !line.comment) {
            for (host, plain_text) in table.hosts(&line.text) {
                if known.contains(&host) || !seen.insert(host.clone()) {
                    continue;
                }
                let Some((rule, severity, what)) = table.judge(&host, plain_text) else { continue };
                let severity =
                    if file.place.test && severity != RiskLevel::High { RiskLevel::Low } else { severity };
                let finding =
                    EthicsFinding::new(EthicsCheckId::Endpoints, rule, severity, format!("{what}: {host}"));
                found.push(finding.at(&file.path, line.number));
            }
        }
    }
    Ok(found)
}

impl EndpointTable {
    /// Every host in a line, in small letters, and whether it is reached without encryption.
    fn hosts(&self, line: &str) -> Vec<(String, bool)> {
        let hit = |hit: PatternGroups<'_>| {
            let scheme = hit.name("scheme")?.as_str().to_lowercase();
            Some((
                hit.name("host")?.as_str().to_lowercase(),
                matches!(scheme.as_str(), "http" | "ws" | "ftp" | "telnet"),
            ))
        };
        self.regex.captures_iter(line).filter_map(hit).collect()
    }

    fn judge(&self, host: &str, plain_text: bool) -> Option<(&'static str, RiskLevel, &'static str)> {
        if self.drops.is_match(host) {
            return Some((
                "drop-host",
                RiskLevel::High,
                "talks to a place where data is dropped anonymously",
            ));
        }
        if self.telling.is_match(host) {
            return Some(("telling-host", RiskLevel::High, "talks to a host whose name says it does harm"));
        }
        if self.harmless.is_match(host) {
            return None;
        }
        if host.contains("xn--") {
            return Some((
                "look-alike-host",
                RiskLevel::High,
                "talks to a host with foreign letters in its name",
            ));
        }
        if self.public_ip.is_match(host) {
            return Some(("address-without-name", RiskLevel::Medium, "talks to an address without a name"));
        }
        let severity = if plain_text { RiskLevel::Medium } else { RiskLevel::Low };
        Some(("new-host", severity, "talks to a host that is new here"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_table_is_sound() {
        super::load(include_str!("../../../../rules/ethics/endpoints.toml")).unwrap();
    }
}
